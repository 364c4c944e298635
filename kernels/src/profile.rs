//! Device profiles: how exact a device's arithmetic is, by name and version.
//!
//! A profile decides both sides of a verdict: how the VM computes, and what error the reference's bound allows for. `exact` is
//! the VM's own arithmetic. The others are TPU generations: one bf16 pass in matrix products, denormals flushed, and the
//! largest errors of JAX's published accuracy tables (float32, in units of 2^-23; the division is the table's reciprocal):
//!
//! | | v2 to v5e | v5p | v6e | 7x |
//! |---|---|---|---|---|
//! | exp | 116 | 109.5 | 64.5 | 65 |
//! | tanh | 1365.5 | 92 | 1.5 | 1.5 |
//! | reciprocal | 198 | 40 | 1.5 | 1.5 |
//!
//! What the tables don't say: where those errors lie, and that exp(0) is 1. Neither the bound nor the VM assumes it. Nor do
//! they say anything of denormals (what a TPU flushes is assumed to be operands and results of all f32 arithmetic), or
//! how a matrix unit adds up (assumed: in f32, in any order).
//!
//! Invariant: the numbers behind a name never change; better ones get a new version.

use countersign_mosaic::{Arithmetic, ErrorSign, FunctionErrors, MatmulMode};
use countersign_reference::{Matmul, Profile};

/// A device's accuracy under its name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceProfile {
    /// Name and version, e.g. `v5e@1`.
    pub name: &'static str,
    /// What the bound allows for.
    pub accuracy: Profile,
}

/// A TPU generation: `bf16x1`, flushing.
const fn tpu(name: &'static str, exp_ulp: f64, tanh_ulp: f64, div_ulp: f64) -> DeviceProfile {
    let accuracy = Profile { matmul: Matmul::Bf16x1, exp_ulp, tanh_ulp, div_ulp, flush_denormals: true };
    DeviceProfile { name, accuracy }
}

static PROFILES: [DeviceProfile; 6] = [
    DeviceProfile { name: "exact@1", accuracy: Profile::EXACT },
    tpu("v4@1", 116.0, 1365.5, 198.0),
    tpu("v5e@1", 116.0, 1365.5, 198.0),
    tpu("v5p@1", 109.5, 92.0, 40.0),
    tpu("v6e@1", 64.5, 1.5, 1.5),
    tpu("v7x@1", 65.0, 1.5, 1.5),
];

impl DeviceProfile {
    /// Every profile, `exact` first.
    pub fn all() -> &'static [DeviceProfile] {
        &PROFILES
    }

    /// The VM's own arithmetic.
    pub fn exact() -> &'static DeviceProfile {
        &PROFILES[0]
    }

    /// The profile of that name, e.g. `v5e@1`, or without a version the newest.
    pub fn named(name: &str) -> Option<&'static DeviceProfile> {
        let newest = |profile: &&DeviceProfile| profile.family() == name;
        PROFILES.iter().find(|profile| profile.name == name).or_else(|| PROFILES.iter().rev().find(newest))
    }

    /// The name without its version.
    pub fn family(&self) -> &'static str {
        self.name.split('@').next().unwrap_or(self.name)
    }

    /// How the VM imitates the device: every function errs by all that the profile allows, in the direction of `sign`.
    pub fn arithmetic(&self, sign: ErrorSign) -> Arithmetic {
        let Profile { matmul, exp_ulp, tanh_ulp, div_ulp, flush_denormals } = self.accuracy;
        let errors = FunctionErrors { exp_ulp, tanh_ulp, div_ulp, sign };
        Arithmetic {
            matmul: match matmul {
                Matmul::Exact => MatmulMode::Exact,
                Matmul::Bf16x1 => MatmulMode::Bf16x1,
            },
            flush_denormals,
            // `exact` is measured on the VM's own functions, which stay as they are.
            errors: (*self != *DeviceProfile::exact()).then_some(errors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_version_is_the_newest() {
        for profile in DeviceProfile::all() {
            assert_eq!(DeviceProfile::named(profile.name), Some(profile));
            assert_eq!(
                DeviceProfile::named(profile.family()).map(DeviceProfile::family),
                Some(profile.family())
            );
        }
        assert_eq!(DeviceProfile::named("v3"), None);
        assert_eq!(DeviceProfile::named("v5e@2"), None);
    }

    #[test]
    fn exact_is_plain_arithmetic_and_a_device_is_not() {
        for profile in DeviceProfile::all() {
            let arithmetic = profile.arithmetic(ErrorSign::Up);
            let is_plain = arithmetic == Arithmetic::default();
            assert_eq!(is_plain, profile == DeviceProfile::exact(), "{}", profile.name);
        }
    }
}
