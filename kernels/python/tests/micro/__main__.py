"""Command line: writes a folder a kernel under OUT and prints one JSON line a kernel."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"  # before jax is imported


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="micro", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=4, help="sets of values a kernel")
    parser.add_argument("--part", default="0/1", help="i/n: every n-th kernel from the i-th on")
    parser.add_argument("--only", default="", help="kernels whose name has this in it")
    options = parser.parse_args(arguments)

    from micro import control, elementwise, memory, shaped
    from micro.micro import write

    from countersign_export import wire
    from countersign_export.__main__ import private_stdout

    output = private_stdout()
    first, parts = map(int, options.part.split("/"))
    modules = [elementwise, shaped, memory, control]
    every = [micro for module in modules for micro in module.kernels(options.seed)]
    for micro in [micro for micro in every if options.only in micro.name][first::parts]:
        wire.write_line(output, write(micro, options.out / micro.name, options.seed, options.runs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
