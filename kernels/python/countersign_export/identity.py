"""What an exported kernel depends on: package versions and hashes of sources."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
from pathlib import Path
from typing import Any

import jax

from countersign_export.call import Kernel

PACKAGES = ("jax", "jaxlib", "numpy", "ml_dtypes", "opt_einsum", "scipy")


def versions() -> dict[str, Any]:
    """Versions of Python and of the packages that a lowering depends on; absent ones are left out."""
    packages: dict[str, str] = {}
    for name in PACKAGES:
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {"python": platform.python_version(), "packages": packages}


def hash_file(path: Path) -> str:
    """sha256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def hash_sources(roots: list[Path]) -> str:
    """sha256 over names and contents of all Python files under `roots`, in a fixed order."""
    digest = hashlib.sha256()
    for root in roots:
        for path in sorted(root.rglob("*.py")):
            digest.update(f"{path.relative_to(root).as_posix()}\0{hash_file(path)}\n".encode())
    return digest.hexdigest()


def sources(entry_point: str) -> dict[str, Any]:
    """The kernel's file, and a hash over its package and Pallas itself, since either may be a development checkout."""
    file = Path(Kernel.resolve(entry_point).file)
    pallas = Path(jax.__file__).parent / "_src" / "pallas"
    return {
        "source": {"file": str(file), "sha256": hash_file(file)},
        "sources_sha256": hash_sources([file.parent, pallas]),
    }
