//! The corrected batch, as arrays and as a file.
//!
//! Invariant: written only where there is one correction; every array of the dump that the correction doesn't touch is copied as it
//! is, bytes and all.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use countersign_kernels::checks::Shaped;
use npyz::WriterBuilder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::Examined;
use crate::dump::{Dump, Stored};

/// A corrected array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corrected<'a> {
    /// The operand.
    pub operand: &'static str,
    /// Extents.
    pub shape: Vec<usize>,
    /// Row-major.
    pub values: &'a [i32],
}

/// The metadata arrays that differ from the dump's, in values, shape or type; not those that only stand in for a correction.
pub fn changed<'a>(examined: &'a Examined<'_>) -> Vec<Corrected<'a>> {
    let (call, before) = (&examined.subject.call, &examined.subject.state.metadata);
    let state = &examined.explanation.repaired;
    let after = &state.metadata;
    let table = vec![state.rows(), after.pages_per_seq];
    let lens = (vec![after.kv_lens.len()], vec![after.cu_q_lens.len()]);
    let scalar = std::slice::from_ref(&after.num_seqs);
    let mut changed = Vec::new();
    let mut add =
        |operand: &'static str, dumped: &Shaped, same: bool, shape: Vec<usize>, values: &'a [i32]| {
            let is_as_dumped = same && dumped.dtype == "int32" && dumped.shape == shape;
            if !is_as_dumped && !stands_in(examined, operand) {
                changed.push(Corrected { operand, shape, values });
            }
        };
    add("kv_lens", &call.kv_lens, before.kv_lens == after.kv_lens, lens.0, &after.kv_lens);
    let same = before.page_indices == after.page_indices;
    add("page_indices", &call.page_indices, same, table, &after.page_indices);
    add("cu_q_lens", &call.cu_q_lens, before.cu_q_lens == after.cu_q_lens, lens.1, &after.cu_q_lens);
    add("num_seqs", &call.num_seqs, before.num_seqs == after.num_seqs, vec![1], scalar);
    changed
}

/// Whether some cause has an array changed only so that the rest could be looked at.
fn stands_in(examined: &Examined<'_>, operand: &str) -> bool {
    let steps = examined.explanation.steps.iter().filter(|step| step.cause.stands_in);
    steps.map(|step| &step.cause.repair).any(|repair| match operand {
        "kv_lens" => repair.kv_lens.is_some(),
        "page_indices" => repair.page_indices.is_some(),
        "cu_q_lens" => repair.cu_q_lens.is_some(),
        _ => repair.num_seqs.is_some(),
    })
}

/// Writes the corrected batch as an npz: corrected arrays in int32 under their names in the dump, all others copied.
///
/// # Errors
/// As the files give them.
pub fn write(dump: &Dump, examined: &Examined<'_>, path: &Path) -> io::Result<()> {
    let corrected = changed(examined);
    let operand_of = |array: &Stored| {
        let named = examined.operands.stored.iter().find(|(_, stored)| stored.name == array.name);
        named.map(|(operand, _)| *operand)
    };
    let mut zip = ZipWriter::new(BufWriter::new(File::create(path)?));
    for array in &dump.arrays {
        let options = SimpleFileOptions::default()
            .compression_method(if array.is_compressed {
                CompressionMethod::Deflated
            } else {
                CompressionMethod::Stored
            })
            .large_file(true);
        zip.start_file(format!("{}.npy", array.name), options)?;
        match corrected.iter().find(|corrected| operand_of(array) == Some(corrected.operand)) {
            Some(Corrected { shape, values, .. }) => write_int32(&mut zip, shape, values)?,
            None => copy(dump, array, &mut zip)?,
        }
    }
    zip.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// An npy file of int32.
pub fn write_int32(out: &mut impl Write, shape: &[usize], values: &[i32]) -> io::Result<()> {
    let shape: Vec<u64> = shape.iter().map(|extent| *extent as u64).collect();
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(out).begin_nd()?;
    writer.extend(values.iter().copied())?;
    writer.finish()
}

/// The npy header of an array whose bytes follow.
pub fn write_header(out: &mut impl Write, descr: &str, is_fortran: bool, shape: &[usize]) -> io::Result<()> {
    let extents: Vec<String> = shape.iter().map(|extent| format!("{extent},")).collect();
    let order = if is_fortran { "True" } else { "False" };
    let text =
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({}), }}", extents.join(" "));
    // Magic, version and length take ten bytes; the data starts at a multiple of 64.
    let padding = 63 - (10 + text.len()) % 64;
    let length = u16::try_from(text.len() + padding + 1).map_err(io::Error::other)?;
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(text.as_bytes())?;
    out.write_all(" ".repeat(padding).as_bytes())?;
    out.write_all(b"\n")
}

fn copy(dump: &Dump, array: &Stored, out: &mut impl Write) -> io::Result<()> {
    write_header(out, &array.element.descr(), array.is_fortran, &array.shape)?;
    let length = array
        .elements()
        .and_then(|len| len.checked_mul(array.element.size))
        .ok_or_else(|| io::Error::other("too large"))?;
    let copied = dump
        .with_bytes(array, |bytes| io::copy(&mut bytes.take(length as u64), out))
        .map_err(io::Error::other)?;
    if copied == length as u64 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
