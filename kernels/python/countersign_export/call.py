"""A call of a kernel as data: entry point, generation, operands and options. Nothing here knows attention.

JSON form, in which a float is never mistaken for an integer:

    {"entry_point": "package.module:function", "generation": "v5e", "skip_static_validation": false,
     "operands": [{"name": "q", "dtype": "f32", "shape": [8, 4, 128]}, ...],
     "options": {"sm_scale": {"float": "1.0"}, "sliding_window": 5, "soft_cap": null, ...}}
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jax

from countersign_export import arrays


class BadCall(ValueError):
    """The request itself is wrong: our fault, not the kernel's."""


@dataclasses.dataclass(frozen=True)
class Operand:
    """One array argument of the entry point, by parameter name."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    def abstract(self) -> jax.ShapeDtypeStruct:
        """Shape and type without values, to trace with."""
        return jax.ShapeDtypeStruct(self.shape, arrays.dtype_of(self.dtype))


@dataclasses.dataclass(frozen=True)
class Call:
    """Everything static about a call."""

    entry_point: str
    generation: str
    operands: tuple[Operand, ...]
    options: dict[str, Any]
    skip_static_validation: bool = False

    @staticmethod
    def from_json(document: dict[str, Any]) -> Call:
        """Reads the JSON form; BadCall names what is wrong."""
        try:
            operands = tuple(
                Operand(operand["name"], operand["dtype"], tuple(int(extent) for extent in operand["shape"]))
                for operand in document["operands"]
            )
            for operand in operands:
                arrays.dtype_of(operand.dtype)
            options = {name: _option(value) for name, value in document["options"].items()}
            return Call(
                entry_point=document["entry_point"],
                generation=document["generation"],
                operands=operands,
                options=options,
                skip_static_validation=bool(document.get("skip_static_validation", False)),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadCall(f"malformed call: {type(error).__name__}: {error}") from error

    def kernel(self) -> Kernel:
        """The real kernel that this call names, after checking that the operands are its leading parameters."""
        kernel = Kernel.resolve(self.entry_point)
        kernel.check_operands([operand.name for operand in self.operands])
        return kernel


def _option(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) != {"float"}:
            raise ValueError(f"option {value!r} is neither a plain value nor {{'float': text}}")
        return float(value["float"])
    if isinstance(value, float):
        raise ValueError(f"a bare float {value!r} may have lost its type on the way; write {{'float': text}}")
    return value


def is_file(entry_point: str) -> bool:
    """Whether the entry point is a function of a file and not of an installed module."""
    return entry_point.rpartition(":")[0].endswith(".py")


def _package_of(file: Path) -> tuple[Path, str]:
    """The folder that a file's package is imported from, and the package's full name; empty for a file in none.

    A package is a folder with `__init__.py`, or as many folders as the file's relative imports go up.
    """
    imports = [node for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, ast.ImportFrom)]
    wanted = max((node.level for node in imports), default=0)
    names: list[str] = []
    folder = file.parent
    while folder.name and (len(names) < wanted or (folder / "__init__.py").exists()):
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(names)


def _of_file(file: Path) -> ModuleType:
    """The module in a file, which may import its neighbours, also by their place in its package."""
    # Of a file that is edited while we look, Python's cache may be older than it seems; and a folder of kernels stays clean.
    sys.dont_write_bytecode = True
    root, package = _package_of(file)
    sys.path.insert(0, str(file.parent))
    if package:
        sys.path.insert(0, str(root))
        name = f"{package}.{file.stem}"
        module = importlib.import_module(name)
        found = getattr(module, "__file__", None)
        if found is None or not file.samefile(found):
            raise ImportError(f"{name} is {found} here, and not {file}: another package has its name")
        return module
    name = file.stem if file.stem not in sys.modules else f"{file.stem}_of_file"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A resolved entry point: the function as users call it, and the module in which it is written."""

    entry: Callable[..., Any]
    source: ModuleType

    @staticmethod
    @functools.cache
    def resolve(entry_point: str) -> Kernel:
        """Imports `package.module:function`, or the function of a file, `/folder/file.py:function`."""
        module_name, separator, function_name = entry_point.rpartition(":")
        if not separator:
            raise BadCall(f"entry point {entry_point!r} must be written module:function")
        try:
            module = _of_file(Path(module_name)) if is_file(entry_point) else importlib.import_module(module_name)
            entry = getattr(module, function_name)
        except Exception as error:  # whatever a user's own file raises while it is imported
            raise BadCall(f"no entry point {entry_point}: {type(error).__name__}: {error}") from error
        written_in = inspect.unwrap(entry).__module__
        return Kernel(entry, importlib.import_module(written_in))

    def check_operands(self, names: list[str]) -> None:
        """BadCall unless these are the entry point's leading parameters."""
        parameters = list(inspect.signature(self.entry).parameters)
        if parameters[: len(names)] != names:
            raise BadCall(f"its leading parameters must be {', '.join(names)}; they are {', '.join(parameters)}")

    def keywords(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options to call the entry point with: all but those that are None and that this release doesn't have yet."""
        known = inspect.signature(self.entry).parameters
        return {name: value for name, value in options.items() if value is not None or name in known}

    @property
    def file(self) -> str:
        """Path of the file in which the kernel is written."""
        return inspect.getsourcefile(self.source) or ""

    def validator(self, name: str) -> Callable[..., Any] | None:
        """`static_validate_inputs` or `dynamic_validate_inputs`, where the kernel's module has one."""
        return getattr(self.source, name, None)

    @contextlib.contextmanager
    def static_validation(self, skip: bool) -> Iterator[None]:
        """Makes the entry point's static check a no-op while `skip` holds.

        What was traced with the check must not serve a call without it, nor the other way round, so JAX's caches go.
        """
        original = self.validator("static_validate_inputs")
        if not skip or original is None:
            yield
            return
        jax.clear_caches()
        setattr(self.source, "static_validate_inputs", lambda *_args, **_kwargs: None)
        try:
            yield
        finally:
            setattr(self.source, "static_validate_inputs", original)
            jax.clear_caches()
