//! Choices drawn from a byte string, through `arbitrary::Unstructured`: from a campaign's (seed, index) or a fuzzer's input.
//!
//! Invariant: total; when the bytes run out, every choice is its first option, so short inputs give simple cases.

use arbitrary::Unstructured;

use crate::payload::Stream;

/// Bytes that a campaign's case gets; more than any case draws.
const BYTES: usize = 2048;

/// The bytes of case `index` of a campaign.
pub(super) fn campaign_bytes(seed: u64, index: u64) -> Vec<u8> {
    /// Keeps these streams apart from those of payloads.
    const CAMPAIGN: u64 = 0x6361_6d70;
    let mut stream = Stream::at(seed, [CAMPAIGN, index, 0, 0]);
    (0..BYTES / 8).flat_map(|_| stream.bits().to_le_bytes()).collect()
}

/// A source of choices.
pub(super) struct Dice<'a> {
    bytes: Unstructured<'a>,
}

impl<'a> Dice<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Dice<'a> {
        Dice { bytes: Unstructured::new(bytes) }
    }

    /// An integer in `low..=high`; `low` if the range is empty.
    pub(super) fn range(&mut self, low: usize, high: usize) -> usize {
        if low >= high {
            return low;
        }
        self.bytes.int_in_range(low..=high).unwrap_or(low)
    }

    /// True with probability `part / whole`; false when the bytes have run out.
    pub(super) fn chance(&mut self, part: usize, whole: usize) -> bool {
        self.range(0, whole - 1) >= whole - part
    }

    /// One of `options`, which isn't empty.
    pub(super) fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.range(0, options.len() - 1)]
    }

    /// A 32-bit seed: short to read in a file.
    pub(super) fn seed(&mut self) -> u64 {
        self.range(0, u32::MAX as usize) as u64
    }

    /// A stream for bulk draws that shouldn't use up the bytes.
    pub(super) fn stream(&mut self) -> Stream {
        Stream::at(self.seed(), [0, 0, 0, 0])
    }
}
