"""Exports calls: per call one folder with `kernel.mlir` and `manifest.json`, and one JSON line with the outcome.

A call that doesn't lower is an outcome (`refused`, with the exception's type and message), never a crash.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any, TextIO

from countersign_export import failure, identity, wire
from countersign_export.call import Call
from countersign_export.glue import Argument, Constant, Tensor, UnsupportedGlue, Value
from countersign_export.lowering import Lowered, Refused, lower


def read_calls(text: str) -> list[dict[str, Any]]:
    """A JSON list, or one JSON document a line."""
    if text.lstrip().startswith("["):
        return json.loads(text)
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def run(calls: list[dict[str, Any]], out: Path, output: TextIO) -> None:
    """Exports each call into `out/<index>/`, writing `{index, status, …}` as soon as it is done."""
    for index, document in enumerate(calls):
        wire.write_line(output, {"index": index, **export_one(document, out / str(index))})


def export_one(document: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Status `ok`, `refused` (by the kernel or by what surrounds it) or `error` (ours, or the disk's)."""
    try:
        call = Call.from_json(document)
        lowered = lower(call)
        description = manifest(document, call, lowered)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kernel.mlir").write_text(lowered.mlir, encoding="utf-8", newline="\n")
        (folder / "manifest.json").write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8", newline="\n")
    except Refused as refusal:
        return {"status": "refused", **failure.describe(refusal.cause, call.kernel().file)}
    except UnsupportedGlue as error:
        return {"status": "refused", "type": "UnsupportedGlue", "message": str(error), "line": None}
    except Exception as error:  # one bad call must not take the others with it
        traceback.print_exc(file=sys.stderr)
        return {"status": "error", "type": type(error).__name__, "message": str(error), "line": None}
    return {"status": "ok"}


def manifest(document: dict[str, Any], call: Call, lowered: Lowered) -> dict[str, Any]:
    """What a machine needs to run the module: operands in order with their roles, outputs, aliases, and provenance."""
    custom_call = lowered.custom_call
    config = {key: value for key, value in custom_call.backend_config.items() if key != "custom_call_config"}
    inner = dict(custom_call.backend_config["custom_call_config"])
    del inner["body"]
    config["custom_call_config"] = inner
    return {
        "version": 1,
        "call": document,
        "kernel_name": custom_call.kernel_name,
        "operands": [
            {**_role(value, call), **_type(tensor)}
            for value, tensor in zip(custom_call.operands, custom_call.operand_types, strict=True)
        ],
        "outputs": [_type(tensor) for tensor in custom_call.result_types],
        "aliases": [{"output": alias.output, "operand": alias.operand} for alias in custom_call.aliases],
        "config": config,
        "vmem_limit_bytes": _vmem_limit(config),
        **identity.versions(),
        "source": identity.sources(call.entry_point)["source"],
    }


def _type(tensor: Tensor) -> dict[str, Any]:
    return {"dtype": tensor.dtype, "shape": list(tensor.shape)}


def _role(value: Value, call: Call) -> dict[str, Any]:
    match value:
        case Argument(index):
            return {"role": call.operands[index].name}
        case Constant(values):
            return {"role": "constant", "values": list(values)}
        case _:
            raise UnsupportedGlue("the kernel's own result as its operand")


def _vmem_limit(config: dict[str, Any]) -> int | None:
    for memory in config.get("scoped_memory_configs", []):
        if memory.get("memory_space") == 1:
            return int(memory["size"])
    return None
