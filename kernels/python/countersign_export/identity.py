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


def packages() -> dict[str, str]:
    """Installed versions of the packages that a lowering depends on, by name; absent ones are left out."""
    versions: dict[str, str] = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


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


def describe(entry_point: str) -> dict[str, Any]:
    """Versions, and hashes of the kernel's package and of Pallas itself, since either may be a development checkout."""
    file = Path(Kernel.resolve(entry_point).file)
    pallas = Path(jax.__file__).parent / "_src" / "pallas"
    return {
        "python": platform.python_version(),
        "packages": packages(),
        "source": {"file": str(file), "sha256": hash_file(file)},
        "sources_sha256": hash_sources([file.parent, pallas]),
    }
