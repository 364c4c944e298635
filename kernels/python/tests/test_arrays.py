"""Wire arrays and packing."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from countersign_export import arrays, interpreter


@pytest.mark.parametrize("name", list(arrays.DTYPES))
def test_wire_form_keeps_every_bit_pattern(name: str) -> None:
    dtype = arrays.dtype_of(name)
    count = 1 << min(arrays.BITS[name], 16)
    original = arrays.from_bit_patterns(np.arange(count, dtype=np.uint32), dtype).reshape(1, count)
    encoded = arrays.encode(original)
    decoded = arrays.decode(encoded["dtype"], encoded["shape"], encoded["data"])
    assert encoded["dtype"] == name
    assert decoded.dtype == dtype
    np.testing.assert_array_equal(arrays.to_bit_patterns(decoded), arrays.to_bit_patterns(original))


def test_int4_is_two_to_a_byte_low_nibble_first() -> None:
    values = np.array([1, -1, 7], ml_dtypes.int4)
    assert arrays.encode(values)["data"] == "8Qc="  # 0xf1 0x07


def test_wrong_byte_count_is_refused() -> None:
    with pytest.raises(ValueError, match="4 bytes for f32.*expected 8"):
        arrays.decode("f32", [2], "AAAAAA==")


def test_bf16_pairs_pack_with_the_even_row_low() -> None:
    rows = np.array([[1.0], [2.0], [3.0], [4.0]], ml_dtypes.bfloat16)
    packed = interpreter.bitcast(rows, np.uint32)
    assert packed.shape == (2, 1)
    assert [hex(value) for value in packed[:, 0]] == ["0x40003f80", "0x40804040"]


@pytest.mark.parametrize("name", ["bf16", "f8e4m3fn", "i8", "i4"])
def test_packing_is_undone_by_unpacking(name: str) -> None:
    dtype = arrays.dtype_of(name)
    generator = np.random.default_rng(1)
    patterns = generator.integers(0, 1 << arrays.BITS[name], (3, 16, 5), np.uint32)
    original = arrays.from_bit_patterns(patterns, dtype)
    packed = interpreter.bitcast(original, np.int32)
    assert packed.shape == (3, 16 * arrays.BITS[name] // 32, 5)
    first = sum(int(patterns[0, row, 0]) << (row * arrays.BITS[name]) for row in range(32 // arrays.BITS[name]))
    assert int(packed.view(np.uint32)[0, 0, 0]) == first
    np.testing.assert_array_equal(arrays.to_bit_patterns(interpreter.bitcast(packed, dtype)), patterns)
