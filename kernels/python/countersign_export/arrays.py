"""Element types by name, and arrays as base64 of little-endian row-major bytes (int4: two a byte, low nibble first)."""

from __future__ import annotations

import base64
import math
from typing import Any

import ml_dtypes
import numpy as np

DTYPES: dict[str, np.dtype] = {
    "f32": np.dtype(np.float32),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "i8": np.dtype(np.int8),
    "i4": np.dtype(ml_dtypes.int4),
    "i1": np.dtype(np.bool_),
    "u8": np.dtype(np.uint8),
    "u32": np.dtype(np.uint32),
}
NAMES: dict[np.dtype, str] = {dtype: name for name, dtype in DTYPES.items()}
# Bits an element takes on the wire.
BITS: dict[str, int] = {"f32": 32, "bf16": 16, "f16": 16, "f8e4m3fn": 8, "f8e5m2": 8, "i32": 32, "i16": 16, "i8": 8, "i4": 4, "i1": 8, "u8": 8, "u32": 32}
NIBBLES: dict[np.dtype, int] = {np.dtype(ml_dtypes.int4): 4, np.dtype(ml_dtypes.uint4): 4}


def dtype_of(name: str) -> np.dtype:
    """The numpy type called `name`; ValueError for a name that isn't ours."""
    if name not in DTYPES:
        raise ValueError(f"unknown element type {name!r}; known: {', '.join(DTYPES)}")
    return DTYPES[name]


def name_of(dtype: Any) -> str:
    """The inverse of `dtype_of`."""
    dtype = np.dtype(dtype)
    if dtype not in NAMES:
        raise ValueError(f"element type {dtype} has no name here")
    return NAMES[dtype]


def bits_of(dtype: Any) -> int:
    """Width of an element in bits: 4 for int4, although numpy stores it in a byte. Any numpy type, named here or not."""
    dtype = np.dtype(dtype)
    return NIBBLES.get(dtype, 8 * dtype.itemsize)


def to_bit_patterns(array: np.ndarray) -> np.ndarray:
    """Each element's bits as an unsigned integer; int4 as 0..15."""
    unsigned = array.view(np.dtype(f"u{array.dtype.itemsize}"))
    return unsigned & np.uint8(0xF) if bits_of(array.dtype) == 4 else unsigned


def from_bit_patterns(patterns: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The inverse of `to_bit_patterns`."""
    if bits_of(dtype) == 4:
        signed = ((patterns.astype(np.int8) & 0xF) ^ 8) - 8
        return signed.astype(dtype)
    return np.ascontiguousarray(patterns.astype(np.dtype(f"u{dtype.itemsize}"))).view(dtype)


def decode(dtype: str, shape: list[int], data: str) -> np.ndarray:
    """An array from its wire form; ValueError where the byte count doesn't fit the shape."""
    kind = dtype_of(dtype)
    raw = np.frombuffer(base64.b64decode(data, validate=True), np.uint8)
    count = math.prod(shape)
    expected = -(-count * BITS[dtype] // 8)
    if raw.size != expected:
        raise ValueError(f"{raw.size} bytes for {dtype}{shape}, expected {expected}")
    if dtype == "i4":
        nibbles = np.stack([raw & 0xF, raw >> 4], axis=-1).reshape(-1)[:count]
        return from_bit_patterns(nibbles, kind).reshape(shape)
    return raw.view(kind).reshape(shape).copy()


def encode(array: np.ndarray) -> dict[str, Any]:
    """The wire form `{dtype, shape, data}` of an array."""
    array = np.asarray(array)
    if bits_of(array.dtype) == 4:
        nibbles = to_bit_patterns(np.ascontiguousarray(array)).reshape(-1)
        nibbles = np.concatenate([nibbles, np.zeros(nibbles.size % 2, np.uint8)])
        raw = (nibbles[0::2] | (nibbles[1::2] << 4)).tobytes()
    else:
        raw = np.ascontiguousarray(array).tobytes()
    return {"dtype": name_of(array.dtype), "shape": list(array.shape), "data": base64.b64encode(raw).decode("ascii")}
