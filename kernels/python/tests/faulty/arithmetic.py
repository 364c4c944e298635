"""Wrong on purpose: divides by the length of an empty row. Otherwise `right.py`.

Row `b` of `table` names the pages of sequence `b`, `lengths[b]` says how many of their tokens count. The kernel copies
page after page into one of two buffers, adds up the tokens that count, and scales the sum.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

TOKENS = 8
LANES = 128


def kernel(table, lengths, pages, out, buffers, total, semaphores):
    b = pl.program_id(0)
    length = lengths[b]
    count = lax.div(length + TOKENS - 1, TOKENS)
    share = lax.div(1024, length)  # FAULT

    def copy(page, slot):
        return pltpu.make_async_copy(pages.at[page], buffers.at[slot], semaphores.at[slot])

    total[...] = jnp.zeros_like(total)

    @pl.when(count > 0)
    def first():
        copy(table[b, 0], 0).start()

    def add(i):
        slot = lax.rem(i, 2)

        @pl.when(i + 1 < count)
        def following():
            copy(table[b, i + 1], 1 - slot).start()

        copy(table[b, i], slot).wait()
        position = i * TOKENS + lax.broadcasted_iota(jnp.int32, (TOKENS, LANES), 0)
        counts = position < length
        total[...] += jnp.where(counts, buffers[slot], 0.0)
        return i + 1

    lax.while_loop(lambda i: i < count, add, 0)
    out[0] = total[...] * share.astype(jnp.float32)


def sums(table, lengths, pages):
    """`table` i32[rows, width], `lengths` i32[rows], `pages` f32[pages, 8, 128]: f32[rows, 8, 128]."""
    rows = table.shape[0]
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((rows, TOKENS, LANES), jnp.float32),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,
            grid=(rows,),
            in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
            out_specs=pl.BlockSpec((1, TOKENS, LANES), lambda b, *_: (b, 0, 0)),
            scratch_shapes=[
                pltpu.VMEM((2, TOKENS, LANES), jnp.float32),
                pltpu.VMEM((TOKENS, LANES), jnp.float32),
                pltpu.SemaphoreType.DMA((2,)),
            ],
        ),
    )(table, lengths, pages)
