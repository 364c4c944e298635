"""Lowers a call for its TPU generation and prints the kernel's Mosaic module with locations."""

from __future__ import annotations

import base64
import dataclasses
import functools

import jax
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import tpu
from jax._src.lib.mlir import ir

from countersign_export import generation
from countersign_export.call import Call
from countersign_export.glue import CustomCall, UnsupportedGlue, find_custom_call


@dataclasses.dataclass(frozen=True)
class Lowered:
    """A kernel as the TPU compiler would be given it."""

    custom_call: CustomCall
    mlir: str


class Refused(Exception):
    """The entry point, or JAX below it, raised while the call was traced or lowered; `cause` is what it raised."""

    def __init__(self, cause: Exception):
        super().__init__(str(cause))
        self.cause = cause


def lower(call: Call) -> Lowered:
    """Lowers `call` through its real entry point; Refused or UnsupportedGlue where that can't be done."""
    kernel = call.kernel()
    function = functools.partial(kernel.entry, **kernel.keywords(call.options))
    operands = [operand.abstract() for operand in call.operands]
    with (
        kernel.static_validation(call.skip_static_validation),
        generation.tuning_table(kernel, call.generation),
        generation.abstract_device(call.generation),
    ):
        try:
            # keep_unused: argument i of the module's main is operand i of the call.
            lowered = jax.jit(function, keep_unused=True).trace(*operands).lower(lowering_platforms=("tpu",))
        except Exception as error:
            raise Refused(error) from error
    module = lowered.compiler_ir("stablehlo")
    with module.context:
        custom_call = find_custom_call(module)
        arguments = len(ir.SymbolTable(module.operation)["main"].type.inputs)
    if arguments != len(operands):
        raise UnsupportedGlue(f"main has {arguments} arguments for {len(operands)} operands")
    body = custom_call.backend_config.get("custom_call_config", {}).get("body")
    if not isinstance(body, str):
        raise UnsupportedGlue("a custom_call without a Mosaic body")
    return Lowered(custom_call, print_generic(base64.b64decode(body)))


def print_generic(bytecode: bytes) -> str:
    """MLIR bytecode of a Mosaic module as generic-form text with locations."""
    context = jax_mlir.make_ir_context()
    tpu.register_dialect(context)
    context.allow_unregistered_dialects = True
    with context:
        module = ir.Module.parse(bytecode)
        return module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True)
