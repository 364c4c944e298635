//! On-chip memory that a lowered kernel asks for, beside what its TPU has: warnings, never verdicts.
//!
//! Invariant: compares estimates (`countersign_mosaic::Footprint` says what they leave out) and says so; the compiler decides.

use countersign_mosaic::{Footprint, Program};

use crate::variant::Generation;

/// What a program asks for, and what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// By estimate.
    pub asked: Footprint,
    /// Of a core of the generation; for VMEM the kernel's own limit, where it sets a lower one.
    pub available: Footprint,
    generation: Generation,
}

impl Memory {
    /// Of `program`, lowered for `generation`, with the VMEM limit in bytes that its manifest states.
    pub fn of(program: &Program, generation: Generation, vmem_limit: Option<u64>) -> Memory {
        let core = generation.memory();
        let available =
            Footprint { vmem: vmem_limit.map_or(core.vmem, |limit| limit.min(core.vmem)), ..core };
        Memory { asked: program.footprint(), available, generation }
    }

    /// A sentence for each memory that may not suffice.
    pub fn warnings(&self) -> Vec<String> {
        let memories =
            [("VMEM", self.asked.vmem, self.available.vmem), ("SMEM", self.asked.smem, self.available.smem)];
        let short = memories.into_iter().filter(|(_, asked, available)| asked > available);
        short
            .map(|(name, asked, available)| {
                format!(
                    "{name}: windows, scratch and scalars take about {} of {} on {}; the compiler may refuse it",
                    mib(asked),
                    mib(available),
                    self.generation.name()
                )
            })
            .collect()
    }
}

/// `VMEM 1.25 of 128 MiB, SMEM 0.01 of 1 MiB (estimates)`.
impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Memory { asked, available, .. } = self;
        let [vmem, vmem_there, smem, smem_there] =
            [asked.vmem, available.vmem, asked.smem, available.smem].map(mib);
        write!(f, "VMEM {vmem} of {vmem_there}, SMEM {smem} of {smem_there}, by estimate")
    }
}

fn mib(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_names_memory_amounts_and_generation() {
        let footprint = |vmem, smem| Footprint { vmem, smem };
        let memory = |asked| Memory { asked, available: Generation::V4.memory(), generation: Generation::V4 };
        assert!(memory(footprint(16 << 20, 1 << 20)).warnings().is_empty());
        let warnings = memory(footprint(17 << 20, 1000)).warnings();
        assert_eq!(
            warnings,
            [
                "VMEM: windows, scratch and scalars take about 17.0 MiB of 16.0 MiB on v4; the compiler may refuse it"
            ]
        );
        assert_eq!(memory(footprint(0, 2 << 20)).warnings().len(), 1);
    }
}
