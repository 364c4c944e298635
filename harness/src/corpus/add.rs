//! A new member of a corpus: what a replay of it must show from now on, and what its file is called.
//!
//! Invariant: an expectation says what a trial showed, never more; what couldn't be tried gets none.

use std::collections::BTreeSet;

use super::Expect;
use crate::judge::judge;
use crate::replay::Item;
use crate::trial::{Conduct, Trial};

/// What a replay must show, as this trial did.
///
/// # Errors
/// In words, where the case couldn't be executed.
pub fn expectation(trial: &Trial) -> Result<Expect, String> {
    if let Conduct::Unsupported(what) = &trial.conduct {
        return Err(format!("it can't be executed here: {what}"));
    }
    let signatures: BTreeSet<String> =
        judge(trial).findings.iter().map(|finding| finding.signature.to_string()).collect();
    Ok(if signatures.is_empty() {
        Expect::Clean
    } else {
        Expect::Signatures(signatures.into_iter().collect())
    })
}

/// A file name without its ending: the rules that the batch breaks (of a kept one, the name it came with) and what the
/// kernel does.
pub fn name_for(item: &Item, trial: &Trial) -> String {
    let rules: Vec<&str> = trial.contract.rules().iter().map(|rule| rule.id).collect();
    let stem = item.name.rsplit('/').next().unwrap_or(&item.name);
    let stem = stem.strip_suffix(".toml").unwrap_or(stem);
    let what = match rules.as_slice() {
        [] => stem.to_owned(),
        [rule] => (*rule).to_owned(),
        [first, rest @ ..] => format!("{first}-and-{}-more", rest.len()),
    };
    let conduct = match (rules.is_empty(), &trial.conduct) {
        (true, Conduct::Finished(comparison)) if comparison.wrong_rows.is_empty() => String::new(),
        (true | false, conduct) => conduct.name().to_owned(),
    };
    slug(&format!("{what} {conduct}"))
}

/// Lower-case letters, digits and single dashes.
pub fn slug(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "case".to_owned() } else { slug.to_owned() }
}

/// `name`, or the first of `name-2`, `name-3`, … that isn't taken.
pub fn free_name(name: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
    let mut candidates = std::iter::once(name.to_owned()).chain((2..).map(|n: u64| format!("{name}-{n}")));
    candidates.find(|candidate| !is_taken(candidate)).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_slugs_and_free() {
        assert_eq!(slug("My batch (v2).case"), "my-batch-v2-case");
        assert_eq!(slug("..."), "case");
        let taken = ["a", "a-2"];
        assert_eq!(free_name("a", &|name| taken.contains(&name)), "a-3");
        assert_eq!(free_name("b", &|name| taken.contains(&name)), "b");
    }
}
