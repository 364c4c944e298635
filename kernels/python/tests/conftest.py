"""Shared calls and batches. JAX must see no accelerator, here as in the product."""

from __future__ import annotations

import copy
import os
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"

import numpy as np
import pytest

ENTRY_POINT = "jax.experimental.pallas.ops.tpu.ragged_paged_attention:ragged_paged_attention"


def make_call(dtype: str = "f32", q_heads: int = 4, kv_heads: int = 4, generation: str = "v5e", **options: Any) -> dict[str, Any]:
    """A small call: 16 tokens, 8 pages of 8 tokens, 4 sequences of at most 3 pages."""
    return {
        "entry_point": ENTRY_POINT,
        "generation": generation,
        "operands": [
            {"name": "q", "dtype": dtype, "shape": [16, q_heads, 128]},
            {"name": "kv_pages", "dtype": dtype, "shape": [8, 8, 2 * kv_heads, 128]},
            {"name": "kv_lens", "dtype": "i32", "shape": [4]},
            {"name": "page_indices", "dtype": "i32", "shape": [4, 3]},
            {"name": "cu_q_lens", "dtype": "i32", "shape": [5]},
            {"name": "num_seqs", "dtype": "i32", "shape": [1]},
        ],
        "options": {
            "sm_scale": {"float": "1.0"},
            "sliding_window": None,
            "soft_cap": None,
            "mask_value": {"float": "-2.3819763e38"},
            "k_scale": None,
            "v_scale": None,
            "num_kv_pages_per_block": 2,
            "num_queries_per_block": 8,
            **options,
        },
    }


def make_batch(call: dict[str, Any]) -> dict[str, np.ndarray]:
    """Two sequences, (query 3, cache 10) and (query 5, cache 20), with NaN in every page that neither owns."""
    from countersign_export import arrays

    shapes = {operand["name"]: operand["shape"] for operand in call["operands"]}
    dtype = arrays.dtype_of(call["operands"][0]["dtype"])
    generator = np.random.default_rng(0)
    kv = generator.standard_normal(shapes["kv_pages"]).astype(np.float32)
    kv[5:] = np.nan
    kv[1, 2:] = np.nan  # the tail of sequence 0
    kv[4, 4:] = np.nan  # the tail of sequence 1
    return {
        "q": generator.standard_normal(shapes["q"]).astype(dtype),
        "kv_pages": kv.astype(dtype),
        "kv_lens": np.array([10, 20, 0, 0], np.int32),
        "page_indices": np.array([[0, 1, 0], [2, 3, 4], [0, 0, 0], [0, 0, 0]], np.int32),
        "cu_q_lens": np.array([0, 3, 8, 0, 0], np.int32),
        "num_seqs": np.array([2], np.int32),
    }


@pytest.fixture
def call() -> dict[str, Any]:
    """The small f32 call."""
    return copy.deepcopy(make_call())


@pytest.fixture
def batch(call: dict[str, Any]) -> dict[str, np.ndarray]:
    """Its batch."""
    return make_batch(call)
