//! Default options: departures from the variant that a case doesn't need.
//!
//! Options of the variant itself are part of the signature, so the pass over variants keeps them.
//!
//! Invariant: only `[static]` changes; a case that has some keeps at least one, since without any it would be another kind of
//! case.

use super::{Context, Draft};
use crate::case::StaticOverrides;

pub(super) fn candidates(_: &Context<'_>, draft: &Draft) -> Vec<Draft> {
    let Some(statics) = &draft.case.statics else { return Vec::new() };
    let without = |change: &dyn Fn(&mut StaticOverrides)| {
        let mut statics = statics.clone();
        change(&mut statics);
        let mut draft = draft.clone();
        draft.case.statics = Some(statics);
        draft
    };
    if statics.operands.len() + statics.options.len() < 2 {
        return Vec::new();
    }
    let operands = statics.operands.keys().map(|name| {
        without(&|statics| {
            statics.operands.remove(name);
        })
    });
    let options = statics.options.keys().map(|name| {
        without(&|statics| {
            statics.options.remove(name);
        })
    });
    operands.chain(options).collect()
}
