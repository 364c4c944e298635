//! npz: a zip archive of npy files, stored or deflated.
//!
//! Invariant: a stored member is read from the file by its offset; only a deflated one goes through the inflater.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use zip::{CompressionMethod, ZipArchive};

use super::npy::header;
use super::{DumpError, Place, SAVE, Stored};

/// The arrays of an archive.
pub(super) fn members(path: &Path) -> Result<Vec<Stored>, DumpError> {
    let failed = |error: io::Error| DumpError::io(path, &error);
    let mut archive = open(path).map_err(failed)?;
    let mut arrays = Vec::new();
    let mut other = Vec::new();
    for index in 0..archive.len() {
        let mut member = archive.by_index(index).map_err(|error| failed(error.into()))?;
        let Some(name) = member.name().strip_suffix(".npy").map(str::to_owned) else {
            other.push(member.name().to_owned());
            continue;
        };
        let header = header(&mut member)
            .map_err(|error| DumpError::new(format!("{}: {name}.npy: {error}", path.display()), SAVE))?;
        let is_compressed = member.compression() != CompressionMethod::Stored;
        let place = match member.data_start() {
            Some(start) if !is_compressed => {
                Place::File { path: path.to_owned(), offset: start + header.bytes }
            }
            _ => Place::Member { index, header: header.bytes },
        };
        arrays.push(Stored {
            name,
            element: header.element,
            shape: header.shape,
            is_fortran: header.is_fortran,
            is_compressed,
            place,
        });
    }
    if arrays.is_empty() {
        let torch = other.iter().any(|name| name.ends_with("data.pkl"));
        let what = if torch {
            "a file of torch.save, which needs Python to be read"
        } else {
            "a zip archive without .npy members"
        };
        return Err(DumpError::new(format!("{}: {what}", path.display()), SAVE));
    }
    Ok(arrays)
}

/// An archive ready to be read.
pub(super) fn open(path: &Path) -> io::Result<ZipArchive<BufReader<File>>> {
    Ok(ZipArchive::new(BufReader::new(File::open(path)?))?)
}
