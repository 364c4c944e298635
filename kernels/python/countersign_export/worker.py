"""A persistent process that answers questions about real calls, one JSON line each.

Requests are `{"id", "kind", …}`; every answer carries the request's id and `ok`. Kinds:

    hello                                → versions
    validate  {call, values}             → {static: verdict, dynamic: verdict | null}
    trace     {call}                     → {outcome: lowers | refused, …}
    interpret {call, values, detect_races, dma} → {outcome: ran | raised, outputs, race, seconds}
    reference {call, values, function} → {outcome: ran | raised, outputs, race: null, seconds}
    devices                              → {platform, tpus: name of each}, of a worker that was started with --any-platform
    execute   {call, values}             → {outcome: ran | raised, outputs, race: null, seconds}, on the first of these TPUs
    compile   {call}                     → {outcome: compiled | refused, …}, of a worker that was started with libtpu

`values` maps operand names to base64 bytes, typed by the call. `{"ok": false, "error"}` means that the request was wrong
or that we failed; nothing a kernel or validator does ends the process.
"""

from __future__ import annotations

import inspect
import json
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, TextIO

from countersign_export import compiler

compiler.find_compiler()  # before jax is imported

import jax
import jax.numpy as jnp
import numpy as np

from countersign_export import arrays, failure, generation, identity, wire
from countersign_export.call import BadCall, Call, Kernel
from countersign_export.glue import UnsupportedGlue
from countersign_export.lowering import Refused, lower

Answer = dict[str, Any]


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answers requests until their stream ends. Ctrl-C is for the parent, which ends us by closing the stream."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in requests:
        if line.strip():
            wire.write_line(answers, answer(line))


def answer(line: str) -> Answer:
    """The answer to one request line."""
    identifier: Any = None
    try:
        request = json.loads(line)
        identifier = request["id"]
        kind = request["kind"]
        if kind not in KINDS:
            raise BadCall(f"unknown kind of request {kind!r}")
        return {"id": identifier, "ok": True, **KINDS[kind](request)}
    except Exception as error:  # the process outlives every request
        traceback.print_exc(file=sys.stderr)
        return {"id": identifier, "ok": False, "error": f"{type(error).__name__}: {error}"}


def hello(_request: Answer) -> Answer:
    """Versions of Python and of the packages."""
    return identity.versions()


def validate(request: Answer) -> Answer:
    """The static check's verdict, and where it accepts, the dynamic check's."""
    call, kernel = _call(request)
    values = _values(call, request.get("values", {}))
    # Operands without values stay abstract, as the static check meets them when a caller traces the kernel.
    operands = [
        jnp.asarray(values[operand.name]) if operand.name in values else operand.abstract() for operand in call.operands
    ]
    static = _verdict(kernel, "static_validate_inputs", operands, call)
    accepted = static["verdict"] == "accepts"
    dynamic = _verdict(kernel, "dynamic_validate_inputs", operands, call) if accepted else None
    return {"static": static, "dynamic": dynamic}


def trace(request: Answer) -> Answer:
    """Whether the entry point lowers for the call's generation: whether the VM could take it is another question."""
    call, kernel = _call(request)
    _fresh_caches(call)
    try:
        lower(call)
    except Refused as refusal:
        return {"outcome": "refused", **failure.describe(refusal.cause, kernel.file)}
    except UnsupportedGlue:
        pass
    return {"outcome": "lowers"}


def interpret(request: Answer) -> Answer:
    """The kernel's outputs on JAX's interpreter, or what it raised; `race` is null unless asked for."""
    try:
        from countersign_export import interpreter
    except (ImportError, AttributeError) as error:  # other releases keep it elsewhere, or can't import it
        raise BadCall(f"the interpreter of jax {jax.__version__} can't be used: {error}") from error
    call, kernel = _call(request)
    operands = _operands(call, request)
    detect_races = bool(request.get("detect_races", False))
    _fresh_caches(call)
    start = time.perf_counter()
    try:
        with (
            kernel.static_validation(call.skip_static_validation),
            generation.tuning_table(kernel, call.generation),
            interpreter.interpreted(detect_races, request.get("dma", "on_wait")),
        ):
            outputs = [np.asarray(output) for output in jax.tree.leaves(kernel.entry(*operands, **kernel.keywords(call.options)))]
            race = interpreter.races_found() if detect_races else None
    except Exception as error:  # whatever the kernel or the interpreter raises is the outcome
        return {"outcome": "raised", **failure.describe(error, kernel.file), **interpreter.describe(error)}
    return _ran(outputs, race, start)


