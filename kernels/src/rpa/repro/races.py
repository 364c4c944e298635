def main():
    ask_validators()
    if jax.default_backend() == "tpu":
        print("A TPU does not say whether an access races with a copy; JAX's interpreter does, on a machine without one.")
        return 2
    run_kernel(races=True)
    found = interpret.races is not None and bool(interpret.races.races_found)
    print("JAX's interpreter finds an access that races with a copy." if found else "JAX's interpreter finds no race.")
    return 0 if found else 1
