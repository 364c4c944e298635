"""Seeded operand values: ordinary ones, any bit pattern, and those at which types differ (zeros, infinities, denormals, limits)."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

from countersign_export import arrays

FLOATS = ("f32", "bf16", "f16", "f8e4m3fn", "f8e5m2")
INTEGERS = ("i32", "i16", "i8", "i4")

Values = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def _is_float(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float8"))


def specials(dtype: np.dtype) -> np.ndarray:
    """Values at the type's edges."""
    if not _is_float(dtype):
        info = ml_dtypes.iinfo(dtype)
        edges = [0, 1, -1, 2, info.min, info.min + 1, info.max - 1, info.max]
        return np.array(edges, np.int64).astype(dtype)
    info = ml_dtypes.finfo(dtype)
    numbers = np.array([0, 0.5, 1, 2, info.smallest_subnormal, info.smallest_normal, info.max, np.inf, np.nan], np.float64)
    patterns = arrays.to_bit_patterns(np.array([info.smallest_normal, 1]).astype(dtype))
    neighbours = arrays.from_bit_patterns(patterns + np.array([-1, 1]).astype(patterns.dtype), dtype)
    positive = np.concatenate([numbers.astype(dtype), neighbours])
    return np.concatenate([positive, -positive])


def bits(generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Any bit pattern."""
    width = arrays.bits_of(dtype)
    patterns = generator.integers(0, 1 << width, shape, np.uint64).astype(np.dtype(f"u{dtype.itemsize}"))
    return arrays.from_bit_patterns(patterns, dtype)


def ordinary(generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Numbers of moderate size."""
    if _is_float(dtype):
        return (generator.standard_normal(shape) * 2.0 ** generator.integers(-3, 4, shape)).astype(dtype)
    largest = min(100, int(ml_dtypes.iinfo(dtype).max))
    return generator.integers(-largest, largest + 1, shape).astype(dtype)


def mixed(dtype: str) -> Values:
    """A quarter of edges, a quarter of any bit patterns, the rest ordinary."""
    kind = arrays.dtype_of(dtype)

    def values(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        choice = generator.integers(0, 4, shape)
        edges = generator.choice(specials(kind), shape)
        return np.where(choice == 0, edges, np.where(choice == 1, bits(generator, shape, kind), ordinary(generator, shape, kind)))

    return values


def numbers(dtype: str) -> Values:
    """The same without NaN."""
    values = mixed(dtype)

    def without(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        drawn = values(generator, shape)
        return np.where(np.isnan(drawn.astype(np.float32)), np.ones((), drawn.dtype), drawn)

    return without


def only(dtype: str, value: float) -> Values:
    """One value."""
    kind = arrays.dtype_of(dtype)
    return lambda _generator, shape: np.full(shape, value, kind)


def plain(dtype: str) -> Values:
    """Ordinary numbers only: for sums and products, where one NaN would hide all else."""
    kind = arrays.dtype_of(dtype)
    return lambda generator, shape: ordinary(generator, shape, kind)


def between(low: int, high: int, dtype: str = "i32") -> Values:
    """Integers from `low` to `high`, both included."""
    kind = arrays.dtype_of(dtype)
    return lambda generator, shape: generator.integers(low, high + 1, shape).astype(kind)


def divisors(dtype: str) -> Values:
    """Integers that anything may be divided by: neither 0 nor, for the smallest dividend's sake, -1."""
    values = mixed(dtype)

    def nonzero(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        drawn = values(generator, shape)
        wide = drawn.astype(np.int64)
        return np.where((wide == 0) | (wide == -1), 3, wide).astype(drawn.dtype)

    return nonzero
