"""What a capture says about steps whose answers are known."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from pathlib import Path

import pytest
from contract_lint.contracts.manifest import Leaf, Manifest
from contract_lint.hlo_tools.capture import read_capture

from .conftest import REJECTED, Captured, line_at

ROOT = Path(__file__).resolve().parents[2]


def leaf(leaves: list[Leaf], argument: str, path: str) -> Leaf:
    return next(row for row in leaves if (row.argument, row.path) == (argument, path))


def test_every_file_is_listed_with_its_digest(captured: Captured) -> None:
    manifest = Manifest.model_validate(captured.manifest)
    files = {p.relative_to(captured.folder).as_posix() for p in captured.folder.rglob("*") if p.is_file()}
    assert files == {*manifest.files, "manifest.json"}
    for name, digest in manifest.files.items():
        assert hashlib.sha256((captured.folder / name).read_bytes()).hexdigest() == digest
    assert {f"linear/{name}" for name in _FILES} <= files
    assert manifest.mesh is not None
    assert manifest.mesh.axes == {"data": 2, "fsdp": 4}
    assert manifest.mesh.device_ids == list(range(8))
    assert manifest.provenance.jax
    assert manifest.provenance.source_digest


_FILES = (
    "facts.json", "jaxpr.txt.gz", "stablehlo.mlir.gz", "partitioned.hlo.txt.gz", "optimized.hlo.txt.gz",
    "optimized.hlo.pb.gz", "stderr.txt",
)  # fmt: skip


def test_the_reader_takes_it_as_it_is(captured: Captured) -> None:
    steps = read_capture(captured.folder).steps
    assert {name for name, step in steps.items() if step.facts.error is not None} == set(REJECTED)
    assert steps["linear"].partitioned is not None and steps["linear"].proto is not None
    assert steps["ambiguous"].partitioned is None


def test_no_file_names_the_machine(captured: Captured) -> None:
    for path in captured.folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            text = gzip.decompress(data) if path.suffix == ".gz" else data
            assert not any(os.fsencode(folder) + b"/" in text for folder in (ROOT, Path.home())), path
            assert b"runtime/worker.py" not in text, path


def test_arguments_have_the_compiled_placement(captured: Captured) -> None:
    facts = captured.facts("linear")
    weight = leaf(facts.arguments, "state", "w")
    assert (weight.spec, weight.local_shape, weight.bytes) == ([["fsdp"], []], [16, 256], 16 * 256 * 4)
    assert weight.donated and weight.aliased
    batch = leaf(facts.arguments, "batch", "x")
    assert batch.spec == batch.asked == [["data", "fsdp"], []]
    assert not batch.donated and not batch.aliased
    dropped = leaf(facts.arguments, "unused", "")
    assert dropped.parameter is None and dropped.spec is None
    assert [row.parameter for row in facts.arguments if row.parameter is not None] == [0, 1, 2]
    assert [row.path for row in facts.outputs] == ["0/b", "0/w", "1/loss"]
    assert facts.donate == ["state"] and facts.carry == {"0": "state"}
    assert facts.argument_names == ["state", "batch", "unused"]
    assert facts.fn_frame is not None and facts.fn_frame.line == line_at("linear")
    assert facts.memory is not None
    assert facts.memory.argument_bytes == sum(row.bytes or 0 for row in facts.arguments)


def test_programs_carry_relative_frames(captured: Captured) -> None:
    text = gzip.decompress((captured.folder / "linear" / "partitioned.hlo.txt.gz").read_bytes()).decode()
    assert '"small_steps.py"' in text
    assert "all-reduce" in text


def test_jaxpr_facts(captured: Captured) -> None:
    facts = captured.facts("everything")
    jaxpr = facts.jaxpr
    assert jaxpr is not None
    found = {(c.primitive, c.loop_depth): c.frames[0].line for c in jaxpr.callbacks}
    assert found == {
        ("debug_print", 0): line_at("print"),
        ("debug_callback", 1): line_at("callback"),
        ("io_callback", 0): line_at("io"),
    } or found.keys() == {("debug_callback", 0), ("debug_callback", 1), ("io_callback", 0)}
    assert [(c.shape, c.bytes, c.frames[0].line) for c in jaxpr.constants] == [([64, 1024], 262144, line_at("table"))]
    assert [(loop.primitive, loop.length, loop.depth) for loop in jaxpr.loops] == [("scan", 4, 0)]
    assert jaxpr.loops[0].frames[0].line == line_at("scan")
    assert [(r.loop_depth, r.frames[0].line) for r in jaxpr.remats] == [(1, line_at("remat"))]
    # Four layers that feed each other; the three products side by side are no loop.
    assert [r.copies for r in jaxpr.repeats] == [4]
    assert any(frame.line == line_at("unrolled") for frame in jaxpr.repeats[0].frames)
    psum = [use for use in jaxpr.axis_uses if use.primitive.startswith("psum")]
    assert [(use.axes, use.frames[0].line) for use in psum] == [(["data"], line_at("psum"))]
    assert sum(dot.count for dot in jaxpr.dots) == 4 + 3 + 1 + 1
    assert jaxpr.dynamic_shapes == []
    assert facts.static == {"mode": "str"}
    # The token of the ordered callback comes first among the program's parameters.
    assert [(row.argument, row.parameter) for row in facts.arguments] == [("x", 1), ("weights", 2), ("key", 3)]
    assert leaf(facts.arguments, "key", "").bytes == 8


def test_jitted_step_with_static_position(captured: Captured) -> None:
    facts = captured.facts("jitted")
    assert facts.static == {"scale": "3"}
    assert facts.donate == ["x"]
    assert [(row.argument, row.spec) for row in facts.arguments] == [("x", [["fsdp"], []]), ("shift", [[], ["data"]])]


def test_flax_module_under_nnx_jit(captured: Captured) -> None:
    facts = captured.facts("module")
    paths = {f"{row.argument}:{row.path}" for row in facts.arguments}
    assert {"model:kernel", "model:bias", "optimizer:opt_state/0/mu/kernel", "optimizer:step", "x:"} <= paths
    assert facts.donate == ["model", "optimizer"]
    assert all(row.aliased for row in facts.arguments if row.argument in ("model", "optimizer"))
    assert "model/kernel" in {row.path for row in facts.outputs}


def test_abstract_mesh_becomes_concrete(captured: Captured) -> None:
    assert captured.facts("abstract_mesh").arguments[0].spec == [[], ["fsdp"]]
    assert captured.facts("abstract_mesh").error is None


def test_step_with_its_own_mesh(captured: Captured) -> None:
    assert captured.facts("own_mesh").arguments[0].spec == [["x"], []]


def test_placement_left_to_the_compiler(captured: Captured) -> None:
    facts = captured.facts("compiler_chooses")
    assert facts.arguments[0].asked is None
    assert facts.outputs[0].spec == [[], ["fsdp", "data"]]
    assert facts.outputs[0].local_shape == [16, 4]


def test_signatures_are_counted_by_program(captured: Captured) -> None:
    first, other, again, uneven = captured.facts("signed").signatures
    assert first.program == again.program != other.program
    assert other.difference is not None and "[16, 16]" in other.difference
    assert first.difference is None
    assert uneven.program.startswith("error:") or uneven.program not in (first.program, other.program)


def test_involuntary_rematerialization_has_its_line(captured: Captured) -> None:
    (warning,) = captured.facts("rematerialized").warnings
    assert warning.kind == "involuntary-rematerialization"
    assert warning.frames[0].path == "small_steps.py"
    assert warning.frames[0].line == line_at("rematerialized")
    text = (captured.folder / "rematerialized" / "stderr.txt").read_text()
    assert "Involuntary" in text and not re.search(r"^[WE]\d{4} ", text, re.M)


def test_unusable_donation_is_a_warning(captured: Captured) -> None:
    (warning,) = captured.facts("unusable_donation").warnings
    assert warning.kind == "donation-unusable" and "float32[4]" in warning.message
    assert warning.frames[0].line == line_at("unusable")


@pytest.mark.parametrize("name", REJECTED)
def test_rejected_steps_name_the_users_line(captured: Captured, name: str) -> None:
    facts = captured.facts(name)
    kind, phase = REJECTED[name]
    assert facts.error is not None
    assert (facts.error.kind, facts.error.phase) == (kind, phase), facts.error
    assert facts.error.frames and all(frame.path == "small_steps.py" for frame in facts.error.frames)
    assert facts.error.message and f"{ROOT}/" not in facts.error.message
    if name != "unknown_axis":
        assert facts.error.frames[0].line == line_at(name)


def test_indivisible_argument_is_named(captured: Captured) -> None:
    error = captured.facts("indivisible").error
    assert error is not None
    assert error.message.startswith("dimension 0 of `batch/x` has size 7")


def test_progress_has_every_phase_once(captured: Captured) -> None:
    assert [line for line in captured.progress if line.startswith("linear:")] == [
        "linear: import", "linear: build", "linear: trace", "linear: lower", "linear: compile", "linear: read",
    ]  # fmt: skip
