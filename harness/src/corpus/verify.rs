//! Looks for what is wrong with the files of a corpus, without running anything.
//!
//! Invariant: says all that is wrong, each with its file and, where there is one, its line; in the order of the files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use countersign_kernels::catalogue::Catalogue;
use countersign_kernels::contract;

use super::{CorpusFile, Expect};
use crate::case::{Case, CaseError, VariantRef};
use crate::generate::{BoundaryClass, Slip};
use crate::known::{Facts, KnownFile};
use crate::ordered::in_order;
use crate::replay::Item;
use crate::signature::Signature;

/// Something wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file's path in the corpus.
    pub file: String,
    /// Line, from 1, where there is one.
    pub line: Option<usize>,
    /// Whether the file can't be used at all.
    pub unreadable: bool,
    /// What is wrong, and the remedy.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// What is wrong with `files` (path and text): unreadable, not in canonical form, misnamed, without an expectation, expecting
/// what no known file explains, or there twice. Payload files are looked for in `folder`, where the paths start. `jobs` threads; each may hold the arrays of one case.
pub fn verify(
    folder: &Path,
    files: &[(String, String)],
    catalogue: &Catalogue,
    known: &KnownFile,
    jobs: usize,
    each: &mut dyn FnMut(&str),
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut first: BTreeMap<Vec<u8>, &str> = BTreeMap::new();
    let work = |index: usize| {
        let (name, text): &(String, String) = &files[index];
        examine(folder, name, text, catalogue, known)
    };
    in_order(files.len(), jobs, &|| true, &work, &mut |index, result| {
        let name = files[index].0.as_str();
        match result {
            Ok((found, content)) => {
                problems.extend(found);
                if let Some(content) = content {
                    let other = *first.entry(content).or_insert(name);
                    if other != name {
                        problems.push(Problem {
                            file: name.to_owned(),
                            line: None,
                            unreadable: false,
                            message: format!("the same case as {other}; remove one of them"),
                        });
                    }
                }
            }
            Err(panic) => problems.push(Problem {
                file: name.to_owned(),
                line: None,
                unreadable: true,
                message: format!("a fault of countersign itself: {panic}"),
            }),
        }
        each(name);
    });
    problems
}

/// What is wrong with one file, and what its case is, for comparison.
fn examine(
    folder: &Path,
    name: &str,
    text: &str,
    catalogue: &Catalogue,
    known: &KnownFile,
) -> (Vec<Problem>, Option<Vec<u8>>) {
    let mut problems = Vec::new();
    let mut add = |line: Option<usize>, unreadable: bool, message: String| {
        problems.push(Problem { file: name.to_owned(), line, unreadable, message });
    };
    let opened = |mut item: Item| item.open_payload(folder).map(|()| item);
    let item = match Item::read(name, text, catalogue).and_then(opened) {
        Ok(item) => item,
        Err(error) => {
            add(error.line, true, error.message);
            return (problems, None);
        }
    };
    let Item { file, variant, .. } = &item;
    if let Err(error) = file.case.batch(variant) {
        let place = if error.message.contains("checksum") { "checksum" } else { "[case" };
        add(line_of(text, place), true, error.message);
        return (problems, None);
    }
    if let Some((line, message)) = differs(text, &file.to_toml()) {
        add(Some(line), false, message);
    }
    if let Some(message) = misnamed(name, &item) {
        add(None, false, message);
    }
    if file.origin.is_none() {
        add(None, false, "has no [origin]: say when it was found, from what, and why it matters".to_owned());
    }
    match &file.expect {
        None => add(
            None,
            false,
            "has no [expect]: `countersign replay` shows what belongs there, `countersign corpus add` writes it"
                .to_owned(),
        ),
        Some(Expect::Clean) => {}
        Some(Expect::Signatures(signatures)) => {
            let facts = Facts::of(variant, &file.case.metadata);
            for signature in signatures {
                let explained =
                    Signature::parse(signature).is_ok_and(|parsed| known.explain(&parsed, &facts).is_some());
                if !explained {
                    let message = format!(
                        "expects {signature}, which no entry of a known file explains for this batch; write its cause into \
                         one (--known names yours)"
                    );
                    add(line_of(text, signature), false, message);
                }
            }
        }
    }
    (problems, content(&file.case, &item))
}

