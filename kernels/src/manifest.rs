//! What accompanies an exported kernel: its operands in order and by role, its outputs, and where it came from.
//!
//! Invariant: written by the exporter and completed here with key and hash; a manifest that names another text than the
//! one beside it is never used.

use std::collections::BTreeMap;

use countersign_dtype::DType;
use serde::{Deserialize, Serialize};

use crate::call::{Call, dtype_name};
use crate::env::sha256_hex;

/// Version of the manifest's form.
pub const VERSION: u32 = 1;

/// An exported kernel's description.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`VERSION`].
    pub version: u32,
    /// Content key: call, packages or sources, exporter.
    #[serde(default)]
    pub key: String,
    /// sha256 of the module's text, in hex.
    #[serde(default)]
    pub mlir_sha256: String,
    /// Whether it was exported from an environment of the user's own (`--python`).
    #[serde(default)]
    pub unpinned: bool,
    /// What was lowered.
    pub call: Call,
    /// Name of the kernel in the module around it.
    pub kernel_name: String,
    /// Operands of the custom call, in order.
    pub operands: Vec<ManifestOperand>,
    /// Results of the custom call, in order.
    pub outputs: Vec<TensorType>,
    /// Outputs that share an operand's buffer.
    pub aliases: Vec<Alias>,
    /// The custom call's configuration, without the module itself.
    pub config: serde_json::Value,
    /// VMEM limit in bytes, where one was asked for.
    pub vmem_limit_bytes: Option<u64>,
    /// Version of CPython.
    pub python: String,
    /// Version by package name.
    pub packages: BTreeMap<String, String>,
    /// The file in which the kernel is written.
    pub source: Source,
}

/// Element type and shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorType {
    /// Element type.
    #[serde(with = "dtype_name")]
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<usize>,
}

/// An operand of the custom call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestOperand {
    /// Where its value comes from.
    #[serde(flatten)]
    pub role: Role,
    /// Element type and shape.
    #[serde(flatten)]
    pub tensor: TensorType,
}

/// Where an operand's value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RoleForm", into = "RoleForm")]
pub enum Role {
    /// The entry point's parameter of this name.
    Parameter(String),
    /// Integers written in the module, row-major.
    Constant(Vec<i64>),
}

#[derive(Serialize, Deserialize)]
struct RoleForm {
    role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<Vec<i64>>,
}

impl TryFrom<RoleForm> for Role {
    type Error = String;

    fn try_from(form: RoleForm) -> Result<Role, String> {
        match (form.role.as_str(), form.values) {
            ("constant", Some(values)) => Ok(Role::Constant(values)),
            ("constant", None) => Err("a constant operand without values".to_owned()),
            (_, None) => Ok(Role::Parameter(form.role)),
            (role, Some(_)) => Err(format!("operand {role} has values")),
        }
    }
}

impl From<Role> for RoleForm {
    fn from(role: Role) -> RoleForm {
        match role {
            Role::Parameter(name) => RoleForm { role: name, values: None },
            Role::Constant(values) => RoleForm { role: "constant".to_owned(), values: Some(values) },
        }
    }
}

/// An output that shares an operand's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alias {
    /// Index of the output.
    pub output: usize,
    /// Index of the operand.
    pub operand: usize,
}

/// A source file, as it was when exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Absolute path.
    pub file: String,
    /// sha256, in hex.
    pub sha256: String,
}

impl Source {
    /// Its text, if the file on disk is still the one that was lowered.
    pub fn text(&self) -> Option<String> {
        let text = std::fs::read_to_string(&self.file).ok()?;
        (sha256_hex(text.as_bytes()) == self.sha256).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_read_back_and_half_written_ones_are_refused() {
        let text = r#"[{"role":"q","dtype":"bf16","shape":[8,4,128]},{"role":"constant","values":[0,0],"dtype":"i32","shape":[2]}]"#;
        let operands: Vec<ManifestOperand> = serde_json::from_str(text).unwrap();
        assert_eq!(operands[0].role, Role::Parameter("q".into()));
        assert_eq!(operands[1].role, Role::Constant(vec![0, 0]));
        assert_eq!(operands[1].tensor, TensorType { dtype: DType::I32, shape: vec![2] });
        assert_eq!(serde_json::to_string(&operands).unwrap(), text);
        let half = r#"{"role":"constant","dtype":"i32","shape":[2]}"#;
        assert!(serde_json::from_str::<ManifestOperand>(half).is_err());
    }
}
