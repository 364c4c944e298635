def main():
    ask_validators()
    if jax.default_backend() == "tpu":
        print("A TPU does not say whether an access races with a copy; JAX's interpreter does, on a machine without one.")
        return 2
    # Copies that land when they are waited for can't race; these land when they are started, on a clock of their own.
    run_kernel("eager", races=True)
    found = interpret.races is not None and bool(interpret.races.races_found)
    print("JAX's interpreter finds an access that races with a copy." if found else "JAX's interpreter finds no race.")
    return 0 if found else 1
