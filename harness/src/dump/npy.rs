//! npy headers, and folders of npy files.
//!
//! Invariant: a header is read to its end and not a byte further.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use npyz::{NpyHeader, Order};

use super::{DumpError, Element, Place, SAVE, Stored};

/// What an npy header says, and how long it is.
pub(super) struct Header {
    pub(super) element: Element,
    pub(super) shape: Vec<usize>,
    pub(super) is_fortran: bool,
    pub(super) bytes: u64,
}

/// Reads a header.
pub(super) fn header(reader: impl Read) -> io::Result<Header> {
    let mut counting = Counting { reader, count: 0 };
    let header = NpyHeader::from_reader(&mut counting)?;
    let extent = |extent: &u64| usize::try_from(*extent).map_err(io::Error::other);
    let shape: Vec<usize> = header.shape().iter().map(extent).collect::<io::Result<_>>()?;
    let is_fortran = header.order() == Order::Fortran && shape.len() > 1;
    Ok(Header { element: Element::of_npy(&header.dtype()), shape, is_fortran, bytes: counting.count })
}

struct Counting<R> {
    reader: R,
    count: u64,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.count += read as u64;
        Ok(read)
    }
}

/// The arrays of a folder, by name.
pub(super) fn folder(path: &Path) -> Result<Vec<Stored>, DumpError> {
    let entries = std::fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut files: Vec<_> =
        entries.map_err(|error| DumpError::io(path, &error))?.iter().map(std::fs::DirEntry::path).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "npy"));
    files.sort();
    if files.is_empty() {
        return Err(DumpError::new(format!("{}: a folder without .npy files", path.display()), SAVE));
    }
    let array = |file: &std::path::PathBuf| {
        let header = File::open(file).and_then(header).map_err(|error| DumpError::io(file, &error))?;
        Ok(Stored {
            name: file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default(),
            element: header.element,
            shape: header.shape,
            is_fortran: header.is_fortran,
            is_compressed: false,
            place: Place::File { path: file.clone(), offset: header.bytes },
        })
    };
    files.iter().map(array).collect()
}
