//! Coverage: what an execution of a program can reach, and what of it a set of runs did, by line of the kernel's source.
//!
//! Invariant: a point is numbered by its place in the program; what a point means is here, who hits it is the machine's.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::ir::Frame;

use super::{Block, Kind, Program};

/// What a coverage point stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CoverageKind {
    /// `scf.if` took this side.
    Branch(bool),
    /// A loop ran this often at one entry: 0, 1, 2, or 3 for more.
    Trips(u8),
    /// A masked store with no lane, some lanes, all lanes.
    Mask(u8),
    /// A copy's place in the larger of its two allocations.
    Copy(CopyPlace),
    /// Where a copy went compared with the one that the same op started before it, in the same run.
    Step(CopyStep),
}

/// Where along the first dimension of its allocation a copied block lies; a page's number, where that dimension counts pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CopyPlace {
    /// It begins at the beginning and ends before the end.
    First,
    /// It touches neither.
    Inner,
    /// It ends at the end and begins after the beginning.
    Last,
    /// It is all there is.
    Whole,
}

/// A copy's first row compared with that of the copy before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CopyStep {
    /// The row where that one ended.
    Next,
    /// The same row.
    Same,
    /// Any other.
    Apart,
}

impl CoverageKind {
    /// The points of one copying op, in the order of their numbers.
    pub(crate) const OF_COPY: [CoverageKind; 7] = [
        CoverageKind::Copy(CopyPlace::First),
        CoverageKind::Copy(CopyPlace::Inner),
        CoverageKind::Copy(CopyPlace::Last),
        CoverageKind::Copy(CopyPlace::Whole),
        CoverageKind::Step(CopyStep::Next),
        CoverageKind::Step(CopyStep::Same),
        CoverageKind::Step(CopyStep::Apart),
    ];

    /// In words, to follow "never": `the branch's false side`.
    pub const fn words(self) -> &'static str {
        match self {
            CoverageKind::Branch(true) => "the branch's true side",
            CoverageKind::Branch(false) => "the branch's false side",
            CoverageKind::Trips(0) => "the loop with no turn",
            CoverageKind::Trips(1) => "the loop with one turn",
            CoverageKind::Trips(2) => "the loop with two turns",
            CoverageKind::Trips(_) => "the loop with three turns or more",
            CoverageKind::Mask(0) => "a mask with no lane",
            CoverageKind::Mask(1) => "a mask with some lanes",
            CoverageKind::Mask(_) => "a mask with all lanes",
            CoverageKind::Copy(CopyPlace::First) => "a copy of the first block",
            CoverageKind::Copy(CopyPlace::Inner) => "a copy of a block in the middle",
            CoverageKind::Copy(CopyPlace::Last) => "a copy of the last block",
            CoverageKind::Copy(CopyPlace::Whole) => "a copy of the whole",
            CoverageKind::Step(CopyStep::Next) => "a copy next to the one before",
            CoverageKind::Step(CopyStep::Same) => "a copy of the same block again",
            CoverageKind::Step(CopyStep::Apart) => "a copy apart from the one before",
        }
    }
}

/// One thing that an execution can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoveragePoint {
    /// Index into [`Program::sites`].
    pub site: u32,
    /// What happened there.
    pub kind: CoverageKind,
}

/// What runs did at one line of the source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineHits {
    /// Ops that come from the line.
    pub ops: u64,
    /// Of these, ops in a block that was entered.
    pub reached: u64,
    /// Points of the line's ops by what they stand for: how many there are, and how many were hit.
    pub points: BTreeMap<CoverageKind, (u64, u64)>,
}

/// What some runs of a program covered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Points hit.
    pub hit: u64,
    /// Points in all, those whose line isn't known included.
    pub points: u64,
    /// By file and line, of ops whose place in the source is known.
    pub lines: BTreeMap<(String, u32), LineHits>,
}

/// When a block is entered: where its branch or loop says so.
#[derive(Debug, Clone)]
pub(crate) enum Reach {
    Always,
    /// Where any of these coverage points was hit.
    Any(Range<u32>),
}

/// The instructions of a block, nested ones included, each with when it is reached.
pub(crate) fn reach(block: &Block, reached: &Reach, out: &mut Vec<(u32, Reach)>) {
    for inst in &block.insts {
        out.push((inst.site, reached.clone()));
        match &inst.kind {
            Kind::If { then, otherwise, point, .. } => {
                reach(then, &Reach::Any(*point..point + 1), out);
                reach(otherwise, &Reach::Any(point + 1..point + 2), out);
            }
            Kind::While { before, after, point, .. } => {
                reach(before, &Reach::Any(*point..point + 4), out);
                reach(after, &Reach::Any(point + 1..point + 4), out);
            }
            _ => {}
        }
    }
}

fn is_hit(bits: &[u64], point: u32) -> bool {
    bits.get(point as usize / 64).is_some_and(|word| word >> (point % 64) & 1 == 1)
}

impl Program {
    /// What the runs covered whose points are `bits` (as [`crate::Machine::coverage`] gives them). An op counts for the line of
    /// the innermost of its frames that `own` picks, e.g. those in the kernel's own file.
    pub fn coverage(&self, bits: &[u64], own: impl Fn(&Frame) -> bool) -> Coverage {
        let line = |site: u32| {
            let frame = self.sites.get(site as usize)?.stack.iter().find(|frame| own(frame))?;
            Some((frame.file.clone(), frame.line))
        };
        let mut coverage = Coverage { points: self.points.len() as u64, ..Coverage::default() };
        for (site, reached) in self.reached(bits) {
            if let Some(line) = line(site) {
                let hits = coverage.lines.entry(line).or_default();
                hits.ops += 1;
                hits.reached += u64::from(reached);
            }
        }
        for (point, CoveragePoint { site, kind }) in (0..).zip(&self.points) {
            let hit = u64::from(is_hit(bits, point));
            coverage.hit += hit;
            if let Some(line) = line(*site) {
                let (points, hits) = coverage.lines.entry(line).or_default().points.entry(*kind).or_default();
                *points += 1;
                *hits += hit;
            }
        }
        coverage
    }

    /// Which of the ops that are executed at all lie in a block that was entered: pairs of site and whether it was reached,
    /// in the order of execution.
    fn reached(&self, bits: &[u64]) -> Vec<(u32, bool)> {
        let ran = bits.iter().any(|&word| word != 0);
        let reached = |reach: &Reach| match reach {
            Reach::Always => ran,
            Reach::Any(points) => points.clone().any(|point| is_hit(bits, point)),
        };
        self.reach.iter().map(|(site, reach)| (*site, reached(reach))).collect()
    }
}

impl Coverage {
    /// Adds what another program covered; points of the same kind on the same line count together.
    pub fn add(&mut self, other: Coverage) {
        self.hit += other.hit;
        self.points += other.points;
        for (line, LineHits { ops, reached, points }) in other.lines {
            let hits = self.lines.entry(line).or_default();
            hits.ops += ops;
            hits.reached += reached;
            for (kind, (count, hit)) in points {
                let sum = hits.points.entry(kind).or_default();
                *sum = (sum.0 + count, sum.1 + hit);
            }
        }
    }
}
