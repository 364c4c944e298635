//! `countersign show`: one case, without Python and without running anything.

use std::path::PathBuf;

use super::console::{Failure, print};
use crate::case::CaseError;
use crate::confirm::words;
use crate::replay::Item;
use crate::show;
use crate::trial::{Examined, examine};

const EXAMPLES: &str = "\
Examples:
  countersign show countersign/findings/new-divergence-jax-rpa-wrong-rows.toml";

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A case file.
    file: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let path = &arguments.file;
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, error))?;
    let unreadable = |error: CaseError| {
        Failure::new(format!("{}: {error}", path.display()), "a case file is described in corpus/README.md")
    };
    let catalogue = super::session::catalogue()?;
    let Item { file, variant, .. } =
        Item::read(&path.display().to_string(), &text, &catalogue).map_err(unreadable)?;
    let variant = &variant;
    let batch = file.case.batch(variant).map_err(unreadable)?;
    let Examined { contract, static_verdict, dynamic_verdict } = examine(variant, &file.case, &batch);
    let words = words(&static_verdict, Some(&dynamic_verdict), false);
    let mut verdicts = vec![format!("contract  {}", contract.keeping().name())];
    verdicts.extend(
        contract.breaches.iter().map(|breach| format!("breaks    {}: {}", breach.rule.id, breach.detail)),
    );
    verdicts.push(format!("static    {} (port)", words.r#static));
    verdicts.push(format!("dynamic   {} (port)", words.dynamic));
    print(&show::table(&file.case, variant, &verdicts))?;
    Ok(0)
}
