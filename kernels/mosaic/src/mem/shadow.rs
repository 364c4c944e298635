//! What is known of an allocation by rows: which elements are undefined, and where its values are.
//!
//! Kernels read and write whole rows nearly always, so definedness is kept by rows, and by elements only where a row mixes.
//! Softmax statistics fill buffers of 128 lanes with one value a row, and memory starts out undefined row by row: such rows
//! are kept as the element that they repeat. A copy from an operand, whose bytes don't change, borrows the operand's rows. In
//! both cases bytes are written only when somebody wants them otherwise.
//!
//! Invariant: `states[i]` says of row i what holds; `each` means something in `Mixed` rows alone, and the allocation's bytes
//! in all but `Same` and `Lent` rows, of which there are `away`. All lent rows are of one lender.

use std::ops::Range;

use countersign_dtype::DType;

use crate::value::Row;

use super::codec;
use super::view::InRows;

/// What a row repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element {
    /// Raw bits, in the low ones.
    pub(super) raw: u32,
    pub(super) undefined: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// As `each` says: 0 for a defined element, 1 for an undefined one.
    Mixed,
    /// Wholly undefined, or wholly defined.
    Uniform { undefined: bool },
    /// Repeats an element that isn't written out.
    Same(Element),
    /// The lender's elements from `at` on, not copied.
    Lent { at: u32, undefined: bool },
}

/// What holds of at least one of some rows, or of all of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) mixed: bool,
    pub(super) repeat: bool,
    pub(super) all_repeat: bool,
    /// Of rows that don't mix.
    pub(super) undefined: bool,
}

/// The bytes of an allocation, and of the operand that it borrows from.
#[derive(Debug)]
pub(super) struct Contents<'a> {
    pub(super) dtype: DType,
    pub(super) own: &'a mut [u8],
    pub(super) lender: &'a [u8],
}

/// The shadow of an allocation.
#[derive(Debug, Clone, Default)]
pub(super) struct Shadow {
    /// Elements in a row: the last dimension, or everything where that is short.
    width: usize,
    /// Whether rows may be kept as one element, or be lent.
    spares: bool,
    states: Vec<State>,
    away: usize,
    each: Vec<u8>,
}

/// Rows shorter than this aren't told apart.
const LEAST_WIDTH: usize = 32;

impl Shadow {
    /// Of `elements` that nobody has written, in rows of `width`; `reused` is what an earlier run left. The bytes must be zero
    /// unless the shadow [`Shadow::spares`] them.
    pub(super) fn unwritten(
        elements: usize,
        width: usize,
        dtype: DType,
        undefined: bool,
        reused: Shadow,
    ) -> Shadow {
        let mut shadow = Shadow::rows(elements, width, reused);
        shadow.spares = dtype.bits() >= 8 && shadow.width == width;
        shadow.forget(undefined);
        shadow
    }

    /// Of memory that is defined but for some ranges of elements.
    pub(super) fn of_ranges(elements: usize, width: usize, undefined: &[Range<usize>]) -> Shadow {
        let mut shadow = Shadow::rows(elements, width, Shadow::default());
        shadow.states.fill(State::Mixed);
        shadow.each.fill(0);
        undefined.iter().for_each(|range| shadow.each[range.clone()].fill(1));
        shadow
    }

    fn rows(elements: usize, width: usize, reused: Shadow) -> Shadow {
        let width = if width < LEAST_WIDTH { elements.max(1) } else { width };
        let Shadow { mut states, mut each, .. } = reused;
        states.resize(elements / width, State::Mixed);
        each.resize(elements, 0);
        Shadow { width, spares: false, states, away: 0, each }
    }

    /// Whether rows may be kept without bytes.
    pub(super) fn spares(&self) -> bool {
        self.spares
    }

    /// All rows are unwritten from now on.
    pub(super) fn forget(&mut self, undefined: bool) {
        self.away = if self.spares { self.states.len() } else { 0 };
        // The bits of unwritten memory mean nothing, but are the same in every run.
        let state = match self.spares {
            true => State::Same(Element { raw: 0, undefined }),
            false => State::Uniform { undefined },
        };
        self.states.fill(state);
    }

    /// Whether some row's bytes mean nothing.
    pub(super) fn has_away(&self) -> bool {
        self.away != 0
    }

    /// What the row of an element repeats, if it is kept so.
    pub(super) fn repeated(&self, at: usize) -> Option<Element> {
        match self.states[at / self.width] {
            State::Same(element) => Some(element),
            State::Mixed | State::Uniform { .. } | State::Lent { .. } => None,
        }
    }

