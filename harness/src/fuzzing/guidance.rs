//! Coverage of the kernel's IR as bytes that libFuzzer counts as its own.
//!
//! An engine's points are numbered per variant and only ever added to, so an input's bytes are those of the points that it was
//! the first to hit. A smaller input that reaches the same points later doesn't take its place.
//!
//! Points of all variants share one array: a hash of (variant, point) picks the byte. A point whose byte an earlier one took is
//! lost to guidance, and to nothing else. Of n points in m bytes about n / 2m share: 3 % of 4,000 points in 65,536.
//!
//! Invariant: the byte of a point depends on variant and point alone; findings never depend on it.

/// The byte of a point among `bytes`, which isn't 0. A point is a site with what happened there, numbered by the program.
pub fn slot(variant: usize, point: usize, bytes: usize) -> usize {
    let key = ((variant as u64) << 32 | point as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (key ^ key >> 29).wrapping_mul(0xd1b5_4a32_d192_ed03);
    ((u128::from(mixed) * bytes as u128) >> 64) as usize
}

/// What was marked already.
#[derive(Debug)]
pub struct Guide {
    seen: Vec<Vec<u64>>,
}

impl Guide {
    /// For so many variants.
    pub fn new(variants: usize) -> Guide {
        Guide { seen: vec![Vec::new(); variants] }
    }

    /// Sets the bytes of the points in `coverage` (a bit each, see `Engine::coverage`) that were never marked before; none
    /// where `counters` is empty: without guidance.
    pub fn mark(&mut self, variant: usize, coverage: &[u64], counters: &mut [u8]) {
        let Some(seen) = self.seen.get_mut(variant).filter(|_| !counters.is_empty()) else { return };
        seen.resize(coverage.len().max(seen.len()), 0);
        for (word, (seen, &now)) in seen.iter_mut().zip(coverage).enumerate() {
            let mut fresh = now & !*seen;
            *seen |= now;
            while fresh != 0 {
                let point = word * 64 + fresh.trailing_zeros() as usize;
                counters[slot(variant, point, counters.len())] = 1;
                fresh &= fresh - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_point_is_marked_once_and_collisions_are_as_few_as_chance_has_them() {
        let (mut guide, mut counters) = (Guide::new(2), vec![0; 1 << 16]);
        guide.mark(0, &[0b101], &mut counters);
        assert_eq!(counters.iter().filter(|&&byte| byte == 1).count(), 2);
        counters.fill(0);
        guide.mark(0, &[0b111], &mut counters);
        guide.mark(1, &[0b1], &mut counters);
        assert_eq!(counters.iter().filter(|&&byte| byte == 1).count(), 2);

        let points = (0..20).flat_map(|variant| (0..200).map(move |point| (variant, point)));
        let slots: HashSet<usize> = points.map(|(variant, point)| slot(variant, point, 1 << 16)).collect();
        assert!(slots.len() > 3800, "{} bytes for 4000 points", slots.len());
    }
}
