//! `file@1`: a payload out of an npz file beside the case, as somebody dumped it.
//!
//! The file holds `q`, the first rows of q (where the kernel takes one), and `kv_pages`, the first pages of the cache, cut to what the batch uses. What the batch
//! doesn't own is poison all the same.
//!
//! Invariant: a case with a file is only as good as its file: a hash that differs is an error, never another payload.

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use countersign_dtype::{Array, DType};
use countersign_kernels::Variant;
use countersign_reference::Metadata;
use sha2::{Digest, Sha256};

use super::{kv_slots, poisoned, q_rows, sequences};
use crate::case::CaseError;
use crate::dump::{Dump, Stored};

/// What a case with a file has for its pattern.
pub const FILE: &str = "file@1";

/// The file of a payload.
#[derive(Debug, Clone)]
pub struct PayloadFile {
    /// Its name, in the folder of the case's file.
    pub name: String,
    /// Of its bytes, in hex.
    pub sha256: String,
    content: Option<Arc<Content>>,
}

/// By name and hash; whether it was read makes no difference.
impl PartialEq for PayloadFile {
    fn eq(&self, other: &PayloadFile) -> bool {
        (&self.name, &self.sha256) == (&other.name, &other.sha256)
    }
}

/// The arrays as bytes, an element as wide as the file has it.
#[derive(Debug)]
struct Content {
    /// Absent where the family takes no q.
    q: Option<Stretch>,
    kv_pages: Stretch,
}

#[derive(Debug)]
struct Stretch {
    shape: Vec<usize>,
    width: usize,
    bytes: Vec<u8>,
}

impl PayloadFile {
    /// A file that wasn't read yet.
    pub fn new(name: impl Into<String>, sha256: impl Into<String>) -> PayloadFile {
        PayloadFile { name: name.into(), sha256: sha256.into(), content: None }
    }

    /// Reads the file, which is in `folder`.
    ///
    /// # Errors
    /// If it can't be read, or isn't the one that the case was made with.
    pub fn open(&mut self, folder: &Path) -> Result<(), CaseError> {
        let path = folder.join(&self.name);
        let failed = |error: &dyn std::fmt::Display| {
            CaseError::new(format!("the payload's file {}: {error}", path.display()))
        };
        if Path::new(&self.name).components().count() != 1 || path.is_dir() {
            return Err(failed(&"it must be a file beside the case"));
        }
        let hash = sha256_of(&path).map_err(|error| failed(&error))?;
        if hash != self.sha256 {
            return Err(failed(&format!("its sha256 is {hash}, the case says {}", self.sha256)));
        }
        let dump = Dump::open(&path).map_err(|error| failed(&error))?;
        let read = |name: &str| {
            let array = dump.array(name).ok_or_else(|| failed(&format!("it has no array {name}")))?;
            stretch(&dump, array).map_err(|error| failed(&error))
        };
        let q = dump.array("q").map(|_| read("q")).transpose()?;
        self.content = Some(Arc::new(Content { q, kv_pages: read("kv_pages")? }));
        Ok(())
    }

    /// q and the cache of a batch: the file's values where the batch owns them, poison elsewhere.
    ///
    /// # Errors
    /// If the file wasn't read, has other shapes than the variant, or lacks a row or page that the batch owns.
    pub fn fill(&self, variant: &Variant, metadata: &Metadata) -> Result<(Array, Array), CaseError> {
        let Some(content) = &self.content else {
            return Err(CaseError::new(format!(
                "the payload's file {} was not read: read the case from its own file",
                self.name
            )));
        };
        let v = variant;
        let mut q = poisoned(v.q_dtype, &[v.tokens, v.q_heads, v.head_dim]);
        let mut kv_pages = poisoned(v.kv_dtype, &[v.pages, v.page_size, 2 * v.kv_heads, v.head_dim]);
        let row_len = v.q_heads * v.head_dim;
        let slot_len = 2 * v.kv_heads * v.head_dim;
        let from_q = match &content.q {
            Some(stretch) => {
                stretch.fits("q", &[v.q_heads, v.head_dim], v.q_dtype)?;
                Some(stretch)
            }
            None if v.family.model().takes_q() => {
                return Err(CaseError::new(format!("the payload's file {} has no array q", self.name)));
            }
            None => None,
        };
        content.kv_pages.fits("kv_pages", &[v.page_size, 2 * v.kv_heads, v.head_dim], v.kv_dtype)?;
        for sequence in 0..sequences(metadata) {
            if let Some(from) = from_q {
                for (_, row) in q_rows(v, metadata, sequence) {
                    from.copy(row * row_len, row_len, &mut q)?;
                }
            }
            for slot in kv_slots(v, metadata, sequence) {
                content.kv_pages.copy(slot * slot_len, slot_len, &mut kv_pages)?;
            }
        }
        Ok((q, kv_pages))
    }
}

