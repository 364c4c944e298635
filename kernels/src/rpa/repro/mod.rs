//! The parts of a Python script that shows a finding by itself: validators, the kernel in JAX's interpreter, a reference in
//! float64, and the kernel's walk over sequences and pages for what the interpreter doesn't show.
//!
//! What is the batch's own (arrays, options, limits) is written before them by the harness.
//!
//! Invariant: the scripts need jax and numpy, nothing of ours. The mends of JAX's interpreter are the exporter's, word for word.

use std::path::Path;

use crate::catalogue::{KernelEntry, PythonEntry};
use crate::family::ScriptParts;

/// What is this family's own in a script.
pub(super) const PARTS: ScriptParts = ScriptParts {
    operands: include_str!("validators.py"),
    reference: include_str!("reference.py"),
    walk: include_str!("walk.py"),
};

const INTERPRETER: &str = include_str!("interpreter.py");
const FOUND: &str = include_str!("found.py");
const ARRAYS: &str = include_str!("../../../python/countersign_export/arrays.py");
const MENDS: &str = include_str!("../../../python/countersign_export/interpreter.py");

/// What a script shows, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// Rows of the output are wrong. Needs `LIMIT`.
    Values,
    /// A check refuses a batch that the kernel gets right. Needs `LIMIT`.
    Refusal,
    /// A check's words are about something else. Needs `WRONG`, `BEGINS`, `CONTAINS`.
    Message,
    /// The output depends on when copies land.
    Orders,
    /// The kernel doesn't end.
    Hang,
    /// An access races with a copy in flight.
    Races,
    /// What becomes of the call when it is lowered. Needs `RAISES` and `DEVICE`.
    Lowering,
    /// Out of bounds, undefined use, deadlock, residue, by derivation. Needs `EXPECTED`, the block sizes and `HEAD_BLOCKS`.
    Derived,
}

impl Shows {
    const fn main(self) -> &'static str {
        match self {
            Shows::Values => include_str!("values.py"),
            Shows::Refusal => include_str!("refusal.py"),
            Shows::Message => include_str!("message.py"),
            Shows::Orders => include_str!("orders.py"),
            Shows::Hang => include_str!("hang.py"),
            Shows::Races => include_str!("races.py"),
            Shows::Lowering => include_str!("lowering.py"),
            Shows::Derived => include_str!("derived.py"),
        }
    }

    /// Whether the script runs the kernel; if not, q and the cache matter by their shapes and types alone.
    pub const fn runs(self) -> bool {
        match self {
            Shows::Values | Shows::Refusal | Shows::Orders | Shows::Hang | Shows::Races => true,
            Shows::Message | Shows::Lowering | Shows::Derived => false,
        }
    }

    const fn compares(self) -> bool {
        matches!(self, Shows::Values | Shows::Refusal)
    }

    /// The lines at the head of the script; `module` is the kernel's, `literals`: some elements are given as bytes.
    pub fn imports(self, python: &PythonEntry, literals: bool) -> String {
        let mut standard = vec!["import sys"];
        if literals {
            standard.push("import base64");
        }
        if self.runs() {
            standard.extend(["import functools", "import textwrap"]);
        }
        if self == Shows::Hang {
            standard.push("import subprocess");
        }
        if self.runs() || self == Shows::Derived {
            standard.push("import inspect");
        }
        if python.file().is_some() {
            standard.push("import importlib.util");
        }
        if self == Shows::Lowering {
            standard.push("import traceback");
        }
        standard.sort_unstable();
        let mut lines = standard.join("\n") + "\n\nimport jax\nimport jax.numpy as jnp\nimport numpy as np\n";
        if self == Shows::Lowering {
            lines += "from jax._src import mesh as mesh_lib\n";
        }
        if self.runs() {
            lines += "from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpret\n\
                      from jax._src.pallas.mosaic.interpret import shared_memory, utils\n\
                      from jax._src.state import indexing\n\
                      from jax._src.state import types as state_types\n\
                      from jax.experimental.pallas import tpu as pltpu\n";
        }
        if let Some(file) = python.file() {
            return lines + &from_file(file);
        }
        let module = python.module.as_str();
        let (package, name) = module.rsplit_once('.').unwrap_or(("", module));
        let import = if package.is_empty() {
            format!("import {name} as rpa\n")
        } else {
            format!("from {package} import {name} as rpa\n")
        };
        lines + &import
    }

    /// All that comes after the batch.
    pub fn body(self, kernel: &KernelEntry) -> String {
        let ScriptParts { operands, reference, walk } = kernel.family.model().script();
        let mut parts = vec![operands.to_owned()];
        if self.runs() {
            parts.extend([mends(), INTERPRETER.to_owned()]);
        }
        if self.compares() {
            parts.push(reference.to_owned());
        }
        if self == Shows::Derived {
            parts.extend([FOUND.to_owned(), walk.to_owned()]);
        }
        parts.push(self.main().to_owned());
        parts.push("if __name__ == \"__main__\":\n    sys.exit(main())\n".to_owned());
        let call = format!("rpa.{}(", kernel.python.entry_point);
        parts.join("\n\n").replace("rpa.ragged_paged_attention(", &call)
    }
}

