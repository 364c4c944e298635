//! The same code for wider vectors: compiled a second time with AVX2 and FMA, chosen at run time.
//!
//! Invariant: no bit depends on the choice. The compiler may not fuse or reorder float operations; a fused multiply-add is
//! one where the source says `mul_add`, in either version.

/// Calls `work`, compiled for the widest vectors that this processor has. The closure must be `#[inline(always)]`.
#[inline(always)]
pub(crate) fn widest<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        #[target_feature(enable = "avx2,fma")]
        fn wide<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        // SAFETY: the two features that `wide` is compiled for were detected on this processor just above; the function
        // is safe code otherwise.
        #[allow(unsafe_code)]
        return unsafe { wide(work) };
    }
    work()
}