def reference(request: Answer) -> Answer:
    """The outputs of the kernel's own reference, a function of its module called `function`, or what it raised."""
    call, kernel = _call(request)
    operands = _operands(call, request)
    function = getattr(kernel.source, request["function"], None)
    if function is None:
        raise BadCall(f"{kernel.source.__name__} has no {request['function']}")
    start = time.perf_counter()
    try:
        outputs = [np.asarray(output) for output in jax.tree.leaves(function(*operands, **_known(function, call)))]
    except Exception as error:  # what it raises is the outcome
        return {"outcome": "raised", **failure.describe(error, kernel.file)}
    return _ran(outputs, None, start)


def devices(_request: Answer) -> Answer:
    """What JAX sees here: its default platform, and the TPUs."""
    return {"platform": jax.default_backend(), "tpus": [device.device_kind for device in _tpus()]}


def execute(request: Answer) -> Answer:
    """The kernel's outputs on a TPU, or what it raised there."""
    call, kernel = _call(request)
    tpus = _tpus()
    if not tpus:
        raise BadCall(f"jax {jax.__version__} sees no TPU")
    start = time.perf_counter()
    try:
        with jax.default_device(tpus[0]), kernel.static_validation(call.skip_static_validation):
            operands = [jax.device_put(operand, tpus[0]) for operand in _operands(call, request)]
            outputs = [np.asarray(output) for output in jax.tree.leaves(kernel.entry(*operands, **kernel.keywords(call.options)))]
    except BadCall:
        raise
    except Exception as error:  # whatever the kernel or the device raises is the outcome
        return {"outcome": "raised", **failure.describe(error, kernel.file)}
    return _ran(outputs, None, start)


def compile_call(request: Answer) -> Answer:
    """What the TPU compiler makes of the call."""
    call, _kernel = _call(request)
    _fresh_caches(call)
    return compiler.compile_call(call)


KINDS: dict[str, Callable[[Answer], Answer]] = {
    "hello": hello,
    "validate": validate,
    "trace": trace,
    "interpret": interpret,
    "reference": reference,
    "compile": compile_call,
    "devices": devices,
    "execute": execute,
}


def _tpus() -> list[jax.Device]:
    try:
        return jax.devices("tpu")
    except RuntimeError:  # there is no such platform
        return []


def _ran(outputs: list[np.ndarray], race: bool | None, start: float) -> Answer:
    seconds = time.perf_counter() - start
    return {"outcome": "ran", "outputs": [arrays.encode(output) for output in outputs], "race": race, "seconds": seconds}


def _call(request: Answer) -> tuple[Call, Kernel]:
    call = Call.from_json(request["call"])
    return call, call.kernel()


def _operands(call: Call, request: Answer) -> list[jax.Array]:
    values = _values(call, request["values"])
    missing = [operand.name for operand in call.operands if operand.name not in values]
    if missing:
        raise BadCall(f"no values for {', '.join(missing)}")
    return [jnp.asarray(values[operand.name]) for operand in call.operands]


def _known(function: Callable[..., Any], call: Call) -> dict[str, Any]:
    """The call's options that `function` takes."""
    known = inspect.signature(function).parameters
    return {option: value for option, value in call.options.items() if option in known}


def _values(call: Call, encoded: dict[str, str]) -> dict[str, np.ndarray]:
    known = {operand.name: operand for operand in call.operands}
    unknown = sorted(set(encoded) - set(known))
    if unknown:
        raise BadCall(f"values for unknown operands {unknown}")
    return {name: arrays.decode(known[name].dtype, list(known[name].shape), data) for name, data in encoded.items()}


def _verdict(kernel: Kernel, name: str, operands: list[Any], call: Call) -> Answer:
    check = kernel.validator(name)
    if check is None:
        raise BadCall(f"{kernel.source.__name__} has no {name}")
    try:
        check(*operands, **_known(check, call))
    except Exception as error:  # what a validator raises is its verdict
        verdict = "refuses" if failure.is_deliberate(error, kernel.file) else "crashes"
        return {"verdict": verdict, **failure.describe(error, kernel.file)}
    return {"verdict": "accepts"}


_traced_for: list[str] = []


def _fresh_caches(call: Call) -> None:
    """JAX's caches don't know that a tuning table's answers changed, so they go when the generation does."""
    if _traced_for != [call.generation]:
        jax.clear_caches()
        _traced_for[:] = [call.generation]
