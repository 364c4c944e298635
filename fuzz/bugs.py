"""Counts the cases and seconds until the target `differential` finds each seeded bug, from an empty corpus, over ten seeds, with and without guidance.

    cargo fuzz build -s none --no-trace-compares differential && python3 fuzz/bugs.py

Two runs at a time, one thread each. Seconds include the set-up.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BUGS = ("kv-one-over-a-block", "second-head-block", "odd-page-count", "ends-at-a-query-block", "window-edge")


def run(target: Path, bug: str, guided: bool, seed: int) -> tuple[int | None, float]:
    """Cases until the bug is found (None if it isn't within ten minutes), and seconds."""
    environment = dict(os.environ, COUNTERSIGN_BUG=bug, RUST_BACKTRACE="0")
    if not guided:
        environment["COUNTERSIGN_UNGUIDED"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        command = [target, f"-seed={seed}", "-max_total_time=600"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace")
        seconds = time.monotonic() - started
    found = re.search(r"^new finding: \S+ in case (\d+)", done.stderr, re.MULTILINE)
    return (int(found[1]) if found else None), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, help="the built target; by default where cargo fuzz puts it")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("bugs", nargs="*", default=BUGS, metavar="BUG")
    arguments = parser.parse_args()
    target = arguments.target
    if target is None:
        folder = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parent / "target"))
        target = next(folder.glob("*/release/differential"), None)
    if target is None or not target.exists():
        parser.error("the target isn't built: cargo fuzz build -s none --no-trace-compares differential")
    print("| bug | search | found | cases: median | worst | seconds: median | worst |\n|---|---|---|---|---|---|---|")
    for bug in arguments.bugs:
        for guided in (True, False):
            with ThreadPoolExecutor(2) as pool:
                runs = list(pool.map(lambda seed: run(target.resolve(), bug, guided, seed), range(1, arguments.seeds + 1)))
            found = [(cases, seconds) for cases, seconds in runs if cases is not None]
            cases, seconds = ([one[part] for one in found] or [0] for part in (0, 1))
            print(
                f"| `{bug}` | {'guided' if guided else 'unguided'} | {len(found)} of {len(runs)} "
                f"| {statistics.median(cases):.0f} | {max(cases)} | {statistics.median(seconds):.1f} | {max(seconds):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
