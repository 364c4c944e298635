"""JAX ragged paged attention: the validator refuses an invalid batch with a message about something else.

gap:misleading-message|jax-rpa|cu-q-lens-nonnegative|message|-

breaks cu-q-lens-nonnegative (cu_q_lens[0] = -1); refused with: q_len=Array(2, dtype=int32) must be less or equal to
kv_len=Array(1, dtype=int32) at sequence 0.

Broken: No entry of cu_q_lens[0..=num_seqs] is negative. (cu_q_lens[0] = -1)

Run it with Python, numpy and jax==0.10.2: `python FILE`. No TPU is needed (lowered for TPU v5e where it was found). It
ends with 0 where the finding shows, with 1 where it does not (another jax, or it was mended), with 2 where it can't be
tried.

Written by countersign 0.1.0.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas.ops.tpu.ragged_paged_attention import kernel as rpa

# ---- the batch ------------------------------------------------------------------------------------------------------------

num_seqs = np.array([1], np.int32)
cu_q_lens = np.array([-1, 1, 0, 0, 0, 0], np.int32)
kv_lens = np.array([1, 0, 0, 0, 0], np.int32)
page_indices = np.array([
    [0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0],
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
q[0:1] = 0.0  # sequence 0
kv_pages[0, 0:1, 0::2] = 0.0  # K of sequence 0
kv_pages[0, 0:1, 1::2] = 1.0  # V of sequence 0

# ---- what is claimed ------------------------------------------------------------------------------------------------------

WRONG = "against \"No entry of cu_q_lens[0..=num_seqs] is negative. (cu_q_lens[0] = -1)\""
# The check's words, which don't say that:
BEGINS, CONTAINS = "q_len=", "must be less or equal to kv_len="


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


def main():
    said = [words for words in ask_validators().values() if words]
    print(f"What is wrong with the batch: {WRONG}")
    return 0 if any(BEGINS in words and CONTAINS in words for words in said) else 1


if __name__ == "__main__":
    sys.exit(main())
