"""Programs for two TPU slices: what the ledgers say is what the compiler's own protos say, read here byte by byte.

An axis lies across the slices as the outer one, as the inner one, and in part from either side. The reader below shares
no code with the tool: it knows the wire format and the field numbers of XLA's `hlo.proto`, and nothing else.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.hlo_tools.canonical import canonical, explain
from contract_lint.hlo_tools.capture import Capture, read_capture
from contract_lint.hlo_tools.collectives import collectives
from contract_lint.runtime.launch import run_child
from contract_lint.runtime.request import MeshRequest, StepRequest
from contract_lint.runtime.targets.readiness import readiness

from .conftest import HERE, child_request
from .two_slice_steps import COLUMNS, ROWS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not readiness("tpu").ready, reason="no libtpu")]
TARGET, SLICES, DCN = "tpu:v5e:2x2:slices=2", 2, {"data": 2}
MESHES = {
    "outer": {"data": 2, "fsdp": 4},
    "inner": {"fsdp": 4, "data": 2},
    "outer in part": {"data": 4, "fsdp": 2},
    "inner in part": {"fsdp": 2, "data": 4},
}
KINDS = {
    "gather": "all-gather",
    "reduce": "all-reduce",
    "scatter": "reduce-scatter",
    "exchange": "all-to-all",
}
INSIDE = ("all-gather", "all-reduce", "reduce-scatter", "all-to-all")

# hlo.proto and xla_data.proto of XLA.
MODULE, COMPUTATION, INSTRUCTION = 1, 3, 2
OPCODE, SHAPE, OLD_GROUPS, DEVICE_LIST = 2, 3, 49, 87
DIMENSIONS, TUPLE_SHAPES = 3, 4
GROUPS, IOTA, MEMBERS = 1, 2, 1


@dataclass(frozen=True)
class Read:
    """One instruction: its opcode, the elements of each array in its result, and its groups."""

    opcode: str
    elements: tuple[int, ...]
    groups: frozenset[frozenset[int]]


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Field numbers and values of a message: integers, and bytes for everything with a length."""
    at = 0

    def integer() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = integer()
        kind = key & 7
        if kind == 0:
            yield key >> 3, integer()
            continue
        size = integer() if kind == 2 else {1: 8, 5: 4}[kind]
        yield key >> 3, data[at : at + size]
        at += size


def of(data: bytes, number: int) -> list[Any]:
    return [value for key, value in fields(data) if key == number]


def packed(data: bytes) -> list[int]:
    """Integers one behind the other, as a repeated field holds them."""
    found, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            found.append(value)
            value = shift = 0
    return found


def arrays(shape: bytes) -> list[int]:
    """Elements of the array a shape is, or of those in its tuple."""
    inner = of(shape, TUPLE_SHAPES)
    if inner:
        return [size for each in inner for size in arrays(each)]
    return [prod(dimension for each in of(shape, DIMENSIONS) for dimension in packed(each))]


def groups(instruction: bytes) -> frozenset[frozenset[int]]:
    listed = of(instruction, OLD_GROUPS)
    for devices in of(instruction, DEVICE_LIST):
        assert not of(devices, IOTA), "a listed form was expected of so few devices"
        listed += of(devices, GROUPS)
    return frozenset(frozenset(member for each in of(group, MEMBERS) for member in packed(each)) for group in listed)


def read(proto: bytes) -> list[Read]:
    (module,) = of(proto, MODULE)
    return [
        Read(of(each, OPCODE)[0].decode(), tuple(arrays(of(each, SHAPE)[0])), groups(each))
        for computation in of(module, COMPUTATION)
        for each in of(computation, INSTRUCTION)
    ]


@pytest.fixture(scope="module", params=MESHES)
def captured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Capture:
    out = tmp_path_factory.mktemp("two") / "capture"
    steps = [StepRequest(name=name, entry=f"two_slice_steps:{name}", path=[str(HERE)]) for name in KINDS]
    mesh = MeshRequest(axes=MESHES[request.param], dcn=DCN)
    asked = child_request(out, [], target=TARGET).model_copy(update={"steps": steps, "mesh": mesh})
    result = run_child(asked, timeout=300)
    assert result.error is None, result.error
    return read_capture(out)


def mesh_of(capture: Capture) -> MeshFact:
    mesh = capture.manifest.mesh
    assert mesh is not None and mesh.dcn == DCN
    return mesh


def along(mesh: MeshFact, axis: str) -> set[frozenset[int]]:
    """The partitions that differ in one axis only."""
    numbers = np.arange(prod(mesh.axes.values())).reshape(tuple(mesh.axes.values()))
    rows = np.moveaxis(numbers, list(mesh.axes).index(axis), -1).reshape(-1, mesh.axes[axis])
    return {frozenset(row.tolist()) for row in rows}


def of_slices(mesh: MeshFact) -> list[list[int]]:
    """The partitions of each slice, in order: libtpu numbers the devices of one slice by a hundred thousand."""
    return [
        [partition for partition, device in enumerate(mesh.device_ids) if device // 100_000 == number]
        for number in range(1, SLICES + 1)
    ]


@pytest.mark.parametrize("name", KINDS)
def test_what_was_asked_for(captured: Capture, name: str) -> None:
    mesh, module = mesh_of(captured), captured.steps[name].partitioned
    assert module is not None
    (row,) = canonical(module, mesh).rows
    whole = ROWS * COLUMNS
    size = whole // mesh.axes["data"] if name == "exchange" else whole
    assert (row.kind, row.axes, row.count, row.elements) == (KINDS[name], ("data",), 1, size)
    assert {frozenset(group) for group in row.groups} == along(mesh, "data")
    assert row.between_slices


@pytest.mark.parametrize("name", KINDS)
def test_what_runs_is_what_the_proto_says(captured: Capture, name: str) -> None:
    mesh, step = mesh_of(captured), captured.steps[name]
    assert step.optimized is not None and step.partitioned is not None
    instructions = read(gzip.decompress((captured.root / name / "optimized.hlo.pb.gz").read_bytes()))
    printed = collectives(step.optimized, mesh)

    # Across the slices: the arrays that leave, beside the transfer's context and token.
    leaving = Counter(each.elements[0] for each in instructions if each.opcode == "send")
    across = [row for row in printed.rows if row.between_slices]
    assert leaving and Counter(row.elements for row in across) == leaving

    # Inside: a program numbers the devices of its own slice, in the order of their partitions.
    inside = [each for each in instructions if each.opcode in INSIDE]
    slices = of_slices(mesh)
    meant = Counter(
        frozenset(frozenset(numbers[member] for member in group) for numbers in slices for group in each.groups)
        for each in inside
    )
    rows = [row for row in printed.rows if not row.between_slices]
    assert Counter(frozenset(frozenset(group) for group in row.groups) for row in rows) == meant
    assert bool(rows) == (mesh.axes["data"] > SLICES and name != "exchange")

    explained = explain(collectives(step.partitioned, mesh), printed)
    assert not explained.vanished and not explained.appeared
