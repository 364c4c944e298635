//! A file of arrays as a person dumped it: npz, safetensors, or a folder of npy files.
//!
//! Opening reads headers alone. Values are read array by array, by range where the file allows it, and in pieces always: a dump may
//! be many times larger than memory.
//!
//! Invariant: nothing is allocated that the file doesn't have the bytes for, and nothing is trusted that it says about itself.

mod element;
mod npy;
mod npz;
mod safetensors;
mod values;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

pub use element::{Element, Kind};
pub use values::{Values, numbers};

/// What kind of file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `np.savez`, or `np.savez_compressed`.
    Npz,
    /// A safetensors file.
    Safetensors,
    /// A folder with a `.npy` file for each array.
    Folder,
}

impl Format {
    /// As reports say it.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Npz => "npz",
            Format::Safetensors => "safetensors",
            Format::Folder => "folder of npy files",
        }
    }
}

/// A dump, opened.
#[derive(Debug)]
pub struct Dump {
    /// The file or folder.
    pub path: PathBuf,
    /// What it is.
    pub format: Format,
    /// Its arrays, in its order.
    pub arrays: Vec<Stored>,
}

/// An array in a dump.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub element: Element,
    /// Extents.
    pub shape: Vec<usize>,
    /// Whether the first index runs fastest.
    pub is_fortran: bool,
    /// Whether it must be inflated to be read.
    pub is_compressed: bool,
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    /// At `offset` of a file.
    File { path: PathBuf, offset: u64 },
    /// Behind the npy header of a compressed member of the archive.
    Member { index: usize, header: u64 },
}

/// Why a dump can't be read: what is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DumpError {
    /// What is wrong.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl DumpError {
    fn new(message: impl Into<String>, help: impl Into<String>) -> DumpError {
        DumpError { message: message.into(), help: help.into() }
    }

    fn io(path: &Path, error: &io::Error) -> DumpError {
        DumpError::new(format!("{}: {error}", path.display()), SAVE)
    }
}

/// Of a file that is shorter than its headers say.
fn cut(path: &Path, array: &str) -> DumpError {
    DumpError::new(format!("{}: ends within {array}", path.display()), "the file was cut: write it again")
}

/// How a dump is made.
const SAVE: &str = "np.savez(\"batch.npz\", kv_lens=…, page_indices=…, cu_q_lens=…, num_seqs=…) writes a dump; README.md shows more";

impl Dump {
    /// Opens a dump, reading headers alone.
    ///
    /// # Errors
    /// A file that can't be read, or is none of the three kinds.
    pub fn open(path: &Path) -> Result<Dump, DumpError> {
        let (format, arrays) = if path.is_dir() {
            (Format::Folder, npy::folder(path)?)
        } else {
            let mut file = File::open(path).map_err(|error| DumpError::io(path, &error))?;
            let mut magic = Vec::new();
            file.by_ref().take(9).read_to_end(&mut magic).map_err(|error| DumpError::io(path, &error))?;
            match magic.as_slice() {
                [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => (Format::Npz, npz::members(path)?),
                [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => {
                    let message = format!("{}: one npy array, where several are needed", path.display());
                    return Err(DumpError::new(
                        message,
                        format!("{SAVE}; or name the folder with all .npy files"),
                    ));
                }
                [_, _, _, _, _, _, _, _, b'{'] => (Format::Safetensors, safetensors::tensors(path)?),
                _ => {
                    let message =
                        format!("{}: neither npz nor safetensors nor a folder of npy files", path.display());
                    return Err(DumpError::new(message, SAVE));
                }
            }
        };
        for array in &arrays {
            array.is_whole(path)?;
        }
        Ok(Dump { path: path.to_owned(), format, arrays })
    }

    /// The array of that name.
    pub fn array(&self, name: &str) -> Option<&Stored> {
        self.arrays.iter().find(|array| array.name == name)
    }

    /// Gives `read` the array's bytes from its first element on.
    ///
    /// # Errors
    /// If the file can't be read (any more), and what `read` says.
    pub fn with_bytes<T>(
        &self,
        array: &Stored,
        read: impl FnOnce(&mut Bytes<'_>) -> io::Result<T>,
    ) -> Result<T, DumpError> {
        let run = || match &array.place {
            Place::File { path, offset } => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(*offset))?;
                read(&mut Bytes { source: Source::File(file), at: 0 })
            }
            Place::Member { index, header } => {
                let mut archive = npz::open(&self.path)?;
                let mut member = archive.by_index(*index)?;
                io::copy(&mut member.by_ref().take(*header), &mut io::sink())?;
                read(&mut Bytes { source: Source::Inflated(&mut member), at: 0 })
            }
        };
        run().map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => cut(&self.path, &array.name),
            _ => DumpError::io(&self.path, &error),
        })
    }
}

impl Stored {
    /// Whether its file is long enough for it.
    fn is_whole(&self, dump: &Path) -> Result<(), DumpError> {
        let Place::File { path, offset } = &self.place else { return Ok(()) };
        let length = std::fs::metadata(path).map_err(|error| DumpError::io(path, &error))?.len();
        let bytes =
            self.elements().and_then(|len| len.checked_mul(self.element.size)).map(|bytes| bytes as u64);
        match bytes.and_then(|bytes| offset.checked_add(bytes)) {
            Some(end) if end <= length => Ok(()),
            Some(_) | None => Err(cut(dump, &self.name)),
        }
    }

    /// Number of elements; nothing where it overflows.
    pub fn elements(&self) -> Option<usize> {
        self.shape.iter().try_fold(1usize, |product, extent| product.checked_mul(*extent))
    }
}

/// An array's bytes, read forwards.
pub struct Bytes<'a> {
    source: Source<'a>,
    at: u64,
}

enum Source<'a> {
    File(File),
    Inflated(&'a mut dyn Read),
}

impl Bytes<'_> {
    /// Goes forward to byte `to` of the array: by seeking, or by inflating what lies between.
    ///
    /// # Errors
    /// As the file gives them; also if `to` lies behind.
    pub fn skip_to(&mut self, to: u64) -> io::Result<()> {
        let ahead =
            to.checked_sub(self.at).ok_or_else(|| io::Error::other("bytes are only read forwards"))?;
        match &mut self.source {
            Source::File(file) => {
                file.seek(SeekFrom::Current(i64::try_from(ahead).map_err(io::Error::other)?))?;
                self.at = to;
            }
            Source::Inflated(_) => {
                io::copy(&mut self.by_ref().take(ahead), &mut io::sink())?;
            }
        }
        Ok(())
    }
}

impl Read for Bytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.source {
            Source::File(file) => file.read(buffer)?,
            Source::Inflated(member) => member.read(buffer)?,
        };
        self.at += read as u64;
        Ok(read)
    }
}
