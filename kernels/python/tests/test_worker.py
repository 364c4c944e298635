"""The worker on the real validators, and on JAX's interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import make_batch, make_call
from countersign_export import arrays, interpreter, worker
from jax.experimental.pallas.ops.tpu.ragged_paged_attention import ref_ragged_paged_attention

Batch = dict[str, np.ndarray]
PAYLOAD = ("q", "kv_pages")


def encode(batch: Batch) -> dict[str, str]:
    return {name: arrays.encode(array)["data"] for name, array in batch.items()}


def ask(kind: str, **request: Any) -> dict[str, Any]:
    answer = worker.answer(json.dumps({"id": 7, "kind": kind, **request}))
    json.dumps(answer, allow_nan=False)
    assert answer["id"] == 7
    return answer


def validate(call: dict[str, Any], batch: Batch) -> dict[str, Any]:
    return ask("validate", call=call, values=encode({name: batch[name] for name in batch if name not in PAYLOAD}))


def test_clean_batch_is_accepted_by_both_checks(call: dict[str, Any], batch: Batch) -> None:
    answer = validate(call, batch)
    assert (answer["static"], answer["dynamic"]) == ({"verdict": "accepts"}, {"verdict": "accepts"})


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    [
        ("num_seqs", 0, 5, "must be less or equal to max_num_seqs=4"),
        ("kv_lens", 1, 25, "pages_per_seq=3 must be greater"),
        ("cu_q_lens", 2, 17, "Total q tokens 17"),
        ("cu_q_lens", 1, 0, None),
        ("kv_lens", 0, 2, "at sequence 0"),
    ],
)
def test_dynamic_check_by_check(call: dict[str, Any], batch: Batch, name: str, index: int, value: int, message: str | None) -> None:
    batch[name][index] = value
    verdict = validate(call, batch)["dynamic"]
    if message is None:  # an empty sequence passes
        assert verdict == {"verdict": "accepts"}
        return
    assert verdict["verdict"] == "refuses"
    assert message in verdict["message"]
    file = Path(worker.Call.from_json(call).kernel().file)
    assert "raise ValueError" in file.read_text().splitlines()[verdict["line"] - 1]


def test_static_check_on_overridden_shapes(call: dict[str, Any]) -> None:
    call["operands"][5]["shape"] = [2]
    answer = ask("validate", call=call, values={})
    assert answer["dynamic"] is None
    assert answer["static"]["verdict"] == "refuses"
    assert answer["static"]["message"] == "num_seqs.shape=(2,) must be (1,)"


def test_a_bare_assert_is_a_crash_not_a_refusal(call: dict[str, Any]) -> None:
    call["options"]["k_scale"] = 1  # not a float
    verdict = ask("validate", call=call, values={})["static"]
    assert (verdict["verdict"], verdict["type"], verdict["message"]) == ("crashes", "AssertionError", "")


def test_trace(call: dict[str, Any]) -> None:
    assert ask("trace", call=call)["outcome"] == "lowers"
    call["operands"][1]["shape"][3] = 64
    answer = ask("trace", call=call)
    assert (answer["outcome"], answer["type"], answer["deliberate"]) == ("refused", "ValueError", True)
    assert answer["message"] == "Q head_dim 128 must be the same as that of K/V 64."


def test_what_jax_refuses_while_lowering_has_the_line_of_the_operation(call: dict[str, Any]) -> None:
    call["operands"][1]["dtype"] = "u32"
    answer = ask("trace", call=call)
    assert (answer["outcome"], answer["deliberate"]) == ("refused", False)
    source = Path(worker.Call.from_json(call).kernel().file).read_text().splitlines()
    assert answer["line"] is not None and source[answer["line"] - 1].strip()


def test_a_call_that_lowers_with_glue_that_we_do_not_run_lowers(call: dict[str, Any]) -> None:
    call["operands"][5]["dtype"] = "i1"  # JAX converts it to int32 outside the kernel
    assert ask("trace", call=call)["outcome"] == "lowers"


def interpret(call: dict[str, Any], batch: Batch, **options: Any) -> dict[str, Any]:
    return ask("interpret", call=call, values=encode(batch), **options)


def output_of(answer: dict[str, Any]) -> np.ndarray:
    (output,) = answer["outputs"]
    return arrays.decode(output["dtype"], output["shape"], output["data"]).astype(np.float32)


def f32_tolerance(q: np.ndarray, kv: np.ndarray) -> float:
    """How far two f32 evaluations of attention may lie apart, whatever the order of their sums, which depends on the CPU.

    A score is a sum of `head_dim` products, so each side errs by eta, gamma times the sum of their magnitudes; the output then
    errs by sum p expm1(eta) |v - o| / (1 - sum p (1 - exp(-eta))), at most expm1(eta) exp(eta) times the largest |v - o|.
    """
    unit = (q.shape[-1] + 4) * 2.0**-24
    norms = np.linalg.norm(q, axis=-1).max() * np.linalg.norm(kv, axis=-1).max()  # Cauchy-Schwarz
    eta = unit / (1 - unit) * norms
    return float(2 * np.expm1(eta) * np.exp(eta) * 2 * np.abs(kv).max())


@pytest.mark.parametrize(("dtype", "heads", "tolerance"), [("f32", (4, 4), None), ("bf16", (8, 2), 2e-2)])
def test_interpreter_agrees_with_the_reference_on_owned_rows(dtype: str, heads: tuple[int, int], tolerance: float | None) -> None:
    call = make_call(dtype, *heads)
    batch = make_batch(call)
    answer = interpret(call, batch)
    output = output_of(answer)
    arguments = [jnp.asarray(np.nan_to_num(batch[name].astype(np.float32))) for name in PAYLOAD]
    metadata = [jnp.asarray(batch[name]) for name in ("kv_lens", "page_indices", "cu_q_lens")]
    expected = np.asarray(ref_ragged_paged_attention(*arguments, *metadata, num_seqs=jnp.asarray(batch["num_seqs"])))
    assert answer["race"] is None
    assert output.shape == (16, heads[0], 128)
    tolerance = tolerance or f32_tolerance(*(np.asarray(argument) for argument in arguments))
    assert tolerance < 0.05  # far below what a wrong row would differ by
    np.testing.assert_allclose(output[:8], expected, atol=tolerance, rtol=0)


def test_races_are_looked_for_on_request(call: dict[str, Any], batch: Batch) -> None:
    assert interpret(call, batch, detect_races=True)["race"] is False


def test_a_tpu_is_only_asked_where_there_is_one(call: dict[str, Any], batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    devices = ask("devices")
    assert (devices["platform"], devices["tpus"]) == ("cpu", [])
    refused = ask("execute", call=call, values=encode(batch))
    assert (refused["ok"], "sees no TPU" in refused["error"]) == (False, True)
    # With the interpreter in the TPU's place, the same way through gives the same bits.
    monkeypatch.setattr(worker, "_tpus", lambda: jax.devices("cpu"))
    with interpreter.interpreted(detect_races=False, dma="on_wait"):
        executed = ask("execute", call=call, values=encode(batch))
    assert (executed["outcome"], executed["race"]) == ("ran", None)
    np.testing.assert_array_equal(output_of(executed)[:8], output_of(interpret(call, batch))[:8])


def test_a_failed_run_leaves_nothing_behind(call: dict[str, Any], batch: Batch) -> None:
    before = interpret(call, batch)["outputs"]
    broken = {**batch, "page_indices": batch["page_indices"] + 100}
    failed = interpret(call, broken)
    assert (failed["outcome"], failed["type"]) == ("raised", "IndexError")
    assert "Out-of-bounds read" in failed["message"]
    assert interpret(call, batch)["outputs"] == before


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"kind": "sing"}, "unknown kind"),
        ({"kind": "validate", "call": {}}, "malformed call"),
        ({"kind": "validate", "call": make_call(), "values": {"kv_lens": "AAAA"}}, "3 bytes for i32"),
        ({"kind": "validate", "call": make_call(), "values": {"nonsense": ""}}, "unknown operands"),
        ({"kind": "interpret", "call": make_call(), "values": {}}, "no values for q"),
    ],
)
def test_bad_requests_are_answered(request_: dict[str, Any], error: str) -> None:
    answer = worker.answer(json.dumps({"id": 1, **request_}))
    assert answer["ok"] is False
    assert error in answer["error"]


def test_process_keeps_its_standard_output_clean_and_ends_with_its_input(call: dict[str, Any]) -> None:
    lines = [json.dumps({"id": 1, "kind": "hello"}), "not json", json.dumps({"id": 2, "kind": "trace", "call": call})]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-m", "countersign_export", "worker"]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, env=environment, timeout=120)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert [(answer["id"], answer["ok"]) for answer in answers] == [(1, True), (None, False), (2, True)]


def test_the_kernels_own_reference_runs_and_is_timed(call: dict[str, Any], batch: Batch) -> None:
    answer = ask("reference", call=call, values=encode(batch), function="ref_ragged_paged_attention")
    assert answer["outcome"] == "ran"
    assert answer["seconds"] > 0
    known = {option: value for option, value in worker.Call.from_json(call).options.items() if "per_block" not in option}
    expected = ref_ragged_paged_attention(*(jnp.asarray(batch[operand["name"]]) for operand in call["operands"]), **known)
    (output,) = answer["outputs"]
    np.testing.assert_array_equal(arrays.decode(output["dtype"], output["shape"], output["data"]), np.asarray(expected))


def test_an_unknown_reference_is_a_bad_request(call: dict[str, Any], batch: Batch) -> None:
    answer = ask("reference", call=call, values=encode(batch), function="nothing")
    assert not answer["ok"]
    assert "nothing" in answer["error"]
