//! A call of a kernel as Python sees it: entry point, generation, operands by parameter name, options by keyword.
//!
//! Invariant: the JSON form keeps every option's type (a float is never mistaken for an integer) and is canonical, so
//! that its hash can name what was exported.

use std::collections::BTreeMap;

use countersign_dtype::DType;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::operand_type::OperandType;
use crate::rpa::validator::{Number, Shaped, StaticCall};
use crate::{Generation, Variant};

/// The static side of a call, for any kernel. `[static]` overrides of a case are edits of its public fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// `package.module:function`.
    pub entry_point: String,
    /// Generation lowered for, e.g. `v5e`.
    pub generation: String,
    /// Array operands in the order of the entry point's parameters.
    pub operands: Vec<CallOperand>,
    /// Keyword options.
    pub options: BTreeMap<String, OptionValue>,
    /// Lower with the entry point's static check made a no-op.
    pub skip_static_validation: bool,
}

/// An array operand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallOperand {
    /// Parameter name.
    pub name: String,
    /// Element type.
    pub dtype: OperandType,
    /// Extents.
    pub shape: Vec<usize>,
}

/// Value of a keyword option, with its Python type.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    /// `None`.
    None,
    /// A Python bool.
    Bool(bool),
    /// A Python int.
    Int(i64),
    /// A Python float that rounds to this f32: its shortest decimal.
    Float(f32),
    /// A Python str.
    Text(String),
}

impl Call {
    /// The call that `variant` stands for.
    pub fn of(entry_point: &str, variant: &Variant) -> Call {
        variant.family.model().call(entry_point, variant)
    }

    /// Operands and options of the ragged paged attention family.
    pub(crate) fn ragged_paged_attention(entry_point: &str, variant: &Variant) -> Call {
        let operand = |name: &str, dtype: DType, shape: &[usize]| CallOperand {
            name: name.into(),
            dtype: dtype.into(),
            shape: shape.to_vec(),
        };
        let whole =
            |value: Option<usize>| value.map_or(OptionValue::None, |value| OptionValue::Int(value as i64));
        let float = |value: Option<f32>| value.map_or(OptionValue::None, OptionValue::Float);
        let options = &variant.options;
        let heads = 2 * variant.kv_heads;
        Call {
            entry_point: entry_point.to_owned(),
            generation: variant.generation.name().to_owned(),
            operands: vec![
                operand("q", variant.q_dtype, &[variant.tokens, variant.q_heads, variant.head_dim]),
                operand(
                    "kv_pages",
                    variant.kv_dtype,
                    &[variant.pages, variant.page_size, heads, variant.head_dim],
                ),
                operand("kv_lens", DType::I32, &[variant.max_seqs]),
                operand("page_indices", DType::I32, &[variant.max_seqs, variant.pages_per_seq]),
                operand("cu_q_lens", DType::I32, &[variant.max_seqs + 1]),
                operand("num_seqs", DType::I32, &[1]),
            ],
            options: [
                ("sm_scale", OptionValue::Float(options.sm_scale)),
                (
                    "sliding_window",
                    options
                        .sliding_window
                        .map_or(OptionValue::None, |window| OptionValue::Int(window.into())),
                ),
                ("soft_cap", float(options.soft_cap)),
                ("mask_value", OptionValue::Float(options.mask_value)),
                ("k_scale", float(options.k_scale)),
                ("v_scale", float(options.v_scale)),
                ("num_kv_pages_per_block", whole(variant.pages_per_block)),
                ("num_queries_per_block", whole(variant.queries_per_block)),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
            skip_static_validation: false,
        }
    }

    /// The call of any shapes, types and options, as [`Call::of`] of a variant's. `None` where an operand
    /// has an element type that the exporter doesn't know.
    pub fn of_static(entry_point: &str, generation: Generation, call: &StaticCall) -> Option<Call> {
        let number = |value: Option<Number>| match value {
            None => OptionValue::None,
            Some(Number::Int(value)) => OptionValue::Int(value),
            Some(Number::Float(value)) => OptionValue::Float(value as f32),
        };
        let whole = |value: Option<i64>| value.map_or(OptionValue::None, OptionValue::Int);
        let operand = |(name, shaped): (&str, &Shaped)| {
            let dtype = OperandType::from_numpy_name(&shaped.dtype)?;
            Some(CallOperand { name: name.to_owned(), dtype, shape: shaped.shape.clone() })
        };
        let mut options: BTreeMap<String, OptionValue> = [
            ("sm_scale", number(call.sm_scale)),
            ("sliding_window", number(call.sliding_window)),
            ("soft_cap", number(call.soft_cap)),
            ("mask_value", number(call.mask_value)),
            ("k_scale", number(call.k_scale)),
            ("v_scale", number(call.v_scale)),
            ("num_kv_pages_per_block", whole(call.num_kv_pages_per_block)),
            ("num_queries_per_block", whole(call.num_queries_per_block)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        // A variant has no such limit, and what is exported is named by all options: absent is not none.
        if call.vmem_limit_bytes.is_some() {
            options.insert("vmem_limit_bytes".to_owned(), whole(call.vmem_limit_bytes));
        }
        Some(Call {
            entry_point: entry_point.to_owned(),
            generation: generation.name().to_owned(),
            operands: call.operands().into_iter().map(operand).collect::<Option<_>>()?,
            options,
            skip_static_validation: false,
        })
    }

    /// The operand of that parameter name.
    pub fn operand(&self, name: &str) -> Option<&CallOperand> {
        self.operands.iter().find(|operand| operand.name == name)
    }

    /// [`Call::operand`], to be changed.
    pub fn operand_mut(&mut self, name: &str) -> Option<&mut CallOperand> {
        self.operands.iter_mut().find(|operand| operand.name == name)
    }
}

impl Serialize for OptionValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            OptionValue::None => serializer.serialize_none(),
            OptionValue::Bool(value) => serializer.serialize_bool(*value),
            OptionValue::Int(value) => serializer.serialize_i64(*value),
            // Debug prints the shortest decimal that reads back as the same f32, with an exponent where that is shorter.
            OptionValue::Float(value) => serializer.collect_map([("float", format!("{value:?}"))]),
            OptionValue::Text(value) => serializer.serialize_str(value),
        }
    }
}

