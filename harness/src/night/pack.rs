//! The grown corpus as one archive, to be carried to another machine: a zip with a member `<kernel>/<target>/<sha256>.case` for
//! each case.
//!
//! Invariant: the same cases give the same bytes. Nothing of an archive is stored before all of it was found sound: every member
//! is named as above, holds what its name says and is no larger than a case can be; a name never becomes a path as it is.

use std::fs;
use std::io::{self, Cursor, Read, Seek, Write as _};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::{Store, Target, name_of};
use crate::case::Case;

/// Longest case that is taken from an archive.
const MAX_BYTES: u64 = 1 << 24;

/// An archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Cases in it.
    pub cases: usize,
    /// Files that aren't what their names say (cut short, changed), left out.
    pub damaged: Vec<String>,
}

/// What came of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unpacked {
    /// Cases stored.
    pub fresh: usize,
    /// Cases that were there.
    pub there: usize,
    /// Cases of another version of the program, left out.
    pub foreign: usize,
}

/// Why an archive wasn't taken.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// It is no zip archive, or is cut short.
    #[error("not an archive of `countersign corpus pack`: {0}")]
    Archive(#[from] zip::result::ZipError),
    /// A member is not a case of a grown corpus.
    #[error("its member `{name}` {why}")]
    Member {
        /// As the archive spells it.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A case could not be stored.
    #[error("{0}")]
    Store(#[from] io::Error),
}

/// Packs the corpus in a folder.
///
/// # Errors
/// A file can't be read.
pub fn pack(corpus: &Path) -> Result<Packed, PackError> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default()) // not today's
        .unix_permissions(0o644);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let (mut cases, mut damaged) = (0, Vec::new());
    for (kernel, target, store) in Store::all(corpus)? {
        for name in store.names()? {
            let bytes = fs::read(store.folder().join(&name))?;
            let member = format!("{kernel}/{target}/{name}");
            if name_of(&bytes) == name {
                archive.start_file(member, options)?;
                archive.write_all(&bytes)?;
                cases += 1;
            } else {
                damaged.push(member);
            }
        }
    }
    Ok(Packed { bytes: archive.finish()?.into_inner(), cases, damaged })
}

/// Adds the cases of an archive to the corpus in a folder.
///
/// # Errors
/// The archive isn't sound, and nothing was stored; or a case can't be stored, and those before it were.
pub fn unpack(archive: impl Read + Seek, corpus: &Path) -> Result<Unpacked, PackError> {
    let mut archive = ZipArchive::new(archive)?;
    for index in 0..archive.len() {
        Member::read(&mut archive, index)?;
    }
    let mut unpacked = Unpacked::default();
    for index in 0..archive.len() {
        let Some(Member { kernel, target, bytes }) = Member::read(&mut archive, index)? else {
            unpacked.foreign += 1;
            continue;
        };
        let (_, fresh) = Store::open(corpus.join(kernel).join(target.name()))?.add(&bytes)?;
        *(if fresh { &mut unpacked.fresh } else { &mut unpacked.there }) += 1;
    }
    Ok(unpacked)
}

/// A case of an archive.
struct Member {
    kernel: String,
    target: Target,
    bytes: Vec<u8>,
}

impl Member {
    /// A member; `None` of a case of another version.
    fn read(archive: &mut ZipArchive<impl Read + Seek>, index: usize) -> Result<Option<Member>, PackError> {
        let member = archive.by_index(index)?;
        let name = member.name().to_owned();
        let wrong = |why: String| PackError::Member { name: name.clone(), why };
        let mut parts = name.split('/');
        let (kernel, target, file) = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(kernel), Some(target), Some(file), None) if is_plain(kernel) => (kernel, target, file),
            _ => return Err(wrong("is not named <kernel>/<target>/<sha256>.case".to_owned())),
        };
        let target: Target = target.parse().map_err(wrong)?;
        let mut bytes = Vec::new();
        let read = member.take(MAX_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| wrong(format!("can't be read: {error}")))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(wrong("is larger than any case".to_owned()));
        }
        if name_of(&bytes) != file {
            return Err(wrong("isn't what its name says: it was changed or cut short".to_owned()));
        }
        match Case::from_bytes(&bytes) {
            Ok(case) if case.kernel != kernel => Err(wrong(format!("is a case of `{}`", case.kernel))),
            Ok(_) => Ok(Some(Member { kernel: kernel.to_owned(), target, bytes })),
            Err(_) => Ok(None),
        }
    }
}

