"""The worked example of CONTRIBUTING.md: a small Pallas kernel of another family than attention. No product.

Each sequence's last cached tokens are copied out of their pages into consecutive rows, widened to f32 and scaled.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def gather_kernel(
    kv_lens: Any,
    page_indices: Any,
    cu_q_lens: Any,
    num_seqs: Any,
    pages: Any,
    out: Any,
    token: Any,
    arrived: Any,
    *,
    k_scale: float | None,
    v_scale: float | None,
) -> None:
    page_size = pages.shape[1]
    is_key = lax.broadcasted_iota(jnp.int32, token.shape, 0) % 2 == 0

    def copy(sequence: Any, row: Any) -> None:
        position = kv_lens[sequence] - (cu_q_lens[sequence + 1] - row)
        page = page_indices[sequence, lax.div(position, page_size)]
        fetch = pltpu.make_async_copy(pages.at[page, lax.rem(position, page_size)], token, arrived)
        fetch.start()
        fetch.wait()
        value = token[...].astype(jnp.float32)
        if k_scale is not None or v_scale is not None:
            value *= jnp.where(is_key, jnp.float32(k_scale or 1.0), jnp.float32(v_scale or 1.0))
        out[row] = value

    def gather_sequence(sequence: Any, _: None) -> None:
        def body(row: Any, _: None) -> None:
            copy(sequence, row)

        lax.fori_loop(cu_q_lens[sequence], cu_q_lens[sequence + 1], body, None)

    lax.fori_loop(0, num_seqs[0], gather_sequence, None)


@functools.partial(jax.jit, static_argnames=("rows", "k_scale", "v_scale"))
def gather(
    kv_pages: jax.Array,  # [pages, page_size, 2 * kv_heads, head_dim], K at even and V at odd combined heads
    kv_lens: jax.Array,  # i32[max_num_seqs]
    page_indices: jax.Array,  # i32[max_num_seqs, pages_per_seq]
    cu_q_lens: jax.Array,  # i32[max_num_seqs + 1]
    num_seqs: jax.Array,  # i32[1]
    *,
    rows: int,
    k_scale: float | None = None,
    v_scale: float | None = None,
) -> jax.Array:
    """The last `cu_q_lens[i + 1] - cu_q_lens[i]` tokens of each sequence i, in the rows from `cu_q_lens[i]` on, as f32.

    What callers keep: `cu_q_lens` starts with 0, never decreases within its first `num_seqs + 1` entries and ends at `rows` at
    most; `num_seqs` is at most the number of rows of `page_indices`; a sequence has at least as many tokens in the cache as it
    gathers, and at most as many as its row of `page_indices` reaches; the entries of that row that its `kv_len` uses name pages of
    `kv_pages`; values are finite, also after their scales. All that stands past `num_seqs` may be anything. Empty sequences and
    batches are allowed. Nothing is checked. Rows past the last token are not written.
    """
    _, _, heads, head_dim = kv_pages.shape
    scalars = pl.BlockSpec(memory_space=pltpu.SMEM)
    call = pl.pallas_call(
        functools.partial(gather_kernel, k_scale=k_scale, v_scale=v_scale),
        in_specs=[scalars] * 4 + [pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),
        scratch_shapes=[pltpu.VMEM((heads, head_dim), kv_pages.dtype), pltpu.SemaphoreType.DMA],
        out_shape=jax.ShapeDtypeStruct((rows, heads, head_dim), jnp.float32),
        name="gather_kernel",
    )
    return call(kv_lens, page_indices, cu_q_lens, num_seqs, kv_pages)
