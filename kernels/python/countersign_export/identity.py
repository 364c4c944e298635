"""What an exported kernel depends on: package versions and hashes of sources."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import sys
from pathlib import Path
from typing import Any

import jax

from countersign_export.call import BadCall, Kernel, is_file

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
    """The kernel's file, and a hash over what it is made of and Pallas itself, since either may be a development checkout.

    A kernel of a package is made of that package; one of a file, of the file and all that it imported from its folder.
    """
    file = Path(Kernel.resolve(entry_point).file)
    pallas = Path(jax.__file__).parent / "_src" / "pallas"
    if is_file(entry_point):
        loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        mine = {Path(name) for name in loaded if name and Path(name).is_relative_to(file.parent)} | {file}
        own = "".join(f"{path.relative_to(file.parent).as_posix()}\0{hash_file(path)}\n" for path in sorted(mine))
        total = hashlib.sha256((own + hash_sources([pallas])).encode()).hexdigest()
    else:
        total = hash_sources([file.parent, pallas])
    return {"source": {"file": str(file), "sha256": hash_file(file)}, "sources_sha256": total}


def of_kernel(entry_point: str, operands: list[str]) -> dict[str, Any]:
    """`sources`, or `error`: why there is no such kernel, in words for its author."""
    try:
        Kernel.resolve(entry_point).check_operands(operands)
        return sources(entry_point)
    except BadCall as error:
        return {"error": str(error)}
