"""Writes the hash-pinned requirements from what pip itself resolves.

    python lock.py [FILE...]

Without FILE all of them. One version per package, with the sha256 of every wheel that pip would choose on the supported interpreters and platforms.
The package index is whatever pip is configured to use; none is named here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHONS = ("3.11", "3.12", "3.13")  # oldest first: it decides the versions


def of_jax(version: str) -> tuple[str, ...]:
    """What a release of JAX is installed with."""
    return (f"jax=={version}", f"jaxlib=={version}", "ml_dtypes", "numpy", "opt_einsum", "scipy")


# What is pinned, by file. jax 0.6.0 and 0.9.2 import absl without requiring it. libtpu is the one that jax 0.10.2 names for TPUs.
LOCKS: dict[str, tuple[str, ...]] = {
    "requirements.lock": of_jax("0.10.2"),
    "requirements-dev.lock": (*of_jax("0.10.2"), "pytest"),
    "requirements-jax-0.9.2.lock": (*of_jax("0.9.2"), "absl-py"),
    "requirements-jax-0.8.1.lock": of_jax("0.8.1"),
    "requirements-jax-0.7.2.lock": of_jax("0.7.2"),
    "requirements-jax-0.6.0.lock": (*of_jax("0.6.0"), "absl-py"),
    "requirements-libtpu.lock": ("libtpu==0.0.42.1",),
}


def manylinux(machine: str, newest_glibc: int) -> list[str]:
    """Platform tags of a Linux with glibc 2.`newest_glibc`, newest first as pip prefers them."""
    return [f"manylinux_2_{minor}_{machine}" for minor in range(newest_glibc, 16, -1)] + [f"manylinux2014_{machine}"]


# A newer system may prefer another wheel of the same version, so each platform is asked at an old and a new age.
PLATFORMS: dict[str, list[str]] = {
    "Linux x86-64, glibc 2.28": manylinux("x86_64", 28),
    "Linux x86-64, glibc 2.42": manylinux("x86_64", 42),
    "Linux aarch64, glibc 2.28": manylinux("aarch64", 28),
    "Linux aarch64, glibc 2.42": manylinux("aarch64", 42),
    "macOS 12 arm64": ["macosx_12_0_arm64"],
    "macOS 15 arm64": ["macosx_15_0_arm64"],
}
# libtpu's wheels are of Linux alone.
LIBTPU_PLATFORMS: dict[str, list[str]] = {
    "Linux x86-64, glibc 2.31": manylinux("x86_64", 31),
    "Linux x86-64, glibc 2.42": manylinux("x86_64", 42),
}


def resolve(requirements: Sequence[str], python: str, platforms: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Version and sha256 per package, as pip chooses for one interpreter on one platform."""
    with tempfile.TemporaryDirectory() as target:
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed"]
        command += ["--report", "-", "--only-binary=:all:", "--target", target, "--implementation", "cp"]
        command += ["--python-version", python]
        command += [argument for platform in platforms for argument in ("--platform", platform)]
        report = json.loads(subprocess.run([*command, *requirements], check=True, stdout=subprocess.PIPE).stdout)
    return {
        item["metadata"]["name"].lower(): (item["metadata"]["version"], item["download_info"]["archive_info"]["hashes"]["sha256"])
        for item in report["install"]
    }


def lock(requirements: Sequence[str], supported: dict[str, list[str]], where: str) -> str:
    """The text of a lock file for `requirements` and all that they need."""
    newest = resolve(requirements, PYTHONS[0], next(iter(supported.values())))
    versions = {name: version for name, (version, _) in sorted(newest.items())}
    pins = [f"{name}=={version}" for name, version in versions.items()]
    hashes: dict[str, set[str]] = {name: set() for name in versions}
    for python in PYTHONS:
        for title, platforms in supported.items():
            print(f"CPython {python}, {title}", file=sys.stderr)
            found = resolve(pins, python, platforms)
            if set(found) != set(versions):
                raise SystemExit(f"CPython {python}, {title} needs {sorted(found)}, not {sorted(versions)}")
            for name, (_, digest) in found.items():
                hashes[name].add(digest)
    lines = [f"# Written by lock.py for CPython {', '.join(PYTHONS)} on {where}."]
    for name, version in versions.items():
        lines.append(" \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{digest}" for digest in sorted(hashes[name]))]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for file in sys.argv[1:] or LOCKS:
        text = (
            lock(LOCKS[file], LIBTPU_PLATFORMS, "Linux x86-64")
            if "libtpu" in file
            else lock(LOCKS[file], PLATFORMS, "Linux x86-64 and aarch64, and macOS arm64")
        )
        (HERE / file).write_text(text, encoding="utf-8")
