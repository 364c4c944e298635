"""JAX ragged paged attention: the validator crashes without a message that a user could act on.

gap:validator-crash|jax-rpa|scales-float|message|-

breaks scales-float (k_scale is an int): the check fails with: AssertionError.

Broken: k_scale and v_scale are Python floats or absent. (k_scale is an int)

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

num_seqs = np.array([3], np.int32)
cu_q_lens = np.array([0, 2, 3, 5, 0, 0, 0], np.int32)
kv_lens = np.array([5, 48, 3, 0, 0, 0], np.int32)
page_indices = np.array([
    [0, 0, 0],
    [1, 2, 3],
    [4, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
], np.int32)
OPTIONS = {
    "k_scale": 1,
    "mask_value": -2.3819763e38,
    "num_kv_pages_per_block": 2,
    "num_queries_per_block": 16,
    "sliding_window": None,
    "sm_scale": 0.088388346,
    "soft_cap": None,
    "v_scale": None,
}

# Only shapes and types are looked at.
q = np.zeros((64, 4, 128), jnp.float32)
kv_pages = np.zeros((21, 16, 8, 128), jnp.float32)

# ---- what is claimed ------------------------------------------------------------------------------------------------------

WRONG = "against \"k_scale and v_scale are Python floats or absent. (k_scale is an int)\""
# The check's words, which don't say that:
BEGINS, CONTAINS = "AssertionError", ""


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
