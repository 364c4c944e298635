"""Lowering of the real kernel, and the glue around it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import jax
import pytest
from conftest import make_call
from countersign_export import export, glue
from countersign_export.call import BadCall, Call
from countersign_export.generation import DEVICE_KINDS
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib.mlir import ir


def run(calls: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    output = io.StringIO()
    export.run(calls, folder, output)
    return [json.loads(line) for line in output.getvalue().splitlines()]


def test_manifest_names_the_role_of_every_operand(call: dict[str, Any], tmp_path: Path) -> None:
    assert run([call], tmp_path) == [{"index": 0, "status": "ok"}]
    manifest = json.loads((tmp_path / "0" / "manifest.json").read_text())
    roles = [operand["role"] for operand in manifest["operands"]]
    assert roles == ["kv_lens", "page_indices", "cu_q_lens", "constant", "num_seqs", "q", "kv_pages"]
    assert manifest["operands"][3] == {"role": "constant", "values": [0, 0], "dtype": "i32", "shape": [2]}
    assert manifest["outputs"] == [{"dtype": "f32", "shape": [16, 4, 128]}]
    assert manifest["aliases"] == []
    assert manifest["kernel_name"] == "ragged_paged_attention_kernel"
    assert manifest["call"] == call
    assert manifest["packages"]["jax"] == jax.__version__
    assert "body" not in manifest["config"]["custom_call_config"]


def test_text_is_generic_and_keeps_the_kernels_own_lines(call: dict[str, Any], tmp_path: Path) -> None:
    run([call], tmp_path)
    text = (tmp_path / "0" / "kernel.mlir").read_text()
    manifest = json.loads((tmp_path / "0" / "manifest.json").read_text())
    assert '"stable_mosaic.tpu.enqueue_dma"(' in text
    assert f'loc("{manifest["source"]["file"]}":' in text
    assert "prefetch_first_kv_blk" in text


def test_same_call_gives_the_same_bytes(call: dict[str, Any], tmp_path: Path) -> None:
    run([call, make_call(generation="v6e"), call], tmp_path)
    first, third = ((tmp_path / index / "kernel.mlir").read_bytes() for index in ("0", "2"))
    assert first == third


@pytest.mark.parametrize("generation", list(DEVICE_KINDS))
def test_every_generation_lowers_with_the_tuning_tables_blocks(generation: str, tmp_path: Path) -> None:
    tuned = make_call("bf16", 8, 2, generation, num_kv_pages_per_block=None, num_queries_per_block=None)
    assert run([tuned], tmp_path) == [{"index": 0, "status": "ok"}]


def test_one_outcome_a_call_and_a_refusal_hinders_no_other(call: dict[str, Any], tmp_path: Path) -> None:
    refused = make_call(num_kv_pages_per_block=9)
    mistyped = make_call(sm_scale=1.0)
    outcomes = run([refused, mistyped, call], tmp_path)
    assert [outcome["status"] for outcome in outcomes] == ["refused", "error", "ok"]
    assert outcomes[0]["type"] == "ValueError"
    assert outcomes[0]["message"] == "num_kv_pages_per_block=9 must be in range (0, 3]."
    assert "raise ValueError" in Path(inspect_file()).read_text().splitlines()[outcomes[0]["line"] - 1]
    assert "bare float" in outcomes[1]["message"]


def inspect_file() -> str:
    return Call.from_json(make_call()).kernel().file


def test_static_validation_can_be_skipped_and_comes_back(tmp_path: Path) -> None:
    # The check refuses a cap of 0; what the kernel then does with it is for the machine to see.
    refused = make_call(soft_cap={"float": "0.0"})
    skipped = {**refused, "skip_static_validation": True}
    outcomes = run([refused, skipped, refused], tmp_path)
    assert [outcome["status"] for outcome in outcomes] == ["refused", "ok", "refused"]


def test_limit_is_in_the_manifest(tmp_path: Path) -> None:
    run([make_call(vmem_limit_bytes=1 << 20)], tmp_path)
    assert json.loads((tmp_path / "0" / "manifest.json").read_text())["vmem_limit_bytes"] == 1 << 20


def test_float_options_stay_floats() -> None:
    options = Call.from_json(make_call(sm_scale={"float": "2"}, sliding_window=5)).options
    assert type(options["sm_scale"]) is float
    assert type(options["sliding_window"]) is int


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entry_point": "os.path"}, "module:function"),
        ({"entry_point": "jax.no_such_module:f"}, "no entry point"),
        ({"operands": [{"name": "kv_pages", "dtype": "f32", "shape": [1]}]}, "leading parameters must be"),
        ({"operands": [{"name": "q", "dtype": "f33", "shape": [1]}]}, "unknown element type"),
    ],
)
def test_bad_requests_say_what_is_wrong(call: dict[str, Any], change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadCall, match=message):
        Call.from_json({**call, **change}).kernel()


def find(text: str) -> glue.CustomCall:
    context = jax_mlir.make_ir_context()
    with context:
        return glue.find_custom_call(ir.Module.parse(text))


T = "tensor<2x3xf32>"
LAYOUT = "dense<[1, 0]> : tensor<2xindex>"
CALL = 'stablehlo.custom_call @tpu_custom_call(%a, %b) {backend_config = "{}", kernel_name = "k"'


def main_of(body: str, returned: str = "%r", more: str = "") -> str:
    return f"func.func public @main(%a: {T}, %b: {T}) -> {T} {{ {body}\n return {returned} : {T} }} {more}"


def test_arguments_are_followed_through_calls() -> None:
    inner = f"func.func private @f(%b: {T}, %a: {T}) -> {T} {{ %r = {CALL}}} : ({T}, {T}) -> {T}\n return %r : {T} }}"
    found = find(main_of(f"%r = func.call @f(%a, %b) : ({T}, {T}) -> {T}", more=inner))
    assert found.operands == (glue.Argument(1), glue.Argument(0))
    assert found.operand_types == (glue.Tensor("f32", (2, 3)),) * 2
    assert found.kernel_name == "k"


def test_aliases_name_output_and_operand() -> None:
    alias = "#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>"
    found = find(main_of(f"%r = {CALL}, output_operand_aliases = [{alias}]}} : ({T}, {T}) -> {T}"))
    assert found.aliases == (glue.Alias(output=0, operand=1),)


@pytest.mark.parametrize(
    ("module", "what"),
    [
        (main_of("", "%a"), "no tpu_custom_call"),
        (main_of(f"%r = stablehlo.add %a, %b : {T}"), "stablehlo.add"),
        (main_of(f"%r = stablehlo.constant dense<1.0> : {T}"), f"stablehlo.constant of {T}"),
        (main_of(f"%r = stablehlo.custom_call @Sharding(%a) : ({T}) -> {T}"), "custom_call @Sharding"),
        (main_of(f"%r = {CALL}}} : ({T}, {T}) -> {T}\n %s = {CALL}}} : ({T}, {T}) -> {T}"), "a second custom_call"),
        (main_of(f"%r = {CALL}}} : ({T}, {T}) -> {T}", "%a"), "main does not return the kernel's results in their order"),
        (
            main_of(
                f"%r = {CALL}, operand_layouts = [{LAYOUT}, dense<[0, 1]> : tensor<2xindex>],"
                f" result_layouts = [{LAYOUT}]}} : ({T}, {T}) -> {T}"
            ),
            "layout [0, 1]",
        ),
    ],
)
def test_glue_that_computes_is_named(module: str, what: str) -> None:
    with pytest.raises(glue.UnsupportedGlue) as raised:
        find(module)
    assert str(raised.value) == f"unsupported glue: {what}"


def test_lines_and_lists_of_calls_read_alike() -> None:
    assert export.read_calls('[{"a": 1}, {"a": 2}]') == export.read_calls('{"a": 1}\n\n{"a": 2}\n')
