"""JAX ragged paged attention: the kernel mishandles an input whose legality is disputed.

gap:mishandles-disputed|jax-rpa|kv-len-positive|others-rows|-

breaks kv-len-positive (cu_q_lens[0] = cu_q_lens[1] = 0, kv_lens[0] = 0). The kernel ends silently with wrong rows: 1 of
sequence 1; worst at token 0, head 0, lane 0: kernel 1.0, reference 1.5e0 within 1.490e-6 (r = 3.355e5). No check stops
it.

Broken: No sequence is wholly empty: without tokens in the cache, and without query tokens or with none that cu_q_lens
tells. (cu_q_lens[0] = cu_q_lens[1] = 0, kv_lens[0] = 0)

Sequence 0 changes the output of others: 1 of 1 row(s) of sequence 1 come out otherwise without it.

Run it with Python, numpy and jax==0.10.2: `python FILE`. No TPU is needed (lowered for TPU v5e where it was found). It
ends with 0 where the finding shows, with 1 where it does not (another jax, or it was mended), with 2 where it can't be
tried.

Written by countersign 0.1.0.
"""

import functools
import inspect
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpret
from jax._src.pallas.mosaic.interpret import shared_memory, utils
from jax._src.state import indexing
from jax._src.state import types as state_types
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu.ragged_paged_attention import kernel as rpa

# ---- the batch ------------------------------------------------------------------------------------------------------------

num_seqs = np.array([2], np.int32)
cu_q_lens = np.array([0, 0, 1, 0, 0, 0], np.int32)
kv_lens = np.array([0, 2, 0, 0, 0], np.int32)
page_indices = np.array([
    [0, 0, 0, 0, 0, 0, 0],
    [0, 1, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0],
], np.int32)
OPTIONS = {
    "k_scale": None,
    "mask_value": -2.3819763e38,
    "num_kv_pages_per_block": 4,
    "num_queries_per_block": 1,
    "sliding_window": None,
    "sm_scale": 0.088388346,
    "soft_cap": None,
    "v_scale": None,
}

# What the batch does not own holds NaN, or the lowest integer.
q = np.full((8, 4, 128), np.nan, np.float32)
kv_pages = np.full((38, 1, 4, 128), np.nan, np.float32)
q[0:1] = 0.0  # sequence 1
kv_pages[0, 0:1, 0::2] = 0.0  # K of sequence 1
kv_pages[0, 0:1, 1::2] = 1.0  # V of sequence 1
kv_pages[1, 0:1, 0::2] = 0.0  # K of sequence 1
kv_pages[1, 0:1, 1::2] = 2.0  # V of sequence 1

# ---- what is claimed ------------------------------------------------------------------------------------------------------

LIMIT = 1.490117888636707e-6  # the largest error that rounding can explain in a row of this batch


# ---- what the validators say ----------------------------------------------------------------------------------------------


def operands():
    """The arguments of the entry point, in its order."""
    return [jnp.asarray(array) for array in (q, kv_pages, kv_lens, page_indices, cu_q_lens, num_seqs)]


def ask_validators():
    """What each check raises, by its name; None where it accepts. The entry point calls the static one; production calls no other."""
    words = {}
    for name in ("static_validate_inputs", "dynamic_validate_inputs"):
        try:
            getattr(rpa, name)(*operands(), **OPTIONS)
            words[name] = None
        except Exception as error:  # whatever a check raises is what it says
            words[name] = f"{type(error).__name__}: {error}"
        print(f"{name}: {words[name] or 'accepts'}")
        if words[name]:
            break  # the dynamic check begins with the static one
    return words


# ---- JAX's interpreter, mended where the released one can't run this kernel ---------------------------------------------


def bits_of(dtype) -> int:
    """Width of an element in bits: 4 for int4, although numpy stores it in a byte. Any numpy type, named here or not."""
    dtype = np.dtype(dtype)
    return 4 if dtype.name in ("int4", "uint4") else 8 * dtype.itemsize


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


