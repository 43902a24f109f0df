"""Programs of one TPU slice: groups and transfers between slices, in the numbers and axes of the whole mesh."""

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.hlo_tools.canonical import canonical
from contract_lint.hlo_tools.collectives import CollectiveLedger, collectives
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.slices import slices_of

# Two slices of four devices; within a slice the mesh does not follow the numbers of the devices.
IDS = [100000, 100001, 100003, 100002, 200000, 200001, 200003, 200002]
MESH = MeshFact(axes={"data": 2, "fsdp": 4}, dcn={"data": 2}, device_ids=IDS)
MIXED = MeshFact(axes={"data": 4, "tp": 2}, dcn={"data": 2}, device_ids=IDS)
MEGASCALE = '_xla_host_transfer_handler_name="xla_megascale_runtime",_xla_host_transfer_rendezvous="r"'


def send(kind: str, target: str) -> str:
    attributes = f'{{{MEGASCALE},_xla_megascale_target={target},_xla_megascale_transfer_type="{kind}"}}'
    return (
        "%t = token[] after-all()\n  ROOT %s = (f32[8], u32[], token[]) send(%x, %t), channel_id=1, "
        f"is_host_transfer=true, frontend_attributes={attributes}"
    )


def module(line: str) -> str:
    return (
        "HloModule m, num_partitions=4\n%add (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n"
        "  %b = f32[] parameter(1)\n  ROOT %s = f32[] add(%a, %b)\n}\n"
        f"ENTRY %main (x: f32[8]) -> f32[8] {{\n  %x = f32[8] parameter(0)\n  {line}\n}}\n"
    )


def read(line: str, mesh: MeshFact | None = MESH) -> CollectiveLedger:
    return collectives(parse_hlo(module(line)), mesh)


def test_slices_are_told_by_device_numbers() -> None:
    slices = slices_of(MESH)
    assert slices is not None and slices.members == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert slices.partition_of[200003] == 6
    assert slices_of(MeshFact(axes={"data": 2}, device_ids=[0, 1])) is None
    assert slices_of(MeshFact(axes={"data": 3}, device_ids=[100000, 100001, 200000])) is None


@pytest.mark.parametrize(
    ("groups", "mesh", "axes", "expected"),
    [
        ("{{0,1,2,3}}", MESH, ("fsdp",), ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("{{0,2},{1,3}}", MIXED, ("data:(2)2",), ((0, 2), (1, 3), (4, 6), (5, 7))),
        ("{{0,1},{2,3}}", MIXED, ("tp",), ((0, 1), (2, 3), (4, 5), (6, 7))),
    ],
)
def test_groups_within_a_slice_are_those_of_every_slice(
    groups: str, mesh: MeshFact, axes: object, expected: object
) -> None:
    line = f"ROOT %r = f32[8] all-reduce(%x), channel_id=1, replica_groups={groups}, use_global_device_ids=true, "
    ledger = read(line + "to_apply=%add", mesh)
    (row,) = ledger.rows
    assert (ledger.devices, row.axes, row.groups, row.between_slices) == (8, axes, expected, False)


@pytest.mark.parametrize(
    ("kind", "canonical_kind", "elements", "ring"),
    [
        ("ALL_REDUCE", "all-reduce", 8, 32),
        ("ALL_GATHER", "all-gather", 16, 32),
        ("ALL_TO_ALL", "all-to-all", 8, 16),
        ("REDUCE_SCATTER", "reduce-scatter", 8, 16),
    ],
)
def test_transfers_between_slices(kind: str, canonical_kind: str, elements: int, ring: int) -> None:
    line = send(kind, '"{1,2}x{0:3}"')
    (row,) = read(line).rows
    assert (row.kind, row.axes, row.elements, row.group_size) == ("send-recv", ("data",), 8, 2)
    assert row.groups == ((0, 4), (1, 5), (3, 7), (2, 6)) and row.between_slices and row.async_
    (named,) = canonical(parse_hlo(module(line)), MESH).rows
    assert (named.kind, named.axes, named.elements, named.ring_bytes) == (canonical_kind, ("data",), elements, ring)
    (part,) = canonical(parse_hlo(module(line)), MIXED).rows
    assert part.axes == ("data:(1)2",)


@pytest.mark.parametrize(
    ("target", "axes", "groups"),
    [
        (
            "{{100000,200000},{100001,200001},{100003,200003},{100002,200002}}",
            ("data",),
            ((0, 4), (1, 5), (2, 6), (3, 7)),
        ),
        ("{{100000,100001,200000,200001},{100003,100002,200003,200002}}", None, ((0, 1, 4, 5), (2, 3, 6, 7))),
        ("{{100000:100003,200000:200003}}", ("data", "fsdp"), ((0, 1, 3, 2, 4, 5, 7, 6),)),
    ],
)
def test_groups_that_are_listed(target: str, axes: object, groups: object) -> None:
    """Every all-to-all lists its groups, and so does what takes several devices of a slice."""
    (row,) = canonical(parse_hlo(module(send("ALL_TO_ALL", target))), MESH).rows
    assert (row.kind, row.groups, row.between_slices) == ("all-to-all", groups, True)
    assert axes is None or row.axes == axes
    assert row.ring_bytes == 32 * (len(groups[0]) - 1) // len(groups[0])  # type: ignore[index]


def test_device_to_device_between_slices() -> None:
    line = send("ONE_TO_ONE", "{{100000->200000},{100003->200002}}")
    (row,) = read(line).rows
    assert (row.kind, row.axes, row.groups) == ("send-recv", ("data", "fsdp"), ((0, 4), (2, 7)))
    (named,) = canonical(parse_hlo(module(line)), MESH).rows
    assert (named.kind, named.elements) == ("collective-permute", 8)


@pytest.mark.parametrize(
    "target",
    [
        *('"{1,2}x{0:9}"', '"{1,9}x{0:3}"', '"nonsense"', '"{1,2}x{:}"', '"{1,2}x{0:99999999999}"'),
        *('"{0:99999}x{0:99999}"', "{{100000,300000}}", "{{},{100000}}", "{{100000:999999999999}}", "{{:}}"),
    ],
)
def test_targets_that_name_no_known_devices_have_no_axes(target: str) -> None:
    (row,) = read(send("ALL_REDUCE", target)).rows
    assert (row.axes, row.groups, row.between_slices) == (None, (), False)


def test_without_a_mesh_nothing_is_known_of_slices() -> None:
    (row,) = read(send("ALL_REDUCE", '"{1,2}x{0:3}"'), None).rows
    assert (row.kind, row.axes, row.elements) == ("send-recv", None, 8)


def test_other_host_transfers_are_no_collectives() -> None:
    line = send("ALL_REDUCE", '"{1,2}x{0:3}"').replace("xla_megascale_runtime", "tf_rendezvous")
    assert read(line).rows == []
