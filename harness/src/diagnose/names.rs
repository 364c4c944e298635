//! Which array of a dump is which operand, and of what type.
//!
//! Invariant: an operand is taken by its own name or by the one that `--map` gives; a likely name is proposed, never assumed.

use std::collections::BTreeMap;

use countersign_dtype::DType;
use countersign_kernels::checks::numpy_name;
use countersign_kernels::family::Family;
use countersign_kernels::rpa::diagnose::{Given, Operand, operands as all};
use countersign_reports::ArrayReport;

use crate::dump::{Dump, DumpError, Kind, Stored, numbers};

/// What the user says about a dump's arrays.
#[derive(Debug, Clone, Default)]
pub struct Naming {
    /// `kv_lens=seq_lens`: operand, and the array's name.
    pub map: Vec<(String, String)>,
    /// `q=bf16`: operand, and its element type.
    pub dtypes: Vec<(String, DType)>,
}

/// A dump's operands.
#[derive(Debug)]
pub struct Operands<'d> {
    /// Shapes and values by operand.
    pub given: BTreeMap<&'static str, Given>,
    /// Where each stands in the file.
    pub stored: BTreeMap<&'static str, &'d Stored>,
    /// What was read, for the report.
    pub arrays: Vec<ArrayReport>,
    /// Arrays that are no operand.
    pub unused: Vec<String>,
    /// What was assumed.
    pub notes: Vec<String>,
}

/// Reads the operands of a dump: metadata with its values, of q and the cache the header alone.
///
/// # Errors
/// A missing array, a name that `--map` or `--dtype` gives and nothing has, values that can't be read.
pub fn operands<'d>(dump: &'d Dump, naming: &Naming, family: Family) -> Result<Operands<'d>, DumpError> {
    let is_operand = |name: &str| all(family).any(|operand| operand.name == name);
    let said =
        naming.map.iter().map(|(operand, _)| operand).chain(naming.dtypes.iter().map(|(operand, _)| operand));
    if let Some(unknown) = said.into_iter().find(|name| !is_operand(name)) {
        let known: Vec<&str> = all(family).map(|operand| operand.name).collect();
        return Err(error(
            format!("the kernel has no operand `{unknown}`"),
            format!("it has {}", known.join(", ")),
        ));
    }
    let mut found = Operands {
        given: BTreeMap::new(),
        stored: BTreeMap::new(),
        arrays: Vec::new(),
        unused: Vec::new(),
        notes: Vec::new(),
    };
    for operand in all(family) {
        let mapped =
            naming.map.iter().rev().find(|(name, _)| name == operand.name).map(|(_, array)| array.as_str());
        let Some(array) = dump.array(mapped.unwrap_or(operand.name)) else {
            if let Some(mapped) = mapped {
                return Err(error(format!("the file has no array `{mapped}`"), has(dump)));
            }
            if operand.is_metadata {
                return Err(missing(dump, naming, operand, family));
            }
            continue;
        };
        let dtype =
            naming.dtypes.iter().rev().find(|(name, _)| name == operand.name).map(|(_, dtype)| *dtype);
        let name = type_name(array, operand, dtype, &mut found.notes)?;
        let read = if operand.is_metadata { Some(numbers(dump, array)?) } else { None };
        found.arrays.push(ArrayReport {
            operand: operand.name.to_owned(),
            name: array.name.clone(),
            dtype: name.clone(),
            shape: array.shape.clone(),
            values: operand.is_metadata,
        });
        let (values, odd) = read.map(|read| (read.values, read.odd)).unwrap_or_default();
        found.given.insert(operand.name, Given { dtype: name, shape: array.shape.clone(), values, odd });
        found.stored.insert(operand.name, array);
    }
    let is_used = |array: &Stored| found.stored.values().any(|used| used.name == array.name);
    found.unused =
        dump.arrays.iter().filter(|array| !is_used(array)).map(|array| array.name.clone()).collect();
    for operand in all(family).filter(|operand| !found.stored.contains_key(operand.name)) {
        if let Some(alias) = found.unused.iter().find(|name| operand.aliases.contains(&name.as_str())) {
            let name = operand.name;
            found.notes.push(format!("`{alias}` may be {name}: --map {name}={alias}"));
        }
    }
    Ok(found)
}

fn error(message: impl Into<String>, help: impl Into<String>) -> DumpError {
    DumpError { message: message.into(), help: help.into() }
}

fn has(dump: &Dump) -> String {
    let names: Vec<&str> = dump.arrays.iter().map(|array| array.name.as_str()).collect();
    format!("it has {}", names.join(", "))
}

/// What to say of a missing array: a `--map` for every likely name at once.
fn missing(dump: &Dump, naming: &Naming, wanted: &Operand, family: Family) -> DumpError {
    let is_named = |operand: &&'static Operand| {
        dump.array(operand.name).is_some() || naming.map.iter().any(|(name, _)| name == operand.name)
    };
    let alias = |operand: &Operand| {
        let array = operand.aliases.iter().find(|alias| dump.array(alias).is_some())?;
        Some(format!("--map {}={array}", operand.name))
    };
    let maps: Vec<String> = all(family).filter(|operand| !is_named(operand)).filter_map(alias).collect();
    let help = if maps.is_empty() {
        format!("{}; --map {}=NAME says which it is, of shape {}", has(dump), wanted.name, wanted.shape)
    } else {
        format!("{}; try {}", has(dump), maps.join(" "))
    };
    error(format!("the file has no array `{}`", wanted.name), help)
}

/// NumPy's name of an operand's element type; of bits without a meaning, what `--dtype` says or what is usual.
fn type_name(
    array: &Stored,
    operand: &Operand,
    dtype: Option<DType>,
    notes: &mut Vec<String>,
) -> Result<String, DumpError> {
    let element = &array.element;
    if let Some(dtype) = dtype {
        // int4 takes a byte an element in files.
        let size = dtype.bits().div_ceil(8);
        if element.size != size {
            let message =
                format!("{} has elements of {} bytes, {} has {size}", array.name, element.size, dtype.name());
            return Err(error(message, format!("the file says {}", element.name)));
        }
        return Ok(numpy_name(dtype).to_owned());
    }
    if element.kind != Kind::Raw {
        return Ok(element.name.clone());
    }
    let assumed = match element.size {
        2 => DType::Bf16,
        1 => DType::F8E4M3FN,
        _ => return Ok(element.name.clone()),
    };
    let others = if element.size == 1 { " (f8e5m2 and i4 look the same)" } else { "" };
    let (name, operand, dtype) = (&array.name, operand.name, assumed.name());
    notes.push(format!(
        "{name} is {} in the file, taken for {dtype}{others}; --dtype {operand}=… says otherwise",
        element.name
    ));
    Ok(numpy_name(assumed).to_owned())
}
