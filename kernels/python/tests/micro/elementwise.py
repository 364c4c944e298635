"""Arithmetic, comparisons, conversions and choices, a lane at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp
from jax import lax

from countersign_export import arrays

from micro.micro import Micro, Operand, generator, parts, read
from micro.values import FLOATS, INTEGERS, Values, between, divisors, mixed, numbers, only


def kernels(seed: int) -> Iterator[Micro]:
    """All of them."""

    def lanewise(
        name: str, operands: list[tuple[str, Values]], functions: list[tuple[Callable[..., Any], str]], **options: Any
    ) -> Micro:
        """Functions of whole arrays of one shape: full tiles and odd ones."""
        stream = generator(seed, f"shape of {name}")
        shape = (int(stream.choice([3, 8, 16])), int(stream.choice([100, 128, 256])))
        drawn = [Operand(dtype, shape, values) for dtype, values in operands]
        return parts(name, drawn, [(read(function), to, shape) for function, to in functions], **options)

    for dtype in FLOATS:
        pair = [(dtype, mixed(dtype))] * 2
        yield lanewise(
            f"arithmetic-{dtype}", pair, [(function, dtype) for function in (lax.add, lax.sub, lax.mul, lax.div, lax.max)]
        )
        yield lanewise(f"exp-{dtype}", pair[:1], [(jnp.exp, dtype)])
        yield lanewise(f"tanh-{dtype}", pair[:1], [(jnp.tanh, dtype)])
        yield lanewise(f"ne-{dtype}", [(dtype, numbers(dtype))] * 2, [(as_i32(lax.ne), "i32")])
        yield lanewise(
            f"ne-of-nan-{dtype}",
            [(dtype, only(dtype, float("nan"))), (dtype, mixed(dtype))],
            [(as_i32(lax.ne), "i32")],
            differs="Pallas lowers `ne` to the ordered predicate: a NaN is not unequal to anything",
        )
        yield lanewise(
            f"neg-of-zero-{dtype}",
            [(dtype, only(dtype, 0.0))],
            [(lax.neg, dtype)],
            differs="Pallas lowers `neg` to 0 - x, which makes +0 of +0",
        )
    for dtype in INTEGERS:
        amounts = between(0, min(40, 2 ** (arrays.BITS[dtype] - 1) - 1), dtype)
        operands = [(dtype, mixed(dtype)), (dtype, mixed(dtype)), (dtype, divisors(dtype)), (dtype, amounts)]
        binary = (lax.add, lax.sub, lax.mul, lax.max, lax.min, lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor)
        functions: list[Callable[..., Any]] = [lambda x, y, _d, _a, f=f: f(x, y) for f in binary]
        functions += [
            lambda x, _y, d, _a: lax.div(x, d),
            lambda x, _y, d, _a: lax.rem(x, d),
            lambda x, _y, _d, a: lax.shift_left(x, a),
        ]
        yield lanewise(f"arithmetic-{dtype}", operands, [(function, dtype) for function in functions])
        shift = [(dtype, mixed(dtype)), (dtype, amounts)]
        unsupported = None if dtype == "i32" else "arith.shrui"
        yield lanewise(f"shift-right-{dtype}", shift, [(lax.shift_right_logical, dtype)], unsupported=unsupported)
    for dtype in FLOATS + INTEGERS:
        pair = [(dtype, mixed(dtype))] * 2
        compares = [lax.eq, lax.lt, lax.le, lax.gt, lax.ge] + ([lax.ne] if dtype in INTEGERS else [])
        yield lanewise(f"compare-{dtype}", pair, [(as_i32(compare), "i32") for compare in compares])
        constants = (lambda c, x, _y, kind=arrays.dtype_of(dtype): lax.select(c != 0, x, jnp.full(x.shape, 3, kind)), dtype)
        yield lanewise(
            f"choose-{dtype}", [("i32", between(0, 1)), *pair], [(lambda c, x, y: lax.select(c != 0, x, y), dtype), constants]
        )
        wanted = {to: conversion(dtype, to) for to in FLOATS + INTEGERS if to != dtype}
        yield lanewise(f"convert-{dtype}", pair[:1], [(cast(to), to) for to, outcome in wanted.items() if not outcome])
        for to, outcome in wanted.items():
            if outcome:
                yield lanewise(f"convert-{dtype}-{to}", pair[:1], [(cast(to), to)], **outcome)
    words = [("i32", mixed("i32"))] * 2
    masks = (jnp.logical_and, jnp.logical_or, jnp.logical_xor)
    yield lanewise("masks", words, [(lambda x, y, f=f: f(x > 0, y > 0).astype(jnp.int32), "i32") for f in masks])
    yield lanewise("choose-masks", words, [(lambda x, y: jnp.where(x > y, x > 5, y > 5).astype(jnp.float32), "f32")])
    yield lanewise(
        "compare-unsigned",
        words,
        [
            (as_i32(lambda x, y, f=f: f(x.astype(jnp.uint32), y.astype(jnp.uint32))), "i32")
            for f in (lax.lt, lax.le, lax.gt, lax.ge)
        ],
    )


def as_i32(compare: Callable[..., Any]) -> Callable[..., Any]:
    """The comparison as 0 or 1."""
    return lambda x, y: compare(x, y).astype(jnp.int32)


def cast(to: str) -> Callable[..., Any]:
    """Conversion to `to`."""
    return lambda x: x.astype(arrays.dtype_of(to))


def conversion(dtype: str, to: str) -> dict[str, str]:
    """What stands in the way of a conversion, if anything does."""
    if {dtype, to} in ({"bf16", "f16"}, {"f8e4m3fn", "f8e5m2"}):
        return {"refused": "Unsupported cast"}
    if dtype == "i32" and to in FLOATS and to != "f32":
        return {"unsupported": "arith.sitofp"}
    return {}