/// The import of a kernel's own file, which may import its neighbours.
fn from_file(file: &Path) -> String {
    let quoted = |text: &std::ffi::OsStr| format!("{:?}", text.to_string_lossy());
    let name = quoted(file.file_stem().unwrap_or_default());
    let folder = quoted(file.parent().unwrap_or(Path::new("")).as_os_str());
    format!(
        "\nsys.path.insert(0, {folder})\n\
         specification = importlib.util.spec_from_file_location({name}, {})\n\
         rpa = importlib.util.module_from_spec(specification)\n\
         sys.modules[{name}] = rpa\n\
         specification.loader.exec_module(rpa)\n",
        quoted(file.as_os_str())
    )
}

/// The exporter's mends of JAX's interpreter, so that it runs this kernel, without what they share with the exporter's worker.
fn mends() -> String {
    let bits = between(ARRAYS, "def bits_of(", "def decode(");
    let mends = between(MENDS, "def bitcast(", "@contextlib.contextmanager");
    let plain = format!("{bits}{mends}").replace("arrays.", "").replace(
        "NIBBLES.get(dtype, 8 * dtype.itemsize)",
        "4 if dtype.name in (\"int4\", \"uint4\") else 8 * dtype.itemsize",
    );
    let plain: String = plain.lines().map(|line| format!("{}\n", unannotated(line))).collect();
    format!(
        "# ---- JAX's interpreter, mended where the released one can't run this kernel ---------------------------------------------\n\n\n{}",
        plain.trim_end().to_owned() + "\n"
    )
}

/// A line of Python without the names that only its annotations need.
fn unannotated(line: &str) -> String {
    let names = ["Sequence[Any]", "Callable[..., Any]", "dict[str, Any]", "Any"];
    names.iter().fold(line.to_owned(), |line, name| {
        line.replace(&format!(": {name}"), "").replace(&format!(" -> {name}"), "")
    })
}

fn between(text: &'static str, from: &str, to: &str) -> &'static str {
    let start = text.find(from).unwrap_or(0);
    let end = text.find(to).unwrap_or(text.len());
    text.get(start..end).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mends_are_whole_and_need_nothing_of_the_exporter() {
        let mends = mends();
        for part in [
            "def bits_of(",
            "def from_bit_patterns(",
            "def bitcast(",
            "def mended_get(",
            "FLAWED_MASK",
            "def mend(",
        ] {
            assert!(mends.contains(part), "{part}");
        }
        for foreign in ["arrays.", "countersign", "NIBBLES", ": Any", "Any]", "def decode", "contextlib"] {
            assert!(!mends.contains(foreign), "{foreign} in\n{mends}");
        }
    }
}
