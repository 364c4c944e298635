//! A case's call: its variant's, with the `[static]` overrides applied, as the port and as Python take it.
//!
//! Invariant: both forms get the same overrides. What one of them can't express is a type of its own here, not a default.

use countersign_kernels::Variant;
use countersign_kernels::call::{Call, OptionValue as CallOption};
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::checks::{Number, Shaped, StaticCall};
use countersign_kernels::operand_type::OperandType;

use crate::case::{Case, OperandName, OperandOverride, OptionValue, StaticOverrides};

impl StaticOverrides {
    /// What makes `base` into `call`. An element type that a case can't name is left as it is.
    pub fn between(base: &StaticCall, call: &StaticCall) -> StaticOverrides {
        let mut overrides = StaticOverrides::default();
        for ((name, before), (_, after)) in
            OperandName::ALL.into_iter().zip(base.operands().map(|o| o.1)).zip(call.operands())
        {
            let dtype = OperandType::from_numpy_name(&after.dtype);
            let operand = OperandOverride {
                shape: (after.shape != before.shape).then(|| after.shape.clone()),
                dtype: dtype.filter(|_| after.dtype != before.dtype),
            };
            if operand != OperandOverride::default() {
                overrides.operands.insert(name, operand);
            }
        }
        let value = |number: Option<Number>| match number {
            None => OptionValue::Absent,
            Some(Number::Int(value)) => OptionValue::Integer(value),
            Some(Number::Float(value)) => OptionValue::Float(value),
        };
        let whole = |value: Option<i64>| value.map_or(OptionValue::Absent, OptionValue::Integer);
        let options = |call: &StaticCall| {
            [
                ("sm_scale", value(call.sm_scale)),
                ("sliding_window", value(call.sliding_window)),
                ("soft_cap", value(call.soft_cap)),
                ("mask_value", value(call.mask_value)),
                ("k_scale", value(call.k_scale)),
                ("v_scale", value(call.v_scale)),
                ("num_kv_pages_per_block", whole(call.num_kv_pages_per_block)),
                ("num_queries_per_block", whole(call.num_queries_per_block)),
                ("vmem_limit_bytes", whole(call.vmem_limit_bytes)),
            ]
        };
        for ((name, before), (_, after)) in options(base).into_iter().zip(options(call)) {
            if after != before {
                overrides.options.insert(name.to_owned(), after);
            }
        }
        overrides
    }
}

impl Case {
    /// The call as the port of the static check takes it.
    pub fn static_call(&self, variant: &Variant) -> StaticCall {
        let mut call = StaticCall::with_metadata(variant, &self.metadata);
        let Some(statics) = &self.statics else { return call };
        for (name, operand) in &statics.operands {
            let shaped: &mut Shaped = match name {
                OperandName::Q => &mut call.q,
                OperandName::KvPages => &mut call.kv_pages,
                OperandName::KvLens => &mut call.kv_lens,
                OperandName::PageIndices => &mut call.page_indices,
                OperandName::CuQLens => &mut call.cu_q_lens,
                OperandName::NumSeqs => &mut call.num_seqs,
            };
            if let Some(shape) = &operand.shape {
                shaped.shape.clone_from(shape);
            }
            if let Some(dtype) = operand.dtype {
                dtype.numpy_name().clone_into(&mut shaped.dtype);
            }
        }
        for (name, value) in &statics.options {
            let number = match *value {
                OptionValue::Absent => None,
                OptionValue::Integer(value) => Some(Number::Int(value)),
                OptionValue::Float(value) => Some(Number::Float(value)),
            };
            let whole = match number {
                Some(Number::Int(value)) => Some(value),
                // Upstream only compares these with integers, so the integer on the same side of each will do.
                Some(Number::Float(value)) => Some(value.ceil() as i64),
                None => None,
            };
            match name.as_str() {
                "sm_scale" => call.sm_scale = number,
                "sliding_window" => call.sliding_window = number,
                "soft_cap" => call.soft_cap = number,
                "mask_value" => call.mask_value = number,
                "k_scale" => call.k_scale = number,
                "v_scale" => call.v_scale = number,
                "num_kv_pages_per_block" => call.num_kv_pages_per_block = whole,
                "num_queries_per_block" => call.num_queries_per_block = whole,
                "vmem_limit_bytes" => call.vmem_limit_bytes = whole,
                // The case's reader knows the names above and no other.
                other => tracing::warn!("option {other} is unknown to the port"),
            }
        }
        call
    }

    /// The call as the Python worker takes it.
    pub fn python_call(&self, kernel: &KernelEntry, variant: &Variant) -> Call {
        let entry_point = kernel.python.call();
        let mut call = Call::of(&entry_point, variant);
        let Some(statics) = &self.statics else { return call };
        for (name, operand) in &statics.operands {
            let Some(target) = call.operand_mut(name.name()) else { continue };
            if let Some(shape) = &operand.shape {
                target.shape.clone_from(shape);
            }
            if let Some(dtype) = operand.dtype {
                target.dtype = dtype;
            }
        }
        for (name, value) in &statics.options {
            let value = match *value {
                OptionValue::Absent => CallOption::None,
                OptionValue::Integer(value) => CallOption::Int(value),
                OptionValue::Float(value) => CallOption::Float(value as f32),
            };
            call.options.insert(name.clone(), value);
        }
        call
    }
}