impl Stretch {
    fn fits(&self, name: &str, inner: &[usize], dtype: DType) -> Result<(), CaseError> {
        let width = dtype.bits().div_ceil(8);
        if self.shape.get(1..) == Some(inner) && self.width == width {
            return Ok(());
        }
        let found = format!("{:?} with {} bytes an element", self.shape, self.width);
        Err(CaseError::new(format!(
            "{name} of the payload's file is {found}; the variant wants [_, {inner:?}] with {width}"
        )))
    }

    /// Copies `len` elements at `first` to the same place of `to`.
    fn copy(&self, first: usize, len: usize, to: &mut Array) -> Result<(), CaseError> {
        let Some(bytes) = self.bytes.get(first * self.width..(first + len) * self.width) else {
            return Err(CaseError::new("the payload's file lacks a row or page that the batch owns"));
        };
        if to.dtype == DType::I4 {
            for (at, byte) in bytes.iter().enumerate() {
                let (place, shift) = ((first + at) / 2, 4 * ((first + at) % 2));
                to.bytes[place] = to.bytes[place] & !(0xf << shift) | (byte & 0xf) << shift;
            }
        } else {
            to.bytes[first * self.width..(first + len) * self.width].copy_from_slice(bytes);
        }
        Ok(())
    }
}

fn stretch(dump: &Dump, array: &Stored) -> Result<Stretch, String> {
    if array.is_fortran || array.element.is_big_endian {
        return Err(format!("{} isn't row-major and little-endian", array.name));
    }
    let width = array.element.size;
    let most = crate::case::MAX_ELEMENTS;
    let len = array
        .elements()
        .filter(|len| *len <= most)
        .ok_or_else(|| format!("{} has more than {most} elements", array.name))?;
    let mut bytes = Vec::new();
    let read = dump.with_bytes(array, |from| from.take((len * width) as u64).read_to_end(&mut bytes));
    match read {
        Ok(read) if read == len * width => Ok(Stretch { shape: array.shape.clone(), width, bytes }),
        Ok(_) => Err(format!("{} ends early", array.name)),
        Err(error) => Err(error.message),
    }
}

/// The hash of a file's bytes, in hex.
///
/// # Errors
/// As the file gives them.
pub fn sha256_of(path: &Path) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    let mut file = std::fs::File::open(path)?;
    let mut piece = vec![0u8; 1 << 16];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        hash.update(&piece[..read]);
    }
    let mut hex = String::new();
    for byte in hash.finalize() {
        let _ = write!(hex, "{byte:02x}"); // a string takes everything
    }
    Ok(hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn int4_is_packed_as_it_is_copied() {
        let stretch = Stretch { shape: vec![2, 3], width: 1, bytes: vec![0x1, 0xf, 0x3, 0x4, 0xfd, 0x6] };
        let mut array = poisoned(DType::I4, &[2, 3]);
        stretch.copy(1, 4, &mut array).unwrap();
        // Elements 0 and 5 stay poison, which is -8.
        assert_eq!(array.to_f32_vec(), [-8.0, -1.0, 3.0, 4.0, -3.0, -8.0]);
        assert!(stretch.copy(4, 3, &mut array).is_err());
        assert!(stretch.fits("q", &[3], DType::I4).is_ok() && stretch.fits("q", &[3], DType::Bf16).is_err());
    }

    #[test]
    fn a_file_must_stand_beside_its_case() {
        for name in ["../payload.npz", "/etc/payload.npz", "missing.npz"] {
            let mut file = PayloadFile::new(name, "00");
            assert!(file.open(Path::new(".")).is_err(), "{name}");
        }
    }
}
