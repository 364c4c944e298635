"""Command line: `export`, `worker`, `identify`. Standard output carries JSON lines and nothing else."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TextIO


def private_stdout() -> TextIO:
    """Keeps the real standard output for our JSON and sends everyone else's prints to standard error."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return stream


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="countersign_export", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    export = commands.add_parser("export", help="lower calls to .mlir files with a manifest each")
    export.add_argument("--out", type=Path, required=True, help="folder that gets one folder a call, named by its index")
    export.add_argument("calls", nargs="?", type=Path, help="JSON list or JSON lines of calls; standard input if absent")
    worker_parser = commands.add_parser("worker", help="answer requests, one JSON line each, until standard input ends")
    worker_parser.add_argument("--any-platform", action="store_true", help="let JAX look for accelerators")
    identify = commands.add_parser("identify", help="package versions, and source hashes of an entry point")
    identify.add_argument("entry_point", nargs="?", help="module:function, or FILE.py:function")
    identify.add_argument("operands", nargs="*", help="parameters that the function must begin with")
    options = parser.parse_args(arguments)

    # Before jax is imported: nothing here may look for an accelerator unless it is asked to.
    if getattr(options, "any_platform", False):
        os.environ.pop("JAX_PLATFORMS", None)
    else:
        os.environ["JAX_PLATFORMS"] = "cpu"
    output = private_stdout()
    if options.command == "export":
        from countersign_export import export as exporter

        text = (options.calls or Path("/dev/stdin")).read_text(encoding="utf-8")
        exporter.run(exporter.read_calls(text), options.out, output)
    elif options.command == "worker":
        from countersign_export import worker

        worker.serve(sys.stdin, output)
    else:
        from countersign_export import identity, wire

        entry_point = options.entry_point
        kernel = identity.of_kernel(entry_point, options.operands) if entry_point else {}
        wire.write_line(output, identity.versions() | kernel)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
