"""What the TPU compiler's words are read as. Compiling itself is tested from Rust, where libtpu was asked for."""

from __future__ import annotations

from countersign_export import compiler

PLACED = (
    "RESOURCE_EXHAUSTED: Allocation (size=2097152) would exceed memory (size=1048576) :: #allocation9 [shape = 'u8[2097152]{0}', "
    "space=smem, size = 0x200000, scoped, tag = 'prefetched SMEM operand 1'] :: ragged_paged_attention_kernel.1"
)
STACK = (
    "RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:\nRan out of memory in memory space vmem while allocating on stack for "
    "%kernel.1 = f32[4096,4,128]{2,1,0:T(4,128)} custom-call(%a). Scoped allocation with size 28.25M and limit 16.00M exceeded scoped "
    "vmem limit by 12.25M. It should not be possible"
)

PROGRAM = (
    "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (24.00G) exceeds available HBM "
    "(15.75G)."
)


def test_overflows_have_their_sizes() -> None:
    assert compiler.overflow(PLACED) == {"space": "smem", "asked": 2097152, "limit": 1048576}
    assert compiler.overflow(STACK) == {"space": "vmem", "asked": 29622272, "limit": 16777216}
    assert compiler.overflow(PROGRAM) == {"space": "hbm", "asked": 24 << 30, "limit": 63 << 28}


def test_other_refusals_have_none() -> None:
    assert compiler.overflow("INTERNAL: Mosaic failed to compile TPU kernel: Unsupported matmul RHS type") is None
