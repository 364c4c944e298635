//! A dumped batch as files that replay: a case, and beside it an npz with the rows and pages that it uses.
//!
//! Invariant: the values are the dump's, byte for byte.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::Examined;
use super::cut::Cut;
use super::fix::write_header;
use crate::corpus::{CorpusFile, Origin};
use crate::dump::{Dump, Stored};
use crate::payload::{FILE, PayloadFile, sha256_of};

/// Gives `cut` the dump's own values, written to `folder` as `name`.npz. Without q and the cache in the dump it keeps its pattern.
///
/// # Errors
/// In words, where values can't be read as they stand or a file can't be written.
pub fn payload(
    dump: &Dump,
    examined: &Examined<'_>,
    cut: &mut Cut,
    folder: &Path,
    name: &str,
) -> Result<(), String> {
    let stored = |operand: &str| examined.operands.stored.get(operand).copied();
    let takes_q = cut.variant.family.model().takes_q();
    let q = stored("q").filter(|_| takes_q);
    let Some(kv_pages) = stored("kv_pages").filter(|_| q.is_some() || !takes_q) else { return Ok(()) };
    let typed = q.map(|q| (q, cut.variant.q_dtype)).into_iter().chain([(kv_pages, cut.variant.kv_dtype)]);
    for (array, dtype) in typed {
        if array.is_fortran || array.element.is_big_endian {
            return Err(format!(
                "{} isn't row-major and little-endian: np.ascontiguousarray makes it so",
                array.name
            ));
        }
        if array.element.size != dtype.bits().div_ceil(8) {
            return Err(format!(
                "{} holds {}, which is none of the kernel's types",
                array.name, array.element.name
            ));
        }
    }
    let file = format!("{name}.npz");
    let path = folder.join(&file);
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let write = || -> io::Result<()> {
        let mut zip = ZipWriter::new(BufWriter::new(File::create(&path)?));
        if let Some(q) = q {
            let rows = std::iter::once(0..cut.rows);
            copy(dump, q, "q", cut.rows, rows, &mut zip)?;
        }
        let pages = cut.pages.iter().map(|page| *page..page + 1);
        copy(dump, kv_pages, "kv_pages", cut.pages.len(), pages, &mut zip)?;
        zip.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    };
    write().map_err(|error| failed(&error))?;
    let mut payload = PayloadFile::new(file, sha256_of(&path).map_err(|error| failed(&error))?);
    payload.open(folder).map_err(|error| error.message)?;
    cut.case.payload.pattern = FILE.to_owned();
    cut.case.payload.seed = 0;
    cut.case.payload.file = Some(payload);
    Ok(())
}

/// Writes ranges of an array's first dimension, ascending, as one array.
fn copy(
    dump: &Dump,
    array: &Stored,
    name: &str,
    count: usize,
    ranges: impl Iterator<Item = Range<usize>>,
    zip: &mut ZipWriter<BufWriter<File>>,
) -> io::Result<()> {
    let options =
        SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored).large_file(true);
    zip.start_file(format!("{name}.npy"), options)?;
    let inner = array.shape.get(1..).unwrap_or(&[]);
    let shape: Vec<usize> = std::iter::once(count).chain(inner.iter().copied()).collect();
    write_header(zip, &array.element.descr(), false, &shape)?;
    let one = (inner.iter().product::<usize>() * array.element.size) as u64;
    let copied = dump.with_bytes(array, |bytes| {
        for range in ranges {
            bytes.skip_to(range.start as u64 * one)?;
            let wanted = range.len() as u64 * one;
            if io::copy(&mut bytes.by_ref().take(wanted), zip)? != wanted {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        zip.flush()
    });
    copied.map_err(io::Error::other)
}

/// Writes the case beside its payload; the path of the file.
///
/// # Errors
/// As the file system gives them.
pub fn case(cut: &Cut, folder: &Path, name: &str, origin: Origin) -> io::Result<PathBuf> {
    let path = folder.join(format!("{name}.toml"));
    let file = CorpusFile { case: cut.case.clone(), origin: Some(origin), expect: None };
    std::fs::write(&path, file.to_toml())?;
    Ok(path)
}
