//! A simpler payload: plainer patterns, fewer patches, a small seed.
//!
//! Invariant: metadata stays. The plainest patterns come first: with them a reader sees what a row should be.

use super::{Context, Draft};
use crate::case::{Patch, PatchTarget, Payload};
use crate::payload::Pattern;

/// Patterns from the plainest on; those left out are alike.
const PLAINEST: [Pattern; 4] = [Pattern::SequenceV, Pattern::PositionV, Pattern::OneHotV, Pattern::Normal];

/// How far from plain a pattern is, by name.
pub(super) fn rank(name: &str) -> usize {
    let pattern = Pattern::from_name(name);
    match pattern {
        Some(Pattern::Overflow) => PLAINEST.len() + 1,
        _ => PLAINEST.iter().position(|&plain| Some(plain) == pattern).unwrap_or(PLAINEST.len()),
    }
}

pub(super) fn candidates(_: &Context<'_>, draft: &Draft) -> Vec<Draft> {
    let now = &draft.case.payload;
    let mut payloads = Vec::new();
    for pattern in PLAINEST {
        for patches in [Vec::new(), now.patches.clone()] {
            payloads.push(Payload { pattern: pattern.name().to_owned(), seed: 0, patches, file: None });
        }
    }
    if Pattern::from_name(&now.pattern) == Some(Pattern::Overflow) {
        payloads.extend(large(draft));
    }
    let mut run = now.patches.len();
    while run > 0 {
        for start in (0..now.patches.len()).step_by(run) {
            let mut patches = now.patches.clone();
            patches.drain(start..(start + run).min(now.patches.len()));
            payloads.push(Payload { patches, ..now.clone() });
        }
        run /= 2;
    }
    payloads.extend([0, 1].map(|seed| Payload { seed, ..now.clone() }));
    let with = |payload: Payload| {
        let mut draft = draft.clone();
        draft.case.payload = payload;
        draft.case.checksum = None;
        draft
    };
    payloads.into_iter().map(with).collect()
}

/// A plain payload but for one product, or one sum of two values, that leaves f32.
fn large(draft: &Draft) -> Vec<Payload> {
    let patch =
        |target, sequence, token, value| Patch { target, sequence, token, head: 0, lane: None, value };
    let half = 2f32.powi(64);
    let top = 2f32.powi(127);
    let payload = |patches: Vec<Patch>| Payload {
        pattern: PLAINEST[0].name().to_owned(),
        seed: 0,
        patches,
        file: None,
    };
    let sequences = 0..draft.case.metadata.sequences_in_table();
    let of = |sequence| {
        [
            payload(vec![patch(PatchTarget::Q, sequence, 0, half), patch(PatchTarget::K, sequence, 0, half)]),
            payload(vec![patch(PatchTarget::V, sequence, 0, top), patch(PatchTarget::V, sequence, 1, top)]),
        ]
    };
    sequences.flat_map(of).collect()
}
