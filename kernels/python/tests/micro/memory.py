"""References: slices, views, strides, masks, scalars, copies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from countersign_export import arrays

from micro.micro import Micro, Operand, Part, generator, parts
from micro.values import FLOATS, INTEGERS, between, mixed

SMEM = pl.BlockSpec(memory_space=pltpu.SMEM)
VMEM = pl.BlockSpec(memory_space=pltpu.VMEM)
ANY = pl.BlockSpec(memory_space=pl.ANY)


def kernels(seed: int) -> Iterator[Micro]:
    """All of them."""
    for dtype in FLOATS + INTEGERS:
        yield views(seed, dtype)
        yield scalars(dtype)
        yield masked(seed, dtype)
        yield strided_store(dtype)
        yield copies(seed, dtype)
        yield from bitcasts(dtype)


def views(seed: int, dtype: str) -> Micro:
    """Dynamic slices, strides, reshapes and bitcasts of a reference."""
    stream = generator(seed, f"views-{dtype}")
    rows, lanes = 2 * int(stream.choice([32, 64])), int(stream.choice([128, 256]))
    ratio = 32 // arrays.BITS[dtype]
    outputs: list[Part] = [
        (lambda at, x: x[0, pl.ds(at[0], 8), :], dtype, (8, lanes)),
        (lambda _at, x: x[1, pl.ds(1, rows // 2, 2), :], dtype, (rows // 2, lanes)),
        (lambda _at, x: x.reshape(2 * rows, lanes)[...], dtype, (2 * rows, lanes)),
        (lambda at, x: x.at[at[1]].bitcast(jnp.int32)[...], "i32", (rows // ratio, lanes)),
        (lambda at, x: x.at[at[1]].reshape(rows // 2, 2 * lanes)[1:9, :], dtype, (8, 2 * lanes)),
    ]
    at = Operand("i32", (2,), between(0, 1))
    return parts(
        f"views-{dtype}", [at, Operand(dtype, (2, rows, lanes), mixed(dtype))], outputs, options={"in_specs": [SMEM, VMEM]}
    )


def scalars(dtype: str) -> Micro:
    """Scalar memory read and written one by one, splat to a vector, and seen as another type of the same width."""
    same = [to for to in FLOATS + INTEGERS if to != dtype and arrays.BITS[to] == arrays.BITS[dtype]]

    def body(x: Any, at: Any, moved: Any, splat: Any, *cast: Any) -> None:
        for i in range(8):
            moved[i] = x[7 - i]
        moved[at[0]] = x[at[1]]
        splat[...] = jnp.full(splat.shape, x[at[2]])
        for to, ref in zip(same, cast, strict=True):
            for i in range(8):
                ref[i] = lax.bitcast_convert_type(x[i], arrays.dtype_of(to))

    operands = [Operand(dtype, (8,), mixed(dtype)), Operand("i32", (3,), between(0, 7))]
    options = {"in_specs": [SMEM, SMEM], "out_specs": [SMEM, VMEM] + [SMEM] * len(same)}
    return Micro(f"scalars-{dtype}", body, operands, [(dtype, (8,)), (dtype, (8, 128))] + [(to, (8,)) for to in same], options)


def masked(seed: int, dtype: str) -> Micro:
    """A store of some lanes."""
    stream = generator(seed, f"masked-{dtype}")
    shape = (int(stream.choice([8, 16])), int(stream.choice([100, 128])))

    def body(c: Any, x: Any, y: Any, o: Any) -> None:
        o[...] = x[...]
        pltpu.store(o, y[...], mask=c[...] > 0)

    operands = [Operand("i32", shape, mixed("i32")), Operand(dtype, shape, mixed(dtype)), Operand(dtype, shape, mixed(dtype))]
    refused = None if arrays.BITS[dtype] == 32 else "masked swap with non-32-bit data"
    return Micro(f"masked-{dtype}", body, operands, [(dtype, shape)], refused=refused)


def strided_store(dtype: str) -> Micro:
    """A store to every other row."""

    def body(x: Any, o: Any) -> None:
        o[...] = jnp.zeros(o.shape, o.dtype)
        o[pl.ds(1, 8, 2), :] = x[...]

    operands = [Operand(dtype, (8, 128), mixed(dtype))]
    return Micro(f"strided-store-{dtype}", body, operands, [(dtype, (16, 128))], unsupported="tpu.strided_store")


def copies(seed: int, dtype: str) -> Micro:
    """Copies between memories, of slices, two in flight on an array of semaphores."""
    lanes = int(generator(seed, f"copies-{dtype}").choice([128, 256]))

    def body(at: Any, x: Any, o: Any, swapped: Any, buffer: Any, semaphore: Any, semaphores: Any) -> None:
        one = pltpu.make_async_copy(x.at[at[0], pl.ds(2, 8)], buffer.at[pl.ds(8, 8)], semaphore)
        one.start()
        two = [pltpu.make_async_copy(x.at[1 - i], swapped.at[i], semaphores.at[i]) for i in range(2)]
        for copy in two:
            copy.start()
        for copy in [*two, one]:
            copy.wait()
        o[...] = buffer[pl.ds(8, 8), :]

    scratch = [pltpu.VMEM((16, lanes), arrays.dtype_of(dtype)), pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA((2,))]
    return Micro(
        f"copies-{dtype}",
        body,
        [Operand("i32", (1,), between(0, 7)), Operand(dtype, (8, 16, lanes), mixed(dtype))],
        [(dtype, (8, lanes)), (dtype, (2, 16, lanes))],
        {"in_specs": [SMEM, ANY], "out_specs": [VMEM, ANY], "scratch_shapes": scratch},
    )


def bitcasts(dtype: str) -> Iterator[Micro]:
    """Vectors seen as another type: of the same width, and of another, which the VM refuses."""
    bits = arrays.BITS[dtype]
    rows = 64
    same = [to for to in FLOATS + INTEGERS if to != dtype and arrays.BITS[to] == bits]
    for to in FLOATS + INTEGERS:
        if to != dtype and to not in same:
            yield cast(f"bitcast-{dtype}-{to}", dtype, [to], rows, unsupported="tpu.bitcast")
    if same:
        yield cast(f"bitcasts-{dtype}", dtype, same, rows)


def cast(name: str, dtype: str, to: list[str], rows: int, **options: Any) -> Micro:
    """One operand as each of `to`."""
    outputs: list[Part] = [
        (
            lambda x, kind=arrays.dtype_of(each): pltpu.bitcast(x[...], kind),
            each,
            (rows * arrays.BITS[dtype] // arrays.BITS[each], 128),
        )
        for each in to
    ]
    return parts(name, [Operand(dtype, (rows, 128), mixed(dtype))], outputs, **options)
