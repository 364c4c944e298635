def main():
    ask_validators()
    print("JAX's interpreter does not show this; it follows from the arrays and the kernel's own lines.")
    try:
        walk()
    except Found as found:
        kind, text, line = found.args
        print(f"{kind}: {text}")
        source, _ = inspect.getsourcelines(rpa)
        places = [number for number, each in enumerate(source) if line in each]
        if not places:
            print(f"This jax's kernel has no line with `{line}`: it is not the one that this was derived from.")
            return 2
        for number in range(max(places[0] - 2, 0), places[0] + 3):
            print(f"{'>' if number == places[0] else ' '} {number + 1:>4}  {source[number].rstrip()}")
        return 0 if kind == EXPECTED else 1
    print("Nothing is wrong with the walk.")
    return 1