/// The case without what only names or guards it.
fn content(case: &Case, item: &Item) -> Option<Vec<u8>> {
    let mut variant = item.variant.clone();
    variant.name.clear();
    let bare = Case { variant: VariantRef::Inline(Box::new(variant)), checksum: None, ..case.clone() };
    // A payload's file has no binary form; its hash stands in the text.
    bare.to_bytes().or_else(|_| Ok::<_, CaseError>(bare.to_toml().into_bytes())).ok()
}

/// Whether two files hold the same case.
pub fn same_case(a: &Item, b: &Item) -> bool {
    content(&a.file.case, a) == content(&b.file.case, b)
}

/// Whether a text is what countersign writes, comments and empty lines apart.
pub fn is_canonical(text: &str, file: &CorpusFile) -> bool {
    differs(text, &file.to_toml()).is_none()
}

/// The first line in which a text departs from the canonical one. Comments and empty lines are a person's business.
fn differs(text: &str, canonical: &str) -> Option<(usize, String)> {
    let lines = |text: &'_ str| -> Vec<(usize, String)> {
        text.lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.trim_end().to_owned()))
            .filter(|(_, line)| !line.is_empty() && !line.trim_start().starts_with('#'))
            .collect()
    };
    let (found, wanted) = (lines(text), lines(canonical));
    let at = found.iter().zip(&wanted).position(|((_, a), (_, b))| a != b);
    let at = at.or_else(|| (found.len() != wanted.len()).then(|| found.len().min(wanted.len())))?;
    let line = found.get(at).map_or(text.lines().count(), |(line, _)| *line);
    let shown = |lines: &[(usize, String)]| match lines.get(at) {
        Some((_, line)) => format!("`{}`", line.trim()),
        None => "the end of the file".to_owned(),
    };
    let message = format!(
        "isn't written as countersign writes it: {} where {} belongs; `countersign corpus verify --fix` rewrites it",
        shown(&found),
        shown(&wanted)
    );
    Some((line, message))
}

/// Why a path doesn't fit its case.
fn misnamed(path: &str, item: &Item) -> Option<String> {
    let Item { file: CorpusFile { case, .. }, variant, .. } = item;
    let mut parts: Vec<&str> = path.split('/').collect();
    let stem = parts.pop()?.strip_suffix(".toml")?;
    let is_slug = |part: &&str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    if let Some(part) = parts.iter().chain([&stem]).find(|part| !is_slug(part)) {
        return Some(format!("`{part}` in its path: use lower-case letters, digits and `-`"));
    }
    match parts.as_slice() {
        [.., "regressions", kernel] if *kernel != case.kernel => {
            Some(format!("lies in the folder of kernel `{kernel}`, but its case is of `{}`", case.kernel))
        }
        [.., "seeds"] => {
            let slip = Slip::ALL.into_iter().find(|slip| slip.name() == stem);
            let class = BoundaryClass::ALL.into_iter().find(|class| class.name() == stem);
            match (slip, class) {
                (Some(slip), _) => {
                    let keeping = contract::check(variant, &case.batch(variant).ok()?).keeping();
                    (keeping != slip.keeping()).then(|| {
                        let (is, should) = (keeping.name(), slip.keeping().name());
                        format!(
                            "is named for the slip `{stem}`, whose batches are {should}; this one is {is}"
                        )
                    })
                }
                (None, Some(class)) => (!BoundaryClass::observe(variant, &case.metadata).contains(&class))
                    .then(|| format!("is named for the boundary class `{stem}`, which it doesn't show")),
                (None, None) => Some("a seed is named for a slip or a boundary class".to_owned()),
            }
        }
        _ => None,
    }
}

fn line_of(text: &str, part: &str) -> Option<usize> {
    text.lines().position(|line| line.contains(part)).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_a_persons_business_and_other_departures_have_a_line() {
        let canonical = "[case]\nversion = 1\nkernel = \"x\"\n";
        assert_eq!(differs("# mine\n[case]\n\nversion = 1\nkernel = \"x\"\n", canonical), None);
        let (line, message) = differs("[case]\nversion = 1\n\nkernel  = \"x\"\n", canonical).unwrap();
        assert_eq!(line, 4);
        assert!(message.contains("`kernel  = \"x\"` where `kernel = \"x\"` belongs"), "{message}");
        let (line, message) = differs("[case]\nversion = 1\n", canonical).unwrap();
        assert_eq!(line, 2);
        assert!(message.contains("the end of the file where"), "{message}");
    }
}
