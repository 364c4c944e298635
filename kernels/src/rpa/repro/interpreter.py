# ---- the kernel -----------------------------------------------------------------------------------------------------------


def run_kernel(dma="on_wait", races=False):
    """The real kernel's output: on a TPU where there is one, else in JAX's interpreter, where undefined memory holds NaN."""
    if jax.default_backend() == "tpu":
        return np.asarray(rpa.ragged_paged_attention(*operands(), **OPTIONS))
    mend()
    parameters = pltpu.InterpretParams(dma_execution_mode=dma, uninitialized_memory="nan", detect_races=races)
    with pltpu.force_tpu_interpret_mode(parameters):
        return np.asarray(rpa.ragged_paged_attention(*operands(), **OPTIONS))
