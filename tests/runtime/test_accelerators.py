"""Real TPU and CUDA programs, compiled on a machine that has neither."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.target_name import parse_target
from contract_lint.hlo_tools.capture import Capture, read_capture
from contract_lint.hlo_tools.collectives import collectives
from contract_lint.hlo_tools.memory import memory
from contract_lint.hlo_tools.messages import out_of_memory
from contract_lint.runtime.launch import run_child
from contract_lint.runtime.request import ChildRequest, ChildResult, MeshRequest, StepRequest
from contract_lint.runtime.targets.readiness import readiness

from .conftest import HERE, child_request

TIMEOUT = 500
SOURCE = (HERE / "accelerator_steps.py").read_text().splitlines()
TPU, CUDA = "tpu:v5e:2x4", "cuda:h100:1x8"


def needs(platform: str) -> None:
    found = readiness(platform)
    if not found.ready:
        pytest.skip(f"{found.missing}; {found.help}")


def request_for(out: Path, target: str, names: list[str], mesh: MeshRequest | None, **changes: Any) -> ChildRequest:
    steps = [StepRequest(name=name, entry=f"accelerator_steps:{name}", path=[str(HERE)]) for name in names]
    return child_request(out, [], target=target).model_copy(update={"steps": steps, "mesh": mesh} | changes)


def compiled(out: Path, target: str, names: list[str], mesh: MeshRequest | None, **changes: Any) -> Capture:
    result = run_child(request_for(out, target, names, mesh, **changes), timeout=TIMEOUT)
    assert result.error is None, result.error
    return read_capture(out)


@pytest.mark.parametrize("target", [TPU, CUDA])
def test_a_small_step_is_captured_like_on_the_cpu(tmp_path: Path, target: str) -> None:
    """Partitioned and optimised program, proto with its buffers, memory figures, warnings of the partitioner."""
    needs(target.partition(":")[0])
    out = tmp_path / "capture"
    request = child_request(out, ["linear", "rematerialized"], target=target)
    result = run_child(request, timeout=TIMEOUT)
    assert result.error is None, result.error
    found = read_capture(out)
    provenance, mesh = found.manifest.provenance, found.manifest.mesh
    assert (provenance.target, provenance.effort, found.manifest.devices) == (target, "fast", 8)
    assert mesh is not None and sorted(mesh.device_ids) == list(range(8))
    step = found.steps["linear"]
    assert step.facts.error is None and step.facts.jaxpr is not None
    assert step.partitioned is not None and collectives(step.partitioned, mesh).rows
    assert step.optimized is not None and collectives(step.optimized, mesh).rows
    ledger, sums = memory(step.proto, facts=step.facts), step.facts.memory
    assert sums is not None and ledger.method == "heap-trace"
    assert ledger.argument_bytes == sums.argument_bytes
    warnings = found.steps["rematerialized"].facts.warnings
    assert [warning.kind for warning in warnings] == ["involuntary-rematerialization"]
    assert warnings[0].frames and warnings[0].frames[0].path == "small_steps.py"
    assert (provenance.libtpu is not None) or target == CUDA


@pytest.mark.parametrize("target", [TPU, CUDA])
def test_code_that_takes_no_mesh(tmp_path: Path, target: str) -> None:
    needs(target.partition(":")[0])
    found = compiled(tmp_path / "capture", target, ["bare", "asks_for_devices"], None)
    for name, devices in (("bare", 1), ("asks_for_devices", 8)):
        module = found.steps[name].optimized
        assert module is not None and module.num_partitions == devices
        assert found.steps[name].proto is not None, "compiled for another platform than asked"
    text = gzip.decompress((tmp_path / "capture" / "bare" / "optimized.hlo.txt.gz").read_bytes()).decode()
    assert (":T(8,128)" in text) == (target == TPU)


@pytest.mark.parametrize("target", [TPU, CUDA])
def test_a_step_that_calls_the_host_compiles(tmp_path: Path, target: str) -> None:
    """The calls stay in the program: a described device has nobody to answer them, and needs nobody."""
    needs(target.partition(":")[0])
    step = compiled(tmp_path / "capture", target, ["calls_the_host"], MeshRequest(axes={"data": 8})).steps[
        "calls_the_host"
    ]
    assert step.facts.error is None and step.facts.jaxpr is not None and step.optimized is not None
    assert sorted(each.primitive for each in step.facts.jaxpr.callbacks) == [
        "debug_print",
        "io_callback",
        "pure_callback",
    ]
    opcodes = [instruction.opcode for instruction in step.optimized.instructions()]
    assert opcodes.count("custom-call" if target == CUDA else "send") >= 3


@pytest.mark.parametrize("target", [TPU, CUDA])
@pytest.mark.parametrize(("name", "mark"), [("puts_a_value", "put"), ("computes_a_value", "computed")])
def test_a_value_on_a_device_that_is_only_described(tmp_path: Path, target: str, name: str, mark: str) -> None:
    needs(target.partition(":")[0])
    mesh = MeshRequest(axes={"data": 8})
    failure = run_child(request_for(tmp_path / "bad", target, [name], mesh), timeout=TIMEOUT).failure
    assert failure is not None and failure.line is not None, failure
    assert SOURCE[failure.line - 1].endswith(f"# at: {mark}")
    assert failure.message.startswith(
        f"`accelerator_steps:{name}` makes a value on a device of the target, which is only"
    )
    assert failure.help is not None and "jax.eval_shape" in failure.help and 'jax.devices("cpu")' in failure.help
    assert "Executable" not in failure.message and "UNIMPLEMENTED" not in failure.message


def test_shapes_for_the_step_and_values_on_the_host(tmp_path: Path) -> None:
    needs("cuda")
    found = compiled(tmp_path / "good", CUDA, ["computes_on_the_host"], MeshRequest(axes={"data": 8}))
    assert found.steps["computes_on_the_host"].facts.error is None


def test_two_slices(tmp_path: Path) -> None:
    """The data-centre axis is the slice's; within a slice neighbours are neighbours."""
    needs("tpu")
    mesh = MeshRequest(axes={"data": 4, "fsdp": 2}, dcn={"data": 2})
    found = compiled(tmp_path / "capture", "tpu:v5e:2x2:slices=2", ["replicated"], mesh).manifest.mesh
    assert found is not None and found.dcn == {"data": 2}
    assert [device // 100000 for device in found.device_ids] == [1, 1, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("target", "axes", "dcn", "sentence"),
    [
        ("tpu:v5e:2x2:slices=2", {"data": 8}, {}, "has 2 slices, which the mesh's data-centre axes (none) do not make"),
        (TPU, {"data": 8}, {"data": 2}, "has 1 slices"),
        ("cuda:h100:2x4", {"data": 8}, {"data": 4}, "has 2 hosts"),
    ],
)
def test_machines_that_do_not_fit(
    tmp_path: Path, target: str, axes: dict[str, int], dcn: dict[str, int], sentence: str
) -> None:
    needs(target.partition(":")[0])
    result = run_child(
        request_for(tmp_path / "capture", target, ["replicated"], MeshRequest(axes=axes, dcn=dcn)), timeout=TIMEOUT
    )
    assert result.error is not None and sentence in result.error


