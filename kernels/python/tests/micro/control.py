"""Branches, loops, grids with their windows, and arithmetic on scalars."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from countersign_export import arrays

from micro.memory import SMEM, VMEM
from micro.micro import Micro, Operand
from micro.values import FLOATS, INTEGERS, between, divisors, mixed, plain


def kernels(_seed: int) -> Iterator[Micro]:
    """All of them."""
    yield scalar_integers()
    yield scalar_floats()
    yield branches()
    yield loops()
    yield counted_loop()
    yield named()
    for dtype in FLOATS + INTEGERS:
        yield grid(dtype)


def scalar_integers() -> Micro:
    """Every integer op on scalars, as index arithmetic is."""
    binary = (lax.add, lax.sub, lax.mul, lax.max, lax.min, lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor)
    compares = (lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge)

    def body(x: Any, d: Any, o: Any) -> None:
        for i, function in enumerate(binary):
            o[i] = function(x[0], x[1])
        for i, compare in enumerate(compares):
            o[len(binary) + i] = lax.select(compare(x[0], x[1]), x[2], x[3])
        rest = [
            lax.div(x[0], d[0]),
            lax.rem(x[0], d[0]),
            lax.shift_left(x[0], d[1] & 31),
            lax.shift_right_logical(x[0], d[1] & 31),
        ]
        rest.append((x[0] > x[1]).astype(jnp.int32) + ((x[0] > 0) & (x[1] > 0)).astype(jnp.int32))
        for i, value in enumerate(rest):
            o[len(binary) + len(compares) + i] = value

    operands = [Operand("i32", (4,), mixed("i32")), Operand("i32", (2,), divisors("i32"))]
    count = len(binary) + len(compares) + 5
    return Micro("scalar-integers", body, operands, [("i32", (count,))], {"in_specs": [SMEM, SMEM], "out_specs": [SMEM]})


def scalar_floats() -> Micro:
    """Every f32 op on scalars, and conversions between them and integers."""
    binary = (lax.add, lax.sub, lax.mul, lax.div, lax.max)
    compares = (lax.eq, lax.lt, lax.le, lax.gt, lax.ge)

    def body(x: Any, n: Any, o: Any, whole: Any) -> None:
        for i, function in enumerate(binary):
            o[i] = function(x[0], x[1])
        for i, compare in enumerate(compares):
            o[len(binary) + i] = lax.select(compare(x[0], x[1]), x[2], x[3])
        o[len(binary) + len(compares)] = n[0].astype(jnp.float32)
        whole[0] = x[0].astype(jnp.int32)

    operands = [Operand("f32", (4,), mixed("f32")), Operand("i32", (1,), mixed("i32"))]
    outputs = [("f32", (len(binary) + len(compares) + 1,)), ("i32", (1,))]
    return Micro("scalar-floats", body, operands, outputs, {"in_specs": [SMEM, SMEM], "out_specs": [SMEM, SMEM]})


def branches() -> Micro:
    """Branches with and without results, nested."""

    def body(n: Any, x: Any, o: Any, p: Any) -> None:
        @pl.when(n[0] > 0)
        def _() -> None:
            o[...] = x[...] + 1.0

        @pl.when(n[0] <= 0)
        def _() -> None:
            o[...] = lax.cond(n[1] > 0, lambda v: v * 2.0, lambda v: v - 3.0, x[...])

        p[...] = lax.cond(
            n[1] > n[0], lambda v: lax.cond(n[0] > 1, lambda w: w * 0.5, lambda w: w + 0.25, v), lambda v: v * v, x[...]
        )

    operands = [Operand("i32", (2,), between(-2, 2)), Operand("f32", (8, 128), plain("f32"))]
    return Micro("branches", body, operands, [("f32", (8, 128))] * 2, {"in_specs": [SMEM, VMEM]})


def loops() -> Micro:
    """Loops whose trips are known only when they run, nested, with vectors carried along."""

    def body(n: Any, x: Any, o: Any, total: Any) -> None:
        def halve(carried: Any) -> Any:
            i, value, sum_ = carried
            _, inner = lax.while_loop(lambda c: c[0] < i, lambda c: (c[0] + 1, c[1] + c[0] * n[1]), (jnp.int32(0), sum_))
            return i + 1, value * 0.5 + 1.0, inner

        _, o[...], total[0] = lax.while_loop(lambda c: c[0] < n[0], halve, (jnp.int32(0), x[...], n[1]))

    operands = [Operand("i32", (2,), between(0, 5)), Operand("f32", (8, 128), plain("f32"))]
    return Micro(
        "loops", body, operands, [("f32", (8, 128)), ("i32", (1,))], {"in_specs": [SMEM, VMEM], "out_specs": [VMEM, SMEM]}
    )


def counted_loop() -> Micro:
    """`fori_loop` becomes an op of its own: over constants, from a bound to another that are known only then, and nested."""

    def body(n: Any, x: Any, o: Any, total: Any) -> None:
        o[...] = lax.fori_loop(0, 4, lambda _, value: value * 0.5 + 1.0, x[...])

        def add(i: Any, sum_: Any) -> Any:
            return lax.fori_loop(0, i, lambda j, inner: inner + 10 * i + j, sum_)

        total[0] = lax.fori_loop(n[0], n[1], add, n[0])

    operands = [Operand("i32", (2,), between(0, 5)), Operand("f32", (8, 128), plain("f32"))]
    return Micro(
        "counted-loop", body, operands, [("f32", (8, 128)), ("i32", (1,))], {"in_specs": [SMEM, VMEM], "out_specs": [VMEM, SMEM]}
    )


def named() -> Micro:
    """A span for the profiler."""

    def body(x: Any, o: Any) -> None:
        with jax.named_scope("span"):
            o[...] = x[...] + 1.0

    return Micro("named", body, [Operand("f32", (8, 128), plain("f32"))], [("f32", (8, 128))])


def grid(dtype: str) -> Micro:
    """Windows whose block is found by scalars, an accumulator over grid steps, and an array that ends within a block."""
    kind = arrays.dtype_of(dtype)

    def body(at: Any, x: Any, ragged: Any, o: Any, copied: Any, kept: Any) -> None:
        step = pl.program_id(1)

        @pl.when(step == 0)
        def _() -> None:
            kept[...] = jnp.zeros(kept.shape, kind)

        kept[...] = jnp.where(at[step] % 2 == 0, x[...], kept[...])
        copied[...] = ragged[...]

        @pl.when(step == pl.num_programs(1) - 1)
        def _() -> None:
            o[...] = kept[...]

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(3, 4),
        in_specs=[
            pl.BlockSpec((32, 128), lambda _i, j, at: (at[j], 0)),
            pl.BlockSpec((32, 128), lambda i, _j, _at: (i, 0)),
        ],
        out_specs=[
            pl.BlockSpec((32, 128), lambda i, _j, _at: (i, 0)),
            pl.BlockSpec((32, 128), lambda i, _j, _at: (i, 0)),
        ],
        scratch_shapes=[pltpu.VMEM((32, 128), kind)],
    )
    operands = [
        Operand("i32", (4,), between(0, 3)),
        Operand(dtype, (128, 128), mixed(dtype)),
        Operand(dtype, (80, 128), mixed(dtype)),
    ]
    return Micro(f"grid-{dtype}", body, operands, [(dtype, (96, 128)), (dtype, (80, 128))], {"grid_spec": spec})