    /// Which of the lender's elements stands for an element, if its row is lent.
    #[inline(always)]
    pub(super) fn lent(&self, at: usize) -> Option<usize> {
        let row = at / self.width;
        match self.states[row] {
            State::Lent { at: first, .. } => Some(first as usize + at - row * self.width),
            State::Mixed | State::Uniform { .. } | State::Same(_) => None,
        }
    }

    /// What the rows of a view are, taken together.
    pub(super) fn seen(&self, rows: &InRows) -> Seen {
        let mut seen = Seen { all_repeat: true, ..Seen::default() };
        rows.each(|row| {
            seen.all_repeat &= matches!(self.states[row], State::Same(_));
            match self.states[row] {
                State::Mixed => seen.mixed = true,
                State::Uniform { undefined } | State::Lent { undefined, .. } => seen.undefined |= undefined,
                State::Same(element) => {
                    seen.repeat = true;
                    seen.undefined |= element.undefined;
                }
            }
        });
        seen
    }

    /// What a row repeats, if it is kept so.
    pub(super) fn repeated_row(&self, row: usize) -> Option<Element> {
        match self.states[row] {
            State::Same(element) => Some(element),
            State::Mixed | State::Uniform { .. } | State::Lent { .. } => None,
        }
    }

    /// The first of the lender's elements that stand for a row, if it is lent.
    #[inline(always)]
    pub(super) fn lent_row(&self, row: usize) -> Option<usize> {
        match self.states[row] {
            State::Lent { at, .. } => Some(at as usize),
            State::Mixed | State::Uniform { .. } | State::Same(_) => None,
        }
    }

    /// Whether a row that doesn't mix is undefined.
    pub(super) fn undefined_row(&self, row: usize) -> bool {
        match self.states[row] {
            State::Mixed => false,
            State::Uniform { undefined }
            | State::Same(Element { undefined, .. })
            | State::Lent { undefined, .. } => undefined,
        }
    }

    /// Elements in a row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Keeps a row as one that repeats `element`.
    pub(super) fn repeat_row(&mut self, row: usize, element: Element) {
        self.put(row, State::Same(element));
    }

    /// Lets the row that begins with an element be the lender's from `from` on.
    pub(super) fn lend(&mut self, at: usize, from: u32, undefined: bool) {
        self.put(at / self.width, State::Lent { at: from, undefined });
    }

    fn put(&mut self, row: usize, state: State) {
        let away = |state: &State| usize::from(matches!(state, State::Same(_) | State::Lent { .. }));
        self.away = self.away + away(&state) - away(&self.states[row]);
        self.states[row] = state;
    }

    /// Elements in a row that may be kept without bytes; 0 where none may.
    pub(super) fn spare_width(&self) -> usize {
        if self.spares { self.width } else { 0 }
    }

    /// Writes out the rows of `range`.
    pub(super) fn settle(&mut self, range: Range<usize>, contents: &mut Contents<'_>) {
        if self.away == 0 || range.is_empty() {
            return;
        }
        for row in range.start / self.width..range.end.div_ceil(self.width) {
            self.settle_row(row, contents);
        }
    }

    /// Writes out a row unless it is lent.
    pub(super) fn settle_repeated(&mut self, row: usize, contents: &mut Contents<'_>) {
        if matches!(self.states[row], State::Same(_)) {
            self.settle_row(row, contents);
        }
    }

    fn settle_row(&mut self, row: usize, Contents { dtype, own, lender }: &mut Contents<'_>) {
        let undefined = match self.states[row] {
            State::Same(Element { raw, undefined }) => {
                codec::fill_row(*dtype, own, row * self.width, self.width, raw);
                undefined
            }
            State::Lent { at, undefined } => {
                let size = dtype.bits() / 8;
                let (to, from, len) = (row * self.width * size, at as usize * size, self.width * size);
                own[to..to + len].copy_from_slice(&lender[from..from + len]);
                undefined
            }
            State::Mixed | State::Uniform { .. } => return,
        };
        self.put(row, State::Uniform { undefined });
    }