def test_two_at_once(tmp_path: Path) -> None:
    """Neither waits for the other's lock file, nor leaves anything in the temporary folder."""
    needs("tpu")
    requests = [request_for(tmp_path / name, TPU, ["replicated"], MeshRequest(axes={"data": 8})) for name in "ab"]
    with ThreadPoolExecutor(2) as pool:
        results: list[ChildResult] = list(pool.map(lambda request: run_child(request, timeout=TIMEOUT), requests))
    assert [result.error for result in results] == [None, None]
    one, two = (gzip.decompress((tmp_path / n / "replicated" / "optimized.hlo.txt.gz").read_bytes()) for n in "ab")
    assert one == two


def test_out_of_memory_keeps_what_did_not_fit(tmp_path: Path) -> None:
    needs("tpu")
    found = compiled(tmp_path / "capture", "tpu:v5e:2x2", ["too_large"], MeshRequest(axes={"data": 4}))
    step = found.steps["too_large"]
    error = step.facts.error
    assert error is not None and (error.kind, error.phase) == ("out-of-memory", "compile")
    said = out_of_memory(error.message)
    assert said is not None and said.needed_bytes > said.available_bytes
    assert step.partitioned is not None and step.optimized is None and step.facts.memory is None
    ledger = memory(step.proto, facts=step.facts)
    assert abs(ledger.need_bytes - said.needed_bytes) < said.needed_bytes / 100
    line = next(number for number, text in enumerate(SOURCE, 1) if text.endswith("# at: layer"))
    assert f"accelerator_steps.py:{line}" in [source for source, _ in ledger.by_source[:2]]
    assert next(iter(ledger.by_class)) == "activation_saved"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "devices", "kind"),
    [
        ("tpu:v4:2x2x1", 4, "TPU v4"),
        ("tpu:v5p:2x2x1", 4, "TPU v5"),
        ("tpu:v6e:2x2", 4, "TPU v6 lite"),
        ("tpu:7x:2x2x1", 8, "TPU7x"),
        ("tpu:v5e:1x1", 1, "TPU v5 lite"),
        ("cuda:a100:1x8", 8, "NVIDIA A100-SXM4-80GB"),
        ("cuda:h200:2x4", 8, "NVIDIA H200"),
        ("cuda:b200:1x8", 8, "NVIDIA B200"),
    ],
)
def test_every_kind_compiles(tmp_path: Path, target: str, devices: int, kind: str) -> None:
    needs(target.partition(":")[0])
    found = compiled(tmp_path / "capture", target, ["replicated"], MeshRequest(axes={"data": devices}))
    assert (found.manifest.devices, found.manifest.device_kind) == (devices, kind)
    assert found.steps["replicated"].optimized is not None and found.steps["replicated"].proto is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["replicated", "calls_the_host"])
