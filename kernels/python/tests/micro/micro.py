"""A micro kernel: a function that calls Pallas, and how its operands are drawn. Lowered, interpreted and written as data."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax._src.lib.mlir import ir
from jax.experimental import pallas as pl

from countersign_export import arrays, generation, interpreter, lowering
from countersign_export.glue import Argument, Constant, find_custom_call

from micro.values import Values


@dataclasses.dataclass(frozen=True)
class Operand:
    """An array operand: element type, shape, and how its values are drawn."""

    dtype: str
    shape: tuple[int, ...]
    values: Values

    def draw(self, generator: np.random.Generator) -> np.ndarray:
        """An array of drawn values."""
        drawn = np.ascontiguousarray(self.values(generator, self.shape))
        assert drawn.dtype == arrays.dtype_of(self.dtype), f"{drawn.dtype} drawn for {self.dtype}"
        return drawn


@dataclasses.dataclass(frozen=True)
class Micro:
    """One kernel: `body` gets references to the operands, the outputs and the scratch, in that order.

    `differs`: the lowered kernel means something else than JAX's own semantics, for this reason, on every element.
    `unsupported`: Pallas lowers it, the VM refuses it by this op's name; it isn't run.
    `refused`: Pallas refuses to lower it, with these words in its message.
    """

    name: str
    body: Callable[..., None]
    operands: Sequence[Operand]
    outputs: Sequence[tuple[str, tuple[int, ...]]]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    differs: str | None = None
    unsupported: str | None = None
    refused: str | None = None
    generation: str = "v6e"

    def __call__(self, *operands: Any) -> Any:
        """The kernel's outputs."""
        shapes = [jax.ShapeDtypeStruct(shape, arrays.dtype_of(dtype)) for dtype, shape in self.outputs]
        return pl.pallas_call(self.body, out_shape=shapes, **self.options)(*operands)


# One output: what the references to the operands give, its element type and shape.
Part = tuple[Callable[..., Any], str, tuple[int, ...]]


def parts(name: str, operands: Sequence[Operand], outputs: Sequence[Part], **options: Any) -> Micro:
    """Several results of the same operands, an output each: one kernel is quicker to interpret than many."""

    def body(*refs: Any) -> None:
        for (function, _, _), ref in zip(outputs, refs[len(operands) :], strict=True):
            ref[...] = function(*refs[: len(operands)])

    return Micro(name, body, operands, [(dtype, shape) for _, dtype, shape in outputs], **options)


def read(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of what the references hold."""
    return lambda *refs: function(*(ref[...] for ref in refs))


def generator(seed: int, name: str) -> np.random.Generator:
    """A stream of its own for each kernel, whichever others there are."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def write(micro: Micro, folder: Path, seed: int, runs: int) -> dict[str, Any]:
    """Writes `kernel.mlir`, `case.json` and, if it can be run, `data.bin`; returns how it went."""
    line = {"name": micro.name, "outcome": "ran", "reason": micro.differs or ""}
    try:
        with generation.abstract_device(micro.generation):
            abstract = [jax.ShapeDtypeStruct(operand.shape, arrays.dtype_of(operand.dtype)) for operand in micro.operands]
            traced = jax.jit(micro.__call__, keep_unused=True).trace(*abstract)
            module = traced.lower(lowering_platforms=("tpu",)).compiler_ir("stablehlo")
    except Exception as error:  # Pallas says why
        if micro.refused is not None and micro.refused in str(error):
            return line | {"outcome": "refused", "reason": micro.refused}
        return line | {"outcome": "failed", "reason": f"lowering: {type(error).__name__}: {error}"}
    if micro.refused is not None:
        return line | {"outcome": "failed", "reason": f"it lowers, although Pallas once said: {micro.refused}"}
    with module.context:
        custom_call = find_custom_call(module)
    body = base64.b64decode(custom_call.backend_config["custom_call_config"]["body"])
    case = {
        "runs": 0 if micro.unsupported else runs,
        "arguments": [{"dtype": operand.dtype, "shape": list(operand.shape)} for operand in micro.operands],
        "outputs": [{"dtype": tensor.dtype, "shape": list(tensor.shape)} for tensor in custom_call.result_types],
        "operands": [
            _source(value, tensor) for value, tensor in zip(custom_call.operands, custom_call.operand_types, strict=True)
        ],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.mlir").write_text(lowering.print_generic(body), encoding="utf-8", newline="\n")
    (folder / "case.json").write_text(json.dumps(case), encoding="utf-8")
    if micro.unsupported is not None:
        return line | {"outcome": "unsupported", "reason": micro.unsupported}
    try:
        (folder / "data.bin").write_bytes(_interpreted(micro, generator(seed, micro.name), runs))
    except Exception as error:  # whatever the interpreter raises
        raised = interpreter.describe(error)
        return line | {"outcome": "failed", "reason": f"interpreter: {raised['type']}: {raised['message']}"}
    return line


def _interpreted(micro: Micro, stream: np.random.Generator, runs: int) -> bytes:
    """Operands and the interpreter's outputs, run after run."""
    function = jax.jit(micro.__call__)
    data = bytearray()
    for _ in range(runs):
        operands = [operand.draw(stream) for operand in micro.operands]
        with interpreter.interpreted(detect_races=False, dma="on_wait"):
            outputs = [np.asarray(output) for output in jax.tree.leaves(function(*operands))]
        for array in operands + outputs:
            data += base64.b64decode(arrays.encode(array)["data"])
    return bytes(data)


def _source(value: Any, tensor: Any) -> dict[str, Any]:
    match value:
        case Argument(index):
            return {"argument": index}
        case Constant(values):
            return {"constant": list(values), "shape": list(tensor.shape)}
    raise ValueError(f"a kernel operand that is {value}")
