//! Coverage of the kernel's IR, an input at a time: what is new to a search, and as bytes that libFuzzer counts as its own.
//!
//! Points of all variants share libFuzzer's bytes: a hash of (variant, point) picks one. A point whose byte another took is
//! lost to that guidance, and to nothing else. Of n points in m bytes about n / 2m share: 3 % of 4,000 points in 65,536.
//!
//! Invariant: the byte of a point depends on variant and point alone; findings never depend on it.

/// The byte of a point among `bytes`, which isn't 0. A point is a site with what happened there, numbered by the program.
pub fn slot(variant: usize, point: usize, bytes: usize) -> usize {
    let key = ((variant as u64) << 32 | point as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (key ^ key >> 29).wrapping_mul(0xd1b5_4a32_d192_ed03);
    ((u128::from(mixed) * bytes as u128) >> 64) as usize
}

/// Sets the bytes of the points in `coverage` (a bit each, see `Engine::coverage`); none where `counters` is empty: without
/// guidance.
pub fn mark(variant: usize, coverage: &[u64], counters: &mut [u8]) {
    if counters.is_empty() {
        return;
    }
    for (word, &bits) in coverage.iter().enumerate() {
        let mut left = bits;
        while left != 0 {
            let point = word * 64 + left.trailing_zeros() as usize;
            counters[slot(variant, point, counters.len())] = 1;
            left &= left - 1;
        }
    }
}

/// The points that some cases covered, by variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Covered {
    bits: Vec<Vec<u64>>,
}

impl Covered {
    /// Nothing yet, of so many variants.
    pub fn new(variants: usize) -> Covered {
        Covered { bits: vec![Vec::new(); variants] }
    }

    /// Adds the points in `coverage`; how many of them are new. A variant that isn't there has none.
    pub fn add(&mut self, variant: usize, coverage: &[u64]) -> u64 {
        let Some(covered) = self.bits.get_mut(variant) else { return 0 };
        covered.resize(coverage.len().max(covered.len()), 0);
        let mut fresh = 0;
        for (covered, &now) in covered.iter_mut().zip(coverage) {
            fresh += u64::from((now & !*covered).count_ones());
            *covered |= now;
        }
        fresh
    }

    /// Points in all.
    pub fn count(&self) -> u64 {
        self.bits.iter().flatten().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Per variant, a bit a point, as [`crate::campaign::Totals::coverage`].
    pub fn bits(&self) -> &[Vec<u64>] {
        &self.bits
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn points_are_counted_once() {
        let mut covered = Covered::new(2);
        assert_eq!(covered.add(0, &[0b101]), 2);
        assert_eq!(covered.add(0, &[0b111, 1]), 2);
        assert_eq!(covered.add(1, &[0b1]), 1);
        assert_eq!(covered.add(2, &[0b1]), 0);
        assert_eq!((covered.count(), covered.bits()), (5, &[vec![0b111, 1], vec![1]][..]));
    }

    #[test]
    fn a_point_has_its_byte_and_collisions_are_as_few_as_chance_has_them() {
        let mut counters = vec![0; 1 << 16];
        mark(0, &[0b101], &mut counters);
        mark(1, &[0b1], &mut counters);
        mark(1, &[0b1], &mut []);
        assert_eq!(counters.iter().filter(|&&byte| byte == 1).count(), 3);

        let points = (0..20).flat_map(|variant| (0..200).map(move |point| (variant, point)));
        let slots: HashSet<usize> = points.map(|(variant, point)| slot(variant, point, 1 << 16)).collect();
        assert!(slots.len() > 3800, "{} bytes for 4000 points", slots.len());
    }
}