def test_full_effort_is_another_program_with_the_same_arguments_and_outputs(tmp_path: Path, name: str) -> None:
    """Only temporaries and code may differ: that is all a fast figure leaves open."""
    needs("tpu")
    mesh = MeshRequest(axes={"data": 8})
    fast, full = (compiled(tmp_path / effort, TPU, [name], mesh, effort=effort) for effort in ("fast", "full"))
    assert full.manifest.provenance.effort == "full"
    one, two = (memory(made.steps[name].proto, facts=made.steps[name].facts) for made in (fast, full))
    assert one.standing_bytes == two.standing_bytes > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "target",
    ["tpu:v2:2x2", "tpu:v3:2x2", "tpu:v4:2x2x1", "tpu:v5e:2x2", "tpu:v5p:2x2x1", "tpu:v6e:2x2", "tpu:7x:2x2x1"],
)
def test_a_device_gives_what_the_table_says(tmp_path: Path, target: str) -> None:
    """The compiler's own sentence where it refuses a program; all kinds are there."""
    needs("tpu")
    kind = parse_target(target).kind
    mesh = MeshRequest(axes={"data": parse_target(target).devices})
    request = request_for(tmp_path / "capture", target, ["too_large"], mesh)
    request.steps[0].args["rows"] = 1 << 20
    assert run_child(request, timeout=TIMEOUT).error is None
    error = read_capture(tmp_path / "capture").steps["too_large"].facts.error
    said = out_of_memory(error.message) if error is not None else None
    assert said is not None and said.available_bytes == kind.program_bytes


def test_the_cpu_takes_2048_devices_without_running(tmp_path: Path) -> None:
    mesh = MeshRequest(axes={"data": 256, "fsdp": 8})
    request = request_for(tmp_path / "capture", "cpu:2048", ["replicated"], mesh)
    request.steps[0].args["rows"] = 2048
    result = run_child(request, timeout=TIMEOUT)
    assert result.error is None, result.error
    found = read_capture(tmp_path / "capture")
    module = found.steps["replicated"].partitioned
    assert module is not None and module.num_partitions == 2048
    assert found.steps["replicated"].run is None
