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
