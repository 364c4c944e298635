//! safetensors: a JSON header, then the tensors' bytes.
//!
//! Invariant: the header is the library's to read; a tensor past the file's end is an error when it is read.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ::safetensors::tensor::Metadata;

use super::{DumpError, Element, Place, Stored};

/// Longest header that is read, as the format has it.
const MAX_HEADER: u64 = 100_000_000;

/// The tensors of a file.
pub(super) fn tensors(path: &Path) -> Result<Vec<Stored>, DumpError> {
    let failed = |error: std::io::Error| DumpError::io(path, &error);
    let broken = |why: String| {
        DumpError::new(
            format!("{}: {why}", path.display()),
            "write it again with safetensors.numpy.save_file",
        )
    };
    let mut file = File::open(path).map_err(failed)?;
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(failed)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER {
        return Err(broken(format!("a header of {length} bytes")));
    }
    let mut header = Vec::new();
    file.take(length).read_to_end(&mut header).map_err(failed)?;
    let metadata: Metadata =
        serde_json::from_slice(&header).map_err(|error| broken(format!("no safetensors header: {error}")))?;
    let tensor = |name: String| {
        let info = metadata.info(&name)?;
        Some(Stored {
            element: Element::of_safetensors(info.dtype),
            shape: info.shape.clone(),
            is_fortran: false,
            is_compressed: false,
            place: Place::File { path: path.to_owned(), offset: 8 + length + info.data_offsets.0 as u64 },
            name,
        })
    };
    Ok(metadata.offset_keys().into_iter().filter_map(tensor).collect())
}
