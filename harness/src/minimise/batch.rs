//! Ragged metadata taken apart into sequences and what stands past them, and put together again, possibly for other shapes.
//!
//! Invariant: taking apart and putting together for the same shapes gives the same metadata, however broken it is.

use countersign_reference::Metadata;

/// One sequence's entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sequence {
    /// Query tokens; negative where cu_q_lens decreases.
    pub(super) q_len: i64,
    /// Tokens in the cache, as the batch says.
    pub(super) kv_len: i64,
    /// Its row of the page table.
    pub(super) row: Vec<i32>,
}

/// Metadata by sequences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parts {
    /// `cu_q_lens[0]`.
    pub(super) first: i64,
    /// Those that num_seqs counts and the arrays hold.
    pub(super) sequences: Vec<Sequence>,
    /// num_seqs beyond that: above the table's rows, or below 0.
    pub(super) excess: i64,
    /// `kv_lens` past the sequences.
    pub(super) kv_tail: Vec<i32>,
    /// Rows of the page table past the sequences.
    pub(super) row_tail: Vec<Vec<i32>>,
    /// `cu_q_lens` past the sequences' ends.
    pub(super) cu_tail: Vec<i32>,
}

impl Parts {
    pub(super) fn of(meta: &Metadata) -> Parts {
        let count = meta.sequences_in_table();
        let rows: Vec<Vec<i32>> =
            meta.page_indices.chunks(meta.pages_per_seq.max(1)).map(<[i32]>::to_vec).collect();
        let cu = |entry: usize| meta.cu_q_lens.get(entry).copied().map_or(0, i64::from);
        let sequence = |index: usize| Sequence {
            q_len: cu(index + 1) - cu(index),
            kv_len: i64::from(meta.kv_lens[index]),
            row: rows[index].clone(),
        };
        Parts {
            first: cu(0),
            sequences: (0..count).map(sequence).collect(),
            excess: i64::from(meta.num_seqs) - count as i64,
            kv_tail: meta.kv_lens[count..].to_vec(),
            row_tail: rows.get(count..).unwrap_or_default().to_vec(),
            cu_tail: meta.cu_q_lens.get(count + 1..).unwrap_or_default().to_vec(),
        }
    }

    /// The entries of cu_q_lens, up to the last sequence's end.
    pub(super) fn ends(&self) -> Vec<i64> {
        let sums = self.sequences.iter().scan(self.first, |end, sequence| {
            *end += sequence.q_len;
            Some(*end)
        });
        std::iter::once(self.first).chain(sums).collect()
    }

    /// Sets the entries of cu_q_lens.
    pub(super) fn set_ends(&mut self, ends: &[i64]) {
        self.first = ends.first().copied().unwrap_or(0);
        for (sequence, pair) in self.sequences.iter_mut().zip(ends.windows(2)) {
            sequence.q_len = pair[1] - pair[0];
        }
    }

    /// Together again, for a page table of `rows` and `columns`. Tails keep their ends: zeros fill, or entries go, in front.
    /// `None` where the sequences don't fit, or a number isn't an int32.
    pub(super) fn metadata(&self, rows: usize, columns: usize) -> Option<Metadata> {
        let count = self.sequences.len();
        let past = rows.checked_sub(count)?;
        let number = |value: i64| i32::try_from(value).ok();
        let mut cu_q_lens: Vec<i32> = self.ends().into_iter().map(number).collect::<Option<_>>()?;
        cu_q_lens.extend(fitted(&self.cu_tail, past, 0));
        let mut kv_lens: Vec<i32> =
            self.sequences.iter().map(|sequence| number(sequence.kv_len)).collect::<Option<_>>()?;
        kv_lens.extend(fitted(&self.kv_tail, past, 0));
        let row_tail = fitted(&self.row_tail, past, Vec::new());
        let table = self.sequences.iter().map(|sequence| &sequence.row).chain(&row_tail);
        let page_indices =
            table.flat_map(|row| (0..columns).map(|column| row.get(column).copied().unwrap_or(0)));
        // Above the table's rows, num_seqs is counted from them.
        let counted = if self.excess > 0 { rows } else { count };
        Some(Metadata {
            page_indices: page_indices.collect(),
            kv_lens,
            pages_per_seq: columns,
            cu_q_lens,
            num_seqs: number(counted as i64 + self.excess)?,
        })
    }

    /// Pages that the batch owns.
    pub(super) fn owned_pages(&self, page_size: usize) -> impl Iterator<Item = i32> + Clone {
        self.sequences
            .iter()
            .flat_map(move |sequence| sequence.row.iter().copied().take(sequence.used(page_size)))
    }

    /// Metadata that the batch doesn't own.
    pub(super) fn unowned(&self, page_size: usize) -> impl Iterator<Item = i32> + Clone {
        let tails = self
            .sequences
            .iter()
            .flat_map(move |sequence| sequence.row.iter().skip(sequence.used(page_size)));
        tails.chain(&self.kv_tail).chain(self.row_tail.iter().flatten()).chain(&self.cu_tail).copied()
    }
}

impl Sequence {
    /// Entries of the row that the sequence uses.
    pub(super) fn used(&self, page_size: usize) -> usize {
        let kv_len = usize::try_from(self.kv_len).unwrap_or(0);
        kv_len.div_ceil(page_size.max(1)).min(self.row.len())
    }
}

/// The last `length` of `tail`; what is missing is `fill`, in front.
fn fitted<T: Clone>(tail: &[T], length: usize, fill: T) -> Vec<T> {
    let missing = length.saturating_sub(tail.len());
    let mut fitted = vec![fill; missing];
    fitted.extend_from_slice(&tail[tail.len().saturating_sub(length)..]);
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta() -> Metadata {
        Metadata {
            kv_lens: vec![9, 3, 7, -2],
            page_indices: vec![1, 2, 3, 4, 5, 6, 7, 8],
            pages_per_seq: 2,
            cu_q_lens: vec![1, 4, -2, 9, 8],
            num_seqs: 2,
        }
    }

    #[test]
    fn apart_and_together_is_the_same() {
        for num_seqs in [i32::MIN, -1, 0, 1, 2, 4, 5, i32::MAX] {
            let meta = Metadata { num_seqs, ..meta() };
            assert_eq!(Parts::of(&meta).metadata(4, 2), Some(meta), "{num_seqs}");
        }
    }

    #[test]
    fn what_is_not_owned_is_listed() {
        let parts = Parts::of(&meta());
        assert_eq!(parts.owned_pages(8).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(parts.unowned(8).collect::<Vec<_>>(), [4, 7, -2, 5, 6, 7, 8, 9, 8]);
    }

    #[test]
    fn other_shapes_keep_the_ends_of_tails() {
        let parts = Parts::of(&meta());
        let smaller = parts.metadata(3, 1).unwrap();
        assert_eq!(smaller.kv_lens, [9, 3, -2]);
        assert_eq!(smaller.cu_q_lens, [1, 4, -2, 8]);
        assert_eq!(smaller.page_indices, [1, 3, 7]);
        let larger = parts.metadata(5, 2).unwrap();
        assert_eq!(larger.cu_q_lens, [1, 4, -2, 0, 9, 8]);
        assert_eq!(parts.metadata(1, 2), None);
    }
}