    /// The rows that a run of elements touches, and what of each.
    fn parts(&self, first: usize, count: usize) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let (width, end) = (self.width, first + count);
        let mut at = first;
        let mut row = first / width;
        std::iter::from_fn(move || {
            let part = (row, at..end.min((row + 1) * width));
            at = part.1.end;
            row += 1;
            (!part.1.is_empty()).then_some(part)
        })
    }

    /// The row that a run of elements lies in, if it lies in one.
    #[inline(always)]
    fn row_of(&self, first: usize, count: usize) -> Option<usize> {
        let row = first / self.width;
        (first + count <= (row + 1) * self.width).then_some(row)
    }

    /// Whether any of `count` elements from `first` on, `stride` apart, is undefined.
    #[inline(always)]
    pub(super) fn any(&self, first: usize, stride: usize, count: usize) -> bool {
        if stride != 1 {
            return (0..count).any(|i| self.any(first + i * stride, 1, 1));
        }
        match self.row_of(first, count) {
            Some(row) => self.any_of_row(row, first..first + count),
            None => self.parts(first, count).any(|(row, part)| self.any_of_row(row, part)),
        }
    }

    #[inline(always)]
    fn any_of_row(&self, row: usize, part: Range<usize>) -> bool {
        match self.states[row] {
            State::Mixed => self.each[part].iter().fold(0, |seen, &byte| seen | byte) != 0,
            State::Uniform { undefined }
            | State::Same(Element { undefined, .. })
            | State::Lent { undefined, .. } => undefined,
        }
    }

    /// Whether all of the elements, at least one, are undefined, or all defined; `None` where some are.
    #[inline(always)]
    pub(super) fn uniform(&self, first: usize, count: usize) -> Option<bool> {
        if let Some(row) = self.row_of(first, count) {
            return self.uniform_in_row(row, first..first + count);
        }
        let mut parts = self.parts(first, count).map(|(row, part)| self.uniform_in_row(row, part));
        let first = parts.next()??;
        parts.all(|part| part == Some(first)).then_some(first)
    }

    #[inline(always)]
    fn uniform_in_row(&self, row: usize, part: Range<usize>) -> Option<bool> {
        match self.states[row] {
            State::Mixed => {
                let bytes = &self.each[part];
                let any = bytes.iter().fold(0, |seen, &byte| seen | byte) != 0;
                let all = any && bytes.iter().fold(1, |seen, &byte| seen & byte) == 1;
                (any == all).then_some(any)
            }
            State::Uniform { undefined }
            | State::Same(Element { undefined, .. })
            | State::Lent { undefined, .. } => Some(undefined),
        }
    }

    /// Copies the shadow from `first` on, a byte an element.
    pub(super) fn read(&self, first: usize, out: &mut [u8]) {
        for (row, part) in self.parts(first, out.len()) {
            let out = &mut out[part.start - first..part.end - first];
            match self.states[row] {
                State::Mixed => out.copy_from_slice(&self.each[part]),
                State::Uniform { undefined }
                | State::Same(Element { undefined, .. })
                | State::Lent { undefined, .. } => {
                    out.fill(u8::from(undefined));
                }
            }
        }
    }

    /// To be called before `count` elements from `first` on are written: marks them, and writes out what is written in part.
    pub(super) fn write(
        &mut self,
        first: usize,
        count: usize,
        undefined: Row<'_>,
        contents: &mut Contents<'_>,
    ) {
        if let (Row::Same(mask), State::Uniform { undefined }) = (undefined, self.states[first / self.width])
            && undefined == (mask != 0)
            && self.row_of(first, count).is_some()
        {
            return;
        }
        for (row, part) in self.parts(first, count) {
            let masks = match undefined {
                Row::Same(mask) => Row::Same(mask),
                Row::Each(masks) => Row::Each(&masks[part.start - first..part.end - first]),
            };
            self.write_part(row, part, masks, contents);
        }
    }

    /// [`Shadow::write`] of a whole row.
    pub(super) fn write_row(&mut self, row: usize, undefined: Row<'_>, contents: &mut Contents<'_>) {
        self.write_part(row, row * self.width..(row + 1) * self.width, undefined, contents);
    }

    fn write_part(&mut self, row: usize, part: Range<usize>, masks: Row<'_>, contents: &mut Contents<'_>) {
        let masks = match masks {
            Row::Each(masks) if masks.iter().fold(0, |seen, &mask| seen | mask) == 0 => Row::Same(0),
            masks => masks,
        };
        let whole = part.len() == self.width;
        if let (Row::Same(mask), true) = (masks, whole) {
            self.put(row, State::Uniform { undefined: mask != 0 });
            return;
        }
        self.settle_row(row, contents);
        if let State::Uniform { undefined } = self.states[row] {
            if let Row::Same(mask) = masks
                && undefined == (mask != 0)
            {
                return;
            }
            self.each[row * self.width..(row + 1) * self.width].fill(u8::from(undefined));
            self.states[row] = State::Mixed;
        }
        let each = &mut self.each[part];
        match masks {
            Row::Same(mask) => each.fill(u8::from(mask != 0)),
            Row::Each(masks) => {
                each.iter_mut().zip(masks).for_each(|(byte, &mask)| *byte = u8::from(mask != 0));
            }
        }
    }

    /// Undefined element ranges, sorted and disjoint.
    pub(super) fn ranges(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut add = |range: Range<usize>| match ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => ranges.push(range),
        };
        for (row, part) in self.parts(0, self.each.len()) {
            match self.states[row] {
                State::Uniform { undefined }
                | State::Same(Element { undefined, .. })
                | State::Lent { undefined, .. } => {
                    if undefined {
                        add(part);
                    }
                }
                State::Mixed => {
                    let (mut at, bytes) = (part.start, &self.each[part]);
                    for run in bytes.chunk_by(|a, b| a == b) {
                        if run[0] != 0 {
                            add(at..at + run.len());
                        }
                        at += run.len();
                    }
                }
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 32;
    const ROWS: usize = 4;

    /// Bytes and definedness, element by element.
    struct Plain {
        bytes: Vec<u8>,
        undefined: Vec<bool>,
    }

    fn drawn(state: &mut u64, bound: usize) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize % bound
    }

    /// Random writes, repetitions, loans and readings, against the same done element by element.
    #[test]
    fn rows_are_but_a_shorter_way_to_say_what_each_element_is() {
        let lender: Vec<u8> = (0..=255).collect();
        for seed in 0..200 {
            let (mut state, len) = (seed, ROWS * WIDTH);
            let mut own = vec![0xAA; len];
            let mut shadow = Shadow::unwritten(len, WIDTH, DType::I8, true, Shadow::default());
            let mut plain = Plain { bytes: vec![0; len], undefined: vec![true; len] };
            for step in 0..60 {
                let mut contents = Contents { dtype: DType::I8, own: &mut own, lender: &lender };
                let row = WIDTH * drawn(&mut state, ROWS);
                match drawn(&mut state, 5) {
                    0 => {
                        let (raw, undefined) = (step, drawn(&mut state, 2) == 0);
                        shadow.repeat_row(row / WIDTH, Element { raw, undefined });
                        plain.bytes[row..row + WIDTH].fill(raw as u8);
                        plain.undefined[row..row + WIDTH].fill(undefined);
                    }
                    1 => {
                        let (from, undefined) = (drawn(&mut state, 224), drawn(&mut state, 2) == 0);
                        shadow.lend(row, from as u32, undefined);
                        plain.bytes[row..row + WIDTH].copy_from_slice(&lender[from..from + WIDTH]);
                        plain.undefined[row..row + WIDTH].fill(undefined);
                    }
                    2 => shadow.settle(row..row + 1 + drawn(&mut state, len - row), &mut contents),
                    kind => {
                        let first = drawn(&mut state, len);
                        let count = 1 + drawn(&mut state, len - first);
                        let masks: Vec<u32> = (0..count).map(|_| drawn(&mut state, 2) as u32).collect();
                        let undefined = if kind == 3 { Row::Same(masks[0]) } else { Row::Each(&masks) };
                        shadow.write(first, count, undefined, &mut contents);
                        contents.own[first..first + count].fill(step as u8);
                        plain.bytes[first..first + count].fill(step as u8);
                        for i in 0..count {
                            plain.undefined[first + i] = undefined.lane(i) != 0;
                        }
                    }
                }
                for at in 0..len {
                    let byte = match (shadow.repeated(at), shadow.lent(at)) {
                        (Some(element), _) => element.raw as u8,
                        (None, Some(from)) => lender[from],
                        (None, None) => own[at],
                    };
                    assert_eq!((byte, shadow.any(at, 1, 1)), (plain.bytes[at], plain.undefined[at]));
                }
                let (first, count) = (drawn(&mut state, len / 2), 1 + drawn(&mut state, len / 2));
                let part = &plain.undefined[first..first + count];
                assert_eq!(shadow.any(first, 1, count), part.contains(&true));
                let uniform = part.iter().all(|undefined| *undefined == part[0]).then_some(part[0]);
                assert_eq!(shadow.uniform(first, count), uniform);
                let mut read = vec![9; count];
                shadow.read(first, &mut read);
                assert!(read.iter().zip(part).all(|(&byte, &undefined)| byte == u8::from(undefined)));
                let ranges = shadow.ranges();
                assert!(
                    (0..len).all(|at| plain.undefined[at] == ranges.iter().any(|range| range.contains(&at)))
                );
                assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
