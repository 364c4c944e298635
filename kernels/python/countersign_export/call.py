"""A call of a kernel as data: entry point, generation, operands and options. Nothing here knows attention.

JSON form, in which a float is never mistaken for an integer:

    {"entry_point": "package.module:function", "generation": "v5e", "skip_static_validation": false,
     "operands": [{"name": "q", "dtype": "f32", "shape": [8, 4, 128]}, ...],
     "options": {"sm_scale": {"float": "1.0"}, "sliding_window": 5, "soft_cap": null, ...}}
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
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
        names = [operand.name for operand in self.operands]
        parameters = list(inspect.signature(kernel.entry).parameters)
        if parameters[: len(names)] != names:
            raise BadCall(f"operands {names} are not the leading parameters of {self.entry_point}: {parameters}")
        return kernel


def _option(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) != {"float"}:
            raise ValueError(f"option {value!r} is neither a plain value nor {{'float': text}}")
        return float(value["float"])
    if isinstance(value, float):
        raise ValueError(f"a bare float {value!r} may have lost its type on the way; write {{'float': text}}")
    return value


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A resolved entry point: the function as users call it, and the module in which it is written."""

    entry: Callable[..., Any]
    source: ModuleType

    @staticmethod
    @functools.cache
    def resolve(entry_point: str) -> Kernel:
        """Imports `package.module:function`."""
        module_name, separator, function_name = entry_point.partition(":")
        if not separator:
            raise BadCall(f"entry point {entry_point!r} must be written module:function")
        try:
            entry = getattr(importlib.import_module(module_name), function_name)
        except (ImportError, AttributeError) as error:
            raise BadCall(f"no entry point {entry_point}: {error}") from error
        written_in = inspect.unwrap(entry).__module__
        return Kernel(entry, importlib.import_module(written_in))

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
