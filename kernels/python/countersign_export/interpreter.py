"""Runs a kernel in JAX's TPU interpreter, mended where the released one can't run paged attention.

Two mends, both applied only where the installed source has the flaw: reads through a reshaped or bitcast reference, and
the bounds mask of a masked swap. A second opinion on values, NaN and DMA races; it wraps negative indices, so it is no
bounds oracle.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax._src import dispatch
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpret
from jax._src.pallas.mosaic.interpret import shared_memory, utils
from jax._src.state import indexing
from jax._src.state import types as state_types
from jax.experimental.pallas import tpu as pltpu

from countersign_export import arrays


def bitcast(value: np.ndarray, dtype: Any) -> np.ndarray:
    """Reinterprets `value` as `dtype` the way a TPU packs: along the second-minor dimension, even row in the low bits.

    [..., rows, lanes] of w bits becomes [..., rows * w / w', lanes] of w' bits.
    """
    dtype = np.dtype(dtype)
    narrow, wide = sorted((arrays.bits_of(value.dtype), arrays.bits_of(dtype)))
    ratio = wide // narrow
    patterns = arrays.to_bit_patterns(np.ascontiguousarray(value))
    if ratio == 1:
        return arrays.from_bit_patterns(patterns, dtype)
    *outer, rows, lanes = value.shape
    shifts = (np.arange(ratio, dtype=np.uint32) * np.uint32(narrow)).reshape(ratio, 1)
    if arrays.bits_of(dtype) == wide:
        if rows % ratio:
            raise ValueError(f"{rows} rows of {value.dtype} don't pack into {dtype}")
        parts = patterns.astype(np.uint32).reshape(*outer, rows // ratio, ratio, lanes)
        packed = np.bitwise_or.reduce(parts << shifts, axis=-2)
    else:
        mask = np.uint32((1 << narrow) - 1)
        parts = (patterns.astype(np.uint32)[..., :, None, :] >> shifts) & mask
        packed = parts.reshape(*outer, rows * ratio, lanes)
    return arrays.from_bit_patterns(packed, dtype)


def apply_transforms(value: np.ndarray, transforms: Sequence[Any]) -> np.ndarray:
    """What a reference with `transforms` shows of `value`."""
    for transform in transforms:
        match transform:
            case indexing.NDIndexer():
                value = value[utils.to_range((jax.tree.map(int, transform),))]
            case state_types.ReshapeTransform():
                value = value.reshape(transform.shape)
            case state_types.BitcastTransform():
                value = bitcast(value, transform.dtype)
            case _:
                raise NotImplementedError(f"reading through {type(transform).__name__}")
    return np.ascontiguousarray(value)


def mended_get(original: Callable[..., Any]) -> Callable[..., Any]:
    """`get` that reads the plain indexed prefix of a reference and applies the remaining transforms to the value."""

    @functools.wraps(original)
    def get(token: Any, device: Any, core: Any, space: Any, buffer: Any, transforms: Any, *args: Any, **kwargs: Any):
        plain = next((i for i, each in enumerate(transforms) if not isinstance(each, indexing.NDIndexer)), len(transforms))
        token, value = original(token, device, core, space, buffer, transforms[:plain], *args, **kwargs)
        return token, apply_transforms(value, transforms[plain:]) if transforms[plain:] else value

    # JAX looks through __wrapped__ once to find what its own decorator hides.
    get.__wrapped__ = getattr(original, "__wrapped__", original)  # type: ignore[attr-defined]
    return get


FLAWED_MASK = "in_bounds_mask[in_bounds_shape[i] :] = False"
MENDED_MASK = "in_bounds_mask[(slice(None),) * i + (slice(in_bounds_shape[i], None),)] = False"


@functools.cache
def mend() -> None:
    """Applies both mends, once a process."""
    interpret.get = mended_get(interpret.get)
    memory = shared_memory.SharedMemory
    source = textwrap.dedent(inspect.getsource(memory.swap_buffer_content))
    if FLAWED_MASK in source:  # the mask of dimension i was applied to dimension 0
        scope: dict[str, Any] = {}
        code = compile(source.replace(FLAWED_MASK, MENDED_MASK), shared_memory.__file__, "exec")
        exec(code, shared_memory.__dict__, scope)  # noqa: S102
        memory.swap_buffer_content = scope["swap_buffer_content"]


@contextlib.contextmanager
def interpreted(detect_races: bool, dma: str) -> Iterator[None]:
    """Kernels called within run in the interpreter: undefined memory is NaN, copies land `on_wait` or `eager`."""
    mend()
    parameters = pltpu.InterpretParams(detect_races=detect_races, dma_execution_mode=dma, uninitialized_memory="nan")
    try:
        with pltpu.force_tpu_interpret_mode(parameters):
            yield
    except BaseException:
        # Else every later run fails: the simulated memory stays, and the failed run's token orders what comes after it.
        pltpu.reset_tpu_interpret_mode_state()
        dispatch.runtime_tokens.clear()
        raise


def races_found() -> bool:
    """Whether the last run with `detect_races` met a race."""
    return interpret.races is not None and bool(interpret.races.races_found)


def describe(error: Exception) -> dict[str, Any]:
    """`type` and `message` of what the interpreter raised, dug out of the runtime error that wraps its traceback."""
    lines = str(error).splitlines()
    frames = [index for index, line in enumerate(lines) if line.startswith("  File ")]
    if not frames or frames[-1] + 1 >= len(lines):
        return {"type": type(error).__name__, "message": str(error)}
    kind, _, message = "\n".join(lines[frames[-1] + 1 :]).partition(": ")
    return {"type": kind.strip(), "message": message}
