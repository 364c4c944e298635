"""JAX ragged paged attention: the static check accepts a call that then fails to lower.

gap:does-not-lower|jax-rpa|kernel.py:509,NotImplementedError|lowering-crash|-

the call keeps every rule and the static check accepts it. It fails to lower: NotImplementedError: Unsigned integer
dtype uint8 is not supported for dot_general (matmul) on the Pallas Mosaic TPU backend because dot_general interprets
all integer inputs as signed. Consider casting to a signed type before the dot operation. (line 509 of the kernel).

Run it with Python, numpy and jax==0.10.2: `python FILE`. No TPU is needed (lowered for TPU v5e where it was found). It
ends with 0 where the finding shows, with 1 where it does not (another jax, or it was mended), with 2 where it can't be
tried.

Written by countersign 0.1.0.
"""

import sys
import traceback

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import mesh as mesh_lib
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
    "k_scale": None,
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
kv_pages = np.zeros((21, 16, 8, 128), jnp.uint8)

# ---- what is claimed ------------------------------------------------------------------------------------------------------

RAISES = "NotImplementedError"  # while it is lowered
DEVICE = "TPU v5e"


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


# ---- the lowering ---------------------------------------------------------------------------------------------------------


def lower():
    """What is raised while the call is lowered for the TPU, by the entry point or by JAX below it; None where it lowers."""
    device = mesh_lib.AbstractDevice(DEVICE, 1, "tpu")
    mesh = mesh_lib.AbstractMesh((1,), ("x",), (mesh_lib.AxisType.Auto,), abstract_device=device)
    entry_point = jax.jit(lambda *arrays: rpa.ragged_paged_attention(*arrays, **OPTIONS))
    try:
        with mesh_lib.use_abstract_mesh(mesh):
            entry_point.trace(*operands()).lower(lowering_platforms=("tpu",))
    except Exception as error:  # whatever it is, it is what a caller meets
        return error
    return None


def main():
    if ask_validators()["static_validate_inputs"]:
        return 1  # the entry point stops the call with these words, and nothing is lowered
    error = lower()
    if error is None:
        print("The call lowers.")
    else:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == rpa.__file__]
        for frame in frames[-1:]:
            print(f"{frame.filename}:{frame.lineno}: {frame.line}")
        print(f"It does not lower: {type(error).__name__}: {error}")
    return 0 if RAISES == (None if error is None else type(error).__name__) else 1


if __name__ == "__main__":
    sys.exit(main())
