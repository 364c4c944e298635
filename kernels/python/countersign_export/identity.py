"""What an exported kernel depends on: package versions and hashes of sources."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import sys
import sysconfig
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
    """The kernel's file, and a hash over what a lowering of it is made of, of which any may be a development checkout: the modules
    that are imported with it, wherever they lie, Pallas, and the package of a kernel that isn't given as a file.
    """
    file = Path(Kernel.resolve(entry_point).file)
    whole = [Path(jax.__file__).parent / "_src" / "pallas"]
    if not is_file(entry_point):
        whole.append(file.parent)
    total = hashlib.sha256((hash_loaded() + hash_sources(whole)).encode()).hexdigest()
    return {"source": {"file": str(file), "sha256": hash_file(file)}, "sources_sha256": total}


def hash_loaded() -> str:
    """sha256 over names and sources of all imported modules but Python's own and ours."""
    digest = hashlib.sha256()
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and file.endswith(".py") and not _is_of_python(Path(file)) and not name.startswith("countersign_export"):
            digest.update(f"{name}\0{hash_file(Path(file))}\n".encode())
    return digest.hexdigest()


def _is_of_python(file: Path) -> bool:
    """Whether a file is of the standard library, in whose folder packages may be installed, too."""
    paths = sysconfig.get_paths()
    installed = any(file.is_relative_to(paths[kind]) for kind in ("purelib", "platlib"))
    return not installed and any(file.is_relative_to(paths[kind]) for kind in ("stdlib", "platstdlib"))


def of_kernel(entry_point: str, operands: list[str]) -> dict[str, Any]:
    """`sources`, or `error`: why there is no such kernel, in words for its author."""
    try:
        Kernel.resolve(entry_point).check_operands(operands)
        return sources(entry_point)
    except BadCall as error:
        return {"error": str(error)}
