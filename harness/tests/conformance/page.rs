//! The published page, `reports/published/conformance.md`: each test writes its own section, by heading.
//!
//! Invariant: nothing is written unless `COUNTERSIGN_PUBLISH` is set, so that tests leave the working tree as it is.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A section: what stands under one heading.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Section {
    /// The ops one by one.
    Ops,
    /// The real kernel against the interpreter.
    Attention,
}

impl Section {
    fn heading(self) -> &'static str {
        match self {
            Section::Ops => "## Ops: programs by definition, and small kernels",
            Section::Attention => "## Attention: the real kernel on kept batches",
        }
    }
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../reports/published/conformance.md")
}

/// Prints `text`, and replaces the section by it where the run is asked to publish.
pub(crate) fn publish(section: Section, text: &str) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    println!("{text}");
    if std::env::var_os("COUNTERSIGN_PUBLISH").is_none() {
        return;
    }
    let _guard = ONE_AT_A_TIME.lock().unwrap();
    let page = std::fs::read_to_string(path()).unwrap();
    let (start, end) = place(&page, section);
    std::fs::write(path(), format!("{}{}{}", &page[..start], text, &page[end..])).unwrap();
}

/// The published text of the section.
pub(crate) fn published(section: Section) -> String {
    let page = std::fs::read_to_string(path()).unwrap();
    let (start, end) = place(&page, section);
    page[start..end].to_owned()
}

/// Where the generated part of the section lies in the page: from the marker below its heading to the next heading.
fn place(page: &str, section: Section) -> (usize, usize) {
    const MARKER: &str = "<!-- measured -->\n";
    let heading = page.find(section.heading()).unwrap_or_else(|| panic!("no `{}`", section.heading()));
    let start = heading + page[heading..].find(MARKER).unwrap() + MARKER.len();
    let end = page[start..].find("\n## ").map_or(page.len(), |next| start + next);
    (start, end)
}
