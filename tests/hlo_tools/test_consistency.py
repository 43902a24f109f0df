"""Facts that were lost or edited: a capture whose digests are in order is still not believed blindly."""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.manifest import Manifest, StepFacts
from contract_lint.hlo_tools.capture import read_capture

HLO = """HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }, num_partitions=8

ENTRY main (w: f32[4,8], x: s32[2]) -> (f32[4,8], s32[2]) {
  %w = f32[4,8]{1,0} parameter(0)
  %x = s32[2]{0} parameter(1)
  ROOT %y = (f32[4,8]{1,0}, s32[2]{0}) tuple(%w, %x)
}
"""


def leaf(argument: str, path: str, shape: list[int], dtype: str, spec: list[list[str]], **more: Any) -> dict[str, Any]:
    return {"argument": argument, "path": path, "shape": shape, "dtype": dtype, "spec": spec, "asked": spec} | more


STATE = leaf(
    "state", "params/w", [8, 8], "float32", [["data"], []], local_shape=[4, 8], bytes=128, donated=True, aliased=True
)
BATCH = leaf("batch", "x", [16], "int32", [["data", "fsdp"]], local_shape=[2], bytes=8)
FACTS: dict[str, Any] = {
    "step": "train",
    "entry": "m:build",
    "argument_names": ["state", "batch"],
    "donate": ["state"],
    "carry": {"0": "state"},
    "arguments": [STATE | {"parameter": 0}, BATCH | {"parameter": 1}],
    "outputs": [leaf("", "0/params/w", [8, 8], "float32", [["data"], []], local_shape=[4, 8], bytes=128)],
    "jaxpr": {"equations": 12},
    "memory": {"argument_bytes": 136, "output_bytes": 136, "alias_bytes": 128, "temp_bytes": 64, "code_bytes": 0},
}
RUN: dict[str, Any] = {"steps": 2, "losses": [1.0, 0.5], "compiles": [{"index": 0, "reason": "first call"}]}
MANIFEST: dict[str, Any] = {
    "schema_version": 1,
    "provenance": {"tool": "0.1.0", "python": "3.11", "contract_digest": "d", "target": "cpu:8"},
    "devices": 8,
    "device_kind": "cpu",
    "mesh": {"axes": {"data": 2, "fsdp": 4}, "device_ids": list(range(8)), "axis_types": ["Auto", "Auto"]},
    "steps": ["train"],
}

Edit = Callable[[dict[str, Any]], Any]


def write(folder: Path, edit: Edit | None = None, without: str = "") -> Path:
    """A capture with all its digests in order, after `edit` of {facts, manifest, run} and without one file."""
    made = copy.deepcopy({"facts": FACTS, "manifest": MANIFEST, "run": RUN})
    if edit is not None:
        edit(made)
    content = {
        "train/facts.json": json.dumps(made["facts"]).encode(),
        "train/run.json": json.dumps(made["run"]).encode(),
        "train/optimized.hlo.txt.gz": gzip.compress(HLO.encode()),
    }
    content.pop(without, None)
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    files = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    (folder / "manifest.json").write_text(json.dumps(made["manifest"] | {"files": files}))
    return folder


def read_all(folder: Path) -> None:
    for step in read_capture(folder).steps.values():
        _ = step.run, step.optimized


def put(document: str, *keys: str | int, value: Any) -> Edit:
    def edit(made: dict[str, Any]) -> None:
        target = made[document]
        for key in keys[:-1]:
            target = target[key]
        target[keys[-1]] = value

    return edit


def error_in(phase: str) -> Edit:
    return lambda made: made["facts"].update(
        error={"kind": "other-trace", "type": "T", "message": "m", "phase": phase}, jaxpr=None, memory=None
    )


def test_the_untouched_capture_is_believed(tmp_path: Path) -> None:
    read_all(write(tmp_path))


