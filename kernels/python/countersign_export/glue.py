"""Follows values through the StableHLO around a kernel: which argument or constant reaches which operand.

Only plain passing is understood: calls of private functions, constants, one `tpu_custom_call`, and returns. Anything
else raises `UnsupportedGlue`, so that a kernel is never run with operands that we merely guessed.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from jax._src.lib.mlir import ir

MLIR_DTYPES: dict[str, str] = {
    "f32": "f32",
    "bf16": "bf16",
    "f16": "f16",
    "f8E4M3FN": "f8e4m3fn",
    "f8E5M2": "f8e5m2",
    "i32": "i32",
    "i16": "i16",
    "i8": "i8",
    "i4": "i4",
}


class UnsupportedGlue(Exception):
    """The module does more around the kernel than pass values on."""

    def __init__(self, what: str):
        super().__init__(f"unsupported glue: {what}")


@dataclasses.dataclass(frozen=True)
class Argument:
    """Argument `index` of `main`."""

    index: int


@dataclasses.dataclass(frozen=True)
class Constant:
    """An integer tensor written in the module, row-major."""

    values: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Result:
    """Result `index` of the custom call."""

    index: int


Value = Argument | Constant | Result


@dataclasses.dataclass(frozen=True)
class Tensor:
    """Element type (our name) and shape."""

    dtype: str
    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Alias:
    """Output `output` shares the buffer of custom-call operand `operand`."""

    output: int
    operand: int


@dataclasses.dataclass(frozen=True)
class CustomCall:
    """The one kernel call of a module."""

    kernel_name: str
    backend_config: dict[str, Any]
    operands: tuple[Value, ...]
    operand_types: tuple[Tensor, ...]
    result_types: tuple[Tensor, ...]
    aliases: tuple[Alias, ...]


def find_custom_call(module: ir.Module) -> CustomCall:
    """The module's only `tpu_custom_call`, its operands traced back to arguments of `main` and constants."""
    walk = _Walk(module)
    main = walk.functions.get("main")
    if main is None:
        raise UnsupportedGlue("no function main")
    arguments: list[Value] = [Argument(index) for index in range(len(main.regions[0].blocks[0].arguments))]
    returned = walk.run(main, arguments)
    if walk.found is None:
        raise UnsupportedGlue("no tpu_custom_call")
    if returned != [Result(index) for index in range(len(walk.found.result_types))]:
        raise UnsupportedGlue("main does not return the kernel's results in their order")
    return walk.found


class _Walk:
    def __init__(self, module: ir.Module):
        self.found: CustomCall | None = None
        self.functions: dict[str, ir.Operation] = {}
        for operation in (op.operation for op in module.body.operations):
            if operation.name != "func.func":
                raise UnsupportedGlue(operation.name)
            self.functions[ir.StringAttr(operation.attributes["sym_name"]).value] = operation

    def run(self, function: ir.Operation, arguments: Sequence[Value]) -> list[Value]:
        """The values that `function` returns when given `arguments`."""
        if len(function.regions[0].blocks) != 1:
            raise UnsupportedGlue("control flow between blocks")
        block = function.regions[0].blocks[0]
        values: dict[ir.Value, Value] = dict(zip(block.arguments, arguments, strict=True))
        for operation in (op.operation for op in block.operations):
            operands = [values[operand] for operand in operation.operands]
            if operation.name == "func.return":
                return operands
            values.update(zip(operation.results, self.step(operation, operands), strict=True))
        raise UnsupportedGlue("a function without a return")

    def step(self, operation: ir.Operation, operands: list[Value]) -> list[Value]:
        """The results of one operation."""
        match operation.name:
            case "func.call":
                callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
                return self.run(self.functions[callee], operands)
            case "stablehlo.constant":
                return [_constant(operation)]
            case "stablehlo.custom_call":
                if self.found is not None:
                    raise UnsupportedGlue("a second custom_call")
                self.found = _custom_call(operation, operands)
                return [Result(index) for index in range(len(operation.results))]
            case name:
                raise UnsupportedGlue(name)


def _tensor(mlir_type: ir.Type) -> Tensor:
    if not isinstance(mlir_type, ir.RankedTensorType):
        raise UnsupportedGlue(f"a value of type {mlir_type}")
    element = str(mlir_type.element_type)
    if element not in MLIR_DTYPES:
        raise UnsupportedGlue(f"element type {element}")
    return Tensor(MLIR_DTYPES[element], tuple(mlir_type.shape))


def _constant(operation: ir.Operation) -> Constant:
    attribute = operation.attributes["value"]
    try:
        elements = ir.DenseIntElementsAttr(attribute)
    except ValueError as error:
        raise UnsupportedGlue(f"stablehlo.constant of {operation.results[0].type}") from error
    return Constant(tuple(int(value) for value in elements))


def _custom_call(operation: ir.Operation, operands: list[Value]) -> CustomCall:
    attributes = {named.name: named.attr for named in _named(operation)}
    target = ir.StringAttr(attributes["call_target_name"]).value
    if target != "tpu_custom_call":
        raise UnsupportedGlue(f"custom_call @{target}")
    operand_types = tuple(_tensor(value.type) for value in operation.operands)
    result_types = tuple(_tensor(value.type) for value in operation.results)
    for key, types in (("operand_layouts", operand_types), ("result_layouts", result_types)):
        if key in attributes:
            _check_row_major(attributes[key], types)
    name = attributes.get("kernel_name")
    return CustomCall(
        kernel_name=ir.StringAttr(name).value if name is not None else "",
        backend_config=json.loads(ir.StringAttr(attributes["backend_config"]).value),
        operands=tuple(operands),
        operand_types=operand_types,
        result_types=result_types,
        aliases=tuple(_alias(alias, len(result_types)) for alias in _array(attributes.get("output_operand_aliases"))),
    )


def _named(operation: ir.Operation) -> list[ir.NamedAttribute]:
    return [operation.attributes[index] for index in range(len(operation.attributes))]


def _array(attribute: ir.Attribute | None) -> list[ir.Attribute]:
    return list(ir.ArrayAttr(attribute)) if attribute is not None else []


def _check_row_major(layouts: ir.Attribute, types: Sequence[Tensor]) -> None:
    for layout, tensor in zip(_array(layouts), types, strict=True):
        minor_to_major = [int(dimension) for dimension in ir.DenseIntElementsAttr(layout)]
        if minor_to_major != list(reversed(range(len(tensor.shape)))):
            raise UnsupportedGlue(f"layout {minor_to_major}")


def _alias(attribute: ir.Attribute, outputs: int) -> Alias:
    from jax._src.lib.mlir.dialects import hlo

    alias = hlo.OutputOperandAlias(attribute)
    output_indices = list(alias.output_tuple_indices)
    if list(alias.operand_tuple_indices) or len(output_indices) > 1 or (not output_indices and outputs != 1):
        raise UnsupportedGlue(f"alias {attribute}")
    return Alias(output_indices[0] if output_indices else 0, int(alias.operand_index))