def bitcast(value: np.ndarray, dtype) -> np.ndarray:
    """Reinterprets `value` as `dtype` the way a TPU packs: along the second-minor dimension, even row in the low bits.

    [..., rows, lanes] of w bits becomes [..., rows * w / w', lanes] of w' bits.
    """
    dtype = np.dtype(dtype)
    narrow, wide = sorted((bits_of(value.dtype), bits_of(dtype)))
    ratio = wide // narrow
    patterns = to_bit_patterns(np.ascontiguousarray(value))
    if ratio == 1:
        return from_bit_patterns(patterns, dtype)
    *outer, rows, lanes = value.shape
    shifts = (np.arange(ratio, dtype=np.uint32) * np.uint32(narrow)).reshape(ratio, 1)
    if bits_of(dtype) == wide:
        if rows % ratio:
            raise ValueError(f"{rows} rows of {value.dtype} don't pack into {dtype}")
        parts = patterns.astype(np.uint32).reshape(*outer, rows // ratio, ratio, lanes)
        packed = np.bitwise_or.reduce(parts << shifts, axis=-2)
    else:
        mask = np.uint32((1 << narrow) - 1)
        parts = (patterns.astype(np.uint32)[..., :, None, :] >> shifts) & mask
        packed = parts.reshape(*outer, rows * ratio, lanes)
    return from_bit_patterns(packed, dtype)


def apply_transforms(value: np.ndarray, transforms) -> np.ndarray:
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


def mended_get(original):
    """`get` that reads the plain indexed prefix of a reference and applies the remaining transforms to the value."""

    @functools.wraps(original)
    def get(token, device, core, space, buffer, transforms, *args, **kwargs):
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
        scope = {}
        code = compile(source.replace(FLAWED_MASK, MENDED_MASK), shared_memory.__file__, "exec")
        exec(code, shared_memory.__dict__, scope)  # noqa: S102
        memory.swap_buffer_content = scope["swap_buffer_content"]


# ---- the kernel -----------------------------------------------------------------------------------------------------------


def run_kernel(dma="on_wait", races=False):
    """The real kernel's output: on a TPU where there is one, else in JAX's interpreter, where undefined memory holds NaN."""
    if jax.default_backend() == "tpu":
        return np.asarray(rpa.ragged_paged_attention(*operands(), **OPTIONS))
    mend()
    parameters = pltpu.InterpretParams(dma_execution_mode=dma, uninitialized_memory="nan", detect_races=races)
    with pltpu.force_tpu_interpret_mode(parameters):
        return np.asarray(rpa.ragged_paged_attention(*operands(), **OPTIONS))


# ---- what is right --------------------------------------------------------------------------------------------------------


def reference():
    """Attention in float64; NaN in rows without a value: past the last token, or of a sequence that has no meaning by itself."""
    right = np.full(q.shape, np.nan)
    page_size, group = kv_pages.shape[1], q.shape[1] // (kv_pages.shape[2] // 2)
    scaled = lambda x, scale: x if scale is None else (x.astype(np.float32) * np.float32(scale)).astype(q.dtype)
    for sequence in range(min(int(num_seqs[0]), len(kv_lens))):
        start, end, kv_len = int(cu_q_lens[sequence]), int(cu_q_lens[sequence + 1]), int(kv_lens[sequence])
        row = page_indices[sequence, : -(-kv_len // page_size)]
        fits = kv_len <= page_indices.shape[1] * page_size and ((0 <= row) & (row < len(kv_pages))).all()
        if not (fits and 0 <= start < end <= len(q) and end - start <= kv_len):
            continue
        cache = kv_pages[row].reshape(-1, *kv_pages.shape[2:])[:kv_len]
        k = scaled(cache[:, 0::2], OPTIONS["k_scale"]).astype(np.float64)
        v = scaled(cache[:, 1::2], OPTIONS["v_scale"]).astype(np.float64)
        for token in range(start, end):
            position = kv_len - (end - token)
            first = 0 if OPTIONS["sliding_window"] is None else max(0, position - OPTIONS["sliding_window"] + 1)
            seen = slice(first, position + 1)
            for head in range(q.shape[1]):
                scores = k[seen, head // group] @ q[token, head].astype(np.float64) * OPTIONS["sm_scale"]
                if OPTIONS["soft_cap"] is not None:
                    scores = OPTIONS["soft_cap"] * np.tanh(scores / OPTIONS["soft_cap"])
                weights = np.exp(scores - scores.max())
                right[token, head] = weights / weights.sum() @ v[seen, head // group]
    return right


def wrong_rows(output, right):
    """Rows that have a value and not it, each printed with the element that is worst."""
    with np.errstate(invalid="ignore"):
        error = np.abs(output.astype(np.float64) - right)
    error = np.where(np.isnan(error), np.inf, error)
    rows = [row for row in range(len(q)) if not np.isnan(right[row]).any() and (error[row] > LIMIT).any()]
    for row in rows:
        head, lane = np.unravel_index(error[row].argmax(), error[row].shape)
        found, wanted = output[row, head, lane], right[row, head, lane]
        print(f"row {row}, head {head}, lane {lane}: the kernel gives {found}, right is {wanted:.7g}")
    return rows


def main():
    ask_validators()
    rows = wrong_rows(run_kernel(), reference())
    print(f"{len(rows)} row(s) are wrong by more than rounding explains ({LIMIT:.3g})")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