/// Whether a kernel's id is a plain name of a folder.
fn is_plain(id: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !id.is_empty() && !id.starts_with('.') && id.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus(folder: &Path) -> Vec<Vec<u8>> {
        let store = Store::open(folder.join("jax-rpa/differential")).unwrap();
        let seeds = crate::corpus::builtin().iter().filter(|(name, _)| name.starts_with("seeds/"));
        let cases = seeds
            .filter_map(|(_, text)| crate::corpus::CorpusFile::from_toml(text).unwrap().case.to_bytes().ok());
        let cases: Vec<_> = cases.take(5).collect();
        assert_eq!(cases.len(), 5);
        cases.iter().for_each(|case| assert!(store.add(case).unwrap().1));
        cases
    }

    fn archive(members: &[(&str, &[u8])]) -> Cursor<Vec<u8>> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in members {
            archive.start_file(*name, SimpleFileOptions::default()).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap()
    }

    fn files(folder: &Path) -> usize {
        Store::all(folder).unwrap().iter().map(|(_, _, store)| store.names().unwrap().len()).sum()
    }

    #[test]
    fn what_is_packed_is_unpacked_and_its_bytes_depend_on_nothing_else() {
        let [from, to] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let cases = corpus(from.path());
        let packed = pack(from.path()).unwrap();
        assert_eq!((packed.cases, packed.damaged.len()), (5, 0));
        let unpacked = |bytes: &[u8]| unpack(Cursor::new(bytes), to.path()).unwrap();
        assert_eq!(unpacked(&packed.bytes), Unpacked { fresh: 5, ..Unpacked::default() });
        assert_eq!(unpacked(&packed.bytes), Unpacked { there: 5, ..Unpacked::default() });
        // Another folder, another order of being written, another time.
        assert_eq!(pack(to.path()).unwrap(), packed);
        let damaged = from.path().join("jax-rpa/differential").join(name_of(&cases[0]));
        fs::write(&damaged, &cases[0][..9]).unwrap();
        let packed = pack(from.path()).unwrap();
        assert_eq!((packed.cases, packed.damaged.len()), (4, 1));
        assert_eq!(pack(Path::new("/nowhere")).unwrap().cases, 0);
    }

    #[test]
    fn an_archive_that_is_not_sound_leaves_nothing_behind() {
        let [from, to] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let cases = corpus(from.path());
        let good = format!("jax-rpa/differential/{}", name_of(&cases[0]));
        let other = name_of(&cases[1]);
        let bad: [(String, &[u8], &str); 8] = [
            (format!("../differential/{other}"), &cases[1], "is not named"),
            (format!("jax-rpa/../../{other}"), &cases[1], "is not named"),
            (format!("/jax-rpa/differential/{other}"), &cases[1], "is not named"),
            (format!("jax-rpa\\x/differential/{other}"), &cases[1], "is not named"),
            (format!("jax-rpa/../{other}"), &cases[1], "no target `..`"),
            (format!("jax-rpa/differential/{other}"), &cases[2], "isn't what its name says"),
            ("jax-rpa/differential/x.case".to_owned(), &cases[1], "isn't what its name says"),
            (format!("another/differential/{other}"), &cases[1], "is a case of `jax-rpa`"),
        ];
        for (name, bytes, why) in bad {
            let error = unpack(archive(&[(&good, &cases[0]), (&name, bytes)]), to.path()).unwrap_err();
            assert!(error.to_string().contains(why), "{name}: {error}");
            assert!(error.to_string().contains(&name), "{name}: {error}");
        }
        let large = vec![0; (MAX_BYTES + 1) as usize];
        let name = format!("jax-rpa/differential/{}", name_of(&large));
        let error = unpack(archive(&[(&name, &large)]), to.path()).unwrap_err();
        assert!(error.to_string().contains("larger than any case"), "{error}");
        let whole = pack(from.path()).unwrap().bytes;
        for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
            let error = unpack(Cursor::new(&whole[..cut]), to.path()).unwrap_err();
            assert!(error.to_string().contains("not an archive"), "{cut}: {error}");
        }
        let mut changed = whole;
        changed[120] ^= 0xff; // in the first member's data
        unpack(Cursor::new(changed), to.path()).unwrap_err();
        assert_eq!(files(to.path()), 0);
    }

    #[test]
    fn a_case_of_another_version_is_counted() {
        let to = tempfile::tempdir().unwrap();
        let strange = b"CSGN\xff of tomorrow";
        let name = format!("jax-rpa/validators/{}", name_of(strange));
        let unpacked = unpack(archive(&[(&name, strange)]), to.path()).unwrap();
        assert_eq!((unpacked, files(to.path())), (Unpacked { foreign: 1, ..Unpacked::default() }, 0));
    }
}
