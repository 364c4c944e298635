"""Makes JAX, Pallas and a kernel's tuning table believe in one TPU generation, on a machine without a TPU."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

from jax._src import mesh as mesh_lib

from countersign_export.call import BadCall, Kernel

DEVICE_KINDS: dict[str, str] = {"v4": "TPU v4", "v5e": "TPU v5e", "v5p": "TPU v5p", "v6e": "TPU v6e", "v7x": "TPU7x"}
VERSIONS: dict[str, int] = {"v4": 4, "v5e": 5, "v5p": 5, "v6e": 6, "v7x": 7}
# Device kind as a live device of that generation names itself, which is what tuning tables are keyed by.
LIVE_KINDS: dict[str, str] = {"v4": "TPU v4", "v5e": "TPU v5 lite", "v5p": "TPU v5", "v6e": "TPU v6 lite", "v7x": "TPU7x"}


def device_kind(generation: str) -> str:
    """The kind that an abstract device of `generation` names; BadCall for an unknown generation."""
    if generation not in DEVICE_KINDS:
        raise BadCall(f"unknown generation {generation!r}; known: {', '.join(DEVICE_KINDS)}")
    return DEVICE_KINDS[generation]


@contextlib.contextmanager
def abstract_device(generation: str) -> Iterator[None]:
    """An abstract mesh of one device of `generation`, for lowering.

    The device took two arguments up to jax 0.9, and there was none in 0.6, whose lowering asks for no generation.
    """
    kind = device_kind(generation)
    if not hasattr(mesh_lib, "AbstractDevice"):
        yield
        return
    takes_platform = "platform" in inspect.signature(mesh_lib.AbstractDevice).parameters
    device = mesh_lib.AbstractDevice(kind, 1, *(["tpu"] if takes_platform else []))
    mesh = mesh_lib.AbstractMesh((1,), ("x",), (mesh_lib.AxisType.Auto,), abstract_device=device)
    with mesh_lib.use_abstract_mesh(mesh):
        yield


@contextlib.contextmanager
def tuning_table(kernel: Kernel, generation: str) -> Iterator[None]:
    """Lets `get_tpu_version` and `get_device_name` beside the kernel answer for `generation`, not the live device."""
    device_kind(generation)
    # A kernel in a file of its own imports its tuning table from wherever that is.
    beside = {getattr(value, "__module__", None) for value in vars(kernel.source).values()}
    package = kernel.source.__name__.rpartition(".")[0]
    name = " ".join(LIVE_KINDS[generation].split()[:2])

    def get_device_name(num_devices: int | None = None) -> str:
        return name if num_devices is None else f"{name}-{num_devices}"

    answers: dict[str, Callable[..., Any]] = {
        "get_tpu_version": lambda: VERSIONS[generation],
        "get_device_name": get_device_name,
    }
    with contextlib.ExitStack() as stack:
        for module_name, module in list(sys.modules.items()):
            if module_name not in beside and (not package or module_name.rpartition(".")[0] != package):
                continue
            for attribute, answer in answers.items():
                if hasattr(module, attribute):
                    stack.callback(setattr, module, attribute, getattr(module, attribute))
                    setattr(module, attribute, answer)
        yield