FORGED: dict[str, tuple[Edit, str]] = {
    "no jaxpr": (put("facts", "jaxpr", value=None), "`jaxpr` is empty, although the step was traced"),
    "no jaxpr, an error of the compiler": (error_in("compile"), "`jaxpr` is empty, although the step was traced"),
    "negative bytes": (put("facts", "arguments", 0, "bytes", value=-128), "`bytes` says -128"),
    "bytes beyond any memory": (put("facts", "arguments", 0, "bytes", value=1 << 63), "`arguments[0].bytes`"),
    "negative temporaries": (put("facts", "memory", "temp_bytes", value=-1), "`memory.temp_bytes`"),
    "a negative ratio": (
        put(
            "run", "comparisons", value=[{"role": "loss", "path": "", "ratio": -1, "error": 0, "bound": 0, "floor": 0}]
        ),
        "`comparisons[0].ratio`",
    ),
    "negative devices": (put("manifest", "devices", value=-1), "`devices`"),
    "other devices than the target's": (put("manifest", "devices", value=4), "`devices` is 4, target cpu:8 has 8"),
    "a mesh of more devices": (put("manifest", "mesh", "axes", "data", value=4), "has 16 devices, the target 8"),
    "a mesh of fewer devices": (put("manifest", "mesh", "axes", "data", value=1), "names 8"),
    "devices named twice": (put("manifest", "mesh", "device_ids", value=[0] * 8), "names 1"),
    "an axis too few": (put("manifest", "mesh", "axis_types", value=["Auto"]), "`mesh.axis_types` 1"),
    "an axis of nothing": (put("manifest", "mesh", "axes", "data", value=0), "`mesh.axes.data`"),
    "slices of no axis": (put("manifest", "mesh", "dcn", value={"model": 2}), "`mesh.dcn` gives axis model"),
    "another step": (put("facts", "step", value="eval"), "`step` is 'eval'"),
    "a donated argument that is none": (put("facts", "donate", value=["cache"]), "`donate` names 'cache'"),
    "a leaf of no argument": (put("facts", "arguments", 0, "argument", value="cache"), "belongs to 'cache'"),
    "a smaller local shape": (put("facts", "arguments", 0, "local_shape", value=[2, 8]), "`local_shape` says 2"),
    "a finer placement": (
        put("facts", "arguments", 0, "spec", value=[["data", "fsdp"], []]),
        "8 over data, fsdp is 1, `local_shape` says 4",
    ),
    "a placement over no axis": (put("facts", "arguments", 0, "spec", value=[["model"], []]), "no axis of the mesh"),
    "an axis twice": (
        put("facts", "outputs", 0, value=leaf("", "", [4, 4], "int8", [["data"]] * 2, local_shape=[2, 2], bytes=4)),
        "names an axis twice",
    ),
    "a rank too few": (put("facts", "arguments", 0, "spec", value=[["data"]]), "are not of one rank"),
    "fewer bytes": (put("facts", "arguments", 0, "bytes", value=64), "are 128 bytes, `bytes` says 64"),
    "bytes of an output": (put("facts", "outputs", 0, "bytes", value=64), "`outputs[0]`"),
    "no local shape": (put("facts", "arguments", 0, "local_shape", value=None), "`local_shape` does not say how"),
    "smaller sums": (put("facts", "memory", "argument_bytes", value=100), "the arguments take 136 bytes"),
    "more aliased than there is": (put("facts", "memory", "alias_bytes", value=200), "`memory.alias_bytes` is 200"),
    "an argument less": (lambda made: made["facts"]["arguments"].pop(0), "has 2 parameters, `arguments` explain 1"),
    "no argument at all": (put("facts", "arguments", value=[]), "`arguments` explain 0"),
    "two arguments as one": (put("facts", "arguments", 1, "parameter", value=0), "two arguments are one parameter"),
    "a parameter beyond": (
        put("facts", "arguments", 1, "parameter", value=7),
        "has no parameter 7, which batch x should be",
    ),
    "another dtype": (
        lambda made: made["facts"]["arguments"][0].update(dtype="bfloat16", bytes=64),
        "parameter 0 is f32[4,8]{1,0}, state params/w is said to be bfloat16[4, 8]",
    ),
    "not aliased, it says": (put("facts", "arguments", 0, "aliased", value=False), "is aliased with an output in it"),
    "aliased, it says": (put("facts", "arguments", 1, "aliased", value=True), "is not aliased with an output in it"),
    "more losses than steps": (put("run", "steps", value=1), "2 losses of 1 steps"),
    "a loss beyond the steps": (lambda made: made["run"].update(losses=[1.0], not_finite=[7]), "step 7"),
    "no step at all": (put("run", "steps", value=0), "`steps`"),
    "a run without a compile": (put("run", "compiles", value=[]), "`compiles` holds not even its first"),
    "one step twice": (put("manifest", "steps", value=["train", "train"]), "lists step `train` twice"),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_fact_is_refused_with_its_place(tmp_path: Path, case: str) -> None:
    edit, words = FORGED[case]
    with pytest.raises(ContractLintError) as caught:
        read_all(write(tmp_path, edit))
    assert words in caught.value.message
    assert caught.value.location is not None and caught.value.location.path.endswith(".json")


def test_a_program_that_was_taken_away_is_missed(tmp_path: Path) -> None:
    with pytest.raises(ContractLintError, match="although the step was compiled"):
        read_all(write(tmp_path, without="train/optimized.hlo.txt.gz"))


def test_an_error_of_the_trace_needs_no_later_fact(tmp_path: Path) -> None:
    capture = read_capture(write(tmp_path, error_in("trace"), without="train/optimized.hlo.txt.gz"))
    assert capture.steps["train"].facts.error is not None


def test_a_step_may_have_a_mesh_of_its_own(tmp_path: Path) -> None:
    own = {"axes": {"model": 4}, "device_ids": [0, 1, 2, 3]}
    split = leaf("state", "w", [16, 8], "float32", [["model"], []], local_shape=[4, 8], bytes=128, parameter=0)

    def edit(made: dict[str, Any]) -> None:
        made["facts"].update(mesh=own, arguments=[split], outputs=[])

    assert (mesh := read_capture(write(tmp_path, edit)).steps["train"].mesh) is not None
    assert mesh.axes == {"model": 4}


def test_random_keys_and_small_integers_are_not_measured_by_their_names(tmp_path: Path) -> None:
    key = leaf("state", "rng", [2], "key<fry>", [[]], local_shape=[2], bytes=16)
    packed = leaf("state", "quantised", [8], "int4", [[]], local_shape=[8], bytes=8)
    read_capture(write(tmp_path, put("facts", "outputs", value=[key, packed])))


def test_code_that_the_backend_does_not_count_is_no_negative_size(tmp_path: Path) -> None:
    read_capture(write(tmp_path, put("facts", "memory", "code_bytes", value=-1)))


def test_the_models_write_what_they_read() -> None:
    assert StepFacts.model_validate_json(StepFacts(**FACTS).model_dump_json()) == StepFacts(**FACTS)
    manifest = Manifest(**MANIFEST, files={})
    assert Manifest.model_validate_json(manifest.model_dump_json()) == manifest
