"""Compiles a call ahead of time with the TPU's own compiler, on a machine without a TPU.

The compiler is libtpu's: an optional part of the environment, found on the path where the worker was started with it. Never
imported by anything else, so that no lowering depends on whether it is there.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from typing import Any

TOPOLOGIES: dict[str, str] = {"v4": "v4:2x2x1", "v5e": "v5e:2x2", "v5p": "v5p:2x2x1", "v6e": "v6e:2x2", "v7x": "tpu7x:2x2x1"}
UNITS: dict[str, int] = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

# How the compiler says that a memory is too small: for what is placed before the kernel runs, its own stack, the program around it.
ALLOCATION = re.compile(r"Allocation \(size=(?P<asked>\d+)\) would exceed memory \(size=(?P<limit>\d+)\).*?space=(?P<space>\w+)", re.DOTALL)
STACK = re.compile(
    r"memory space (?P<space>\w+) .*?allocation with size (?P<asked>[\d.]+[KMG]?) and limit (?P<limit>[\d.]+[KMG]?) ", re.DOTALL
)

PROGRAM = re.compile(
    r"out of memory on (?P<space>HBM), .*?\((?P<asked>[\d.]+[KMG]?)\) exceeds available HBM \((?P<limit>[\d.]+[KMG]?)\)", re.DOTALL
)


def find_compiler() -> None:
    """Puts the folder that COUNTERSIGN_LIBTPU names on the path. Nothing may look for a TPU or ask a cloud about one."""
    folder = os.environ.get("COUNTERSIGN_LIBTPU")
    if not folder:
        return
    sys.path.append(folder)
    os.environ.update(
        TPU_SKIP_MDS_QUERY="1",
        TPU_WORKER_HOSTNAMES="localhost",
        TPU_ACCELERATOR_TYPE="v5litepod-4",
        TPU_LOG_DIR="disabled",
        TPU_MIN_LOG_LEVEL="3",
        ALLOW_MULTIPLE_LIBTPU_LOAD="1",  # several processes compile at once
    )


def compile_call(call: Any) -> dict[str, Any]:
    """`compiled` with sizes in bytes, or `refused`, by `lowering` or by the `compiler`."""
    import jax
    import numpy as np
    from jax._src import mesh as mesh_lib
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from countersign_export import failure, generation

    kernel = call.kernel()
    generation.device_kind(call.generation)
    mesh = Mesh(np.array(_devices(call.generation)[:1]), ("x",))
    placed = functools.partial(jax.ShapeDtypeStruct, sharding=NamedSharding(mesh, PartitionSpec()))
    operands = [placed(shaped.shape, shaped.dtype) for shaped in (operand.abstract() for operand in call.operands)]
    function = functools.partial(kernel.entry, **kernel.keywords(call.options))
    stage = "lowering"
    with (
        kernel.static_validation(call.skip_static_validation),
        generation.tuning_table(kernel, call.generation),
        mesh_lib.use_abstract_mesh(mesh.abstract_mesh),
    ):
        try:
            lowered = jax.jit(function, keep_unused=True).trace(*operands).lower(lowering_platforms=("tpu",))
            stage = "compiler"
            memory = lowered.compile().memory_analysis()
        except Exception as error:  # a refusal is a result
            return {"outcome": "refused", "by": stage, **failure.describe(error, kernel.file), "overflow": overflow(str(error))}
    return {
        "outcome": "compiled",
        "code_bytes": int(memory.generated_code_size_in_bytes),
        "temporary_bytes": int(memory.temp_size_in_bytes),
    }


@functools.cache
def _devices(generation: str) -> list[Any]:
    from jax.experimental import topologies

    return list(topologies.get_topology_desc(platform="tpu", topology_name=TOPOLOGIES[generation]).devices)


def overflow(message: str) -> dict[str, Any] | None:
    """The memory that was too small, what was asked of it and what it has, in bytes, where the message says so."""
    found = ALLOCATION.search(message) or STACK.search(message) or PROGRAM.search(message)
    if found is None:
        return None
    return {"space": found["space"].lower(), "asked": _bytes(found["asked"]), "limit": _bytes(found["limit"])}


def _bytes(text: str) -> int:
    unit = text[-1] if text[-1] in UNITS else ""
    return int(float(text.removesuffix(unit)) * UNITS[unit])