impl<'de> Deserialize<'de> for OptionValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OptionValue, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            None,
            Bool(bool),
            Int(i64),
            Float { float: String },
            Text(String),
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::None => OptionValue::None,
            Form::Bool(value) => OptionValue::Bool(value),
            Form::Int(value) => OptionValue::Int(value),
            Form::Float { float } => OptionValue::Float(float.parse().map_err(D::Error::custom)?),
            Form::Text(value) => OptionValue::Text(value),
        })
    }
}

/// Element types by name in JSON.
pub(crate) mod dtype_name {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(dtype: &DType, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(dtype.name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DType, D::Error> {
        let name = String::deserialize(deserializer)?;
        DType::from_name(&name).ok_or_else(|| D::Error::custom(format!("unknown element type {name}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Catalogue, Tier};

    #[test]
    fn a_variant_and_its_static_call_are_one_call() {
        for variant in Catalogue::builtin().unwrap().kernel("jax-rpa").unwrap().variants(Tier::Full) {
            let call = Call::of_static("m:f", variant.generation, &StaticCall::of(variant));
            assert_eq!(call, Some(Call::of("m:f", variant)));
        }
    }

    #[test]
    fn options_keep_their_types_and_their_f32() {
        let values = [
            OptionValue::None,
            OptionValue::Bool(true),
            OptionValue::Int(-3),
            OptionValue::Text("exact".into()),
            OptionValue::Float(1.0),
            OptionValue::Float(0.7),
            OptionValue::Float(f32::MIN_POSITIVE / 8.0),
            OptionValue::Float(-0.7 * f32::MAX),
            OptionValue::Float(f32::NEG_INFINITY),
        ];
        let text = serde_json::to_string(&values).unwrap();
        assert!(text.starts_with(r#"[null,true,-3,"exact",{"float":"1.0"},{"float":"0.7"},"#), "{text}");
        assert!(text.ends_with(r#"{"float":"-inf"}]"#), "{text}");
        assert_eq!(serde_json::from_str::<Vec<OptionValue>>(&text).unwrap(), values);
    }
}
