"""Bytes on the wires: a hierarchical split that loses nothing, and links that several collectives share."""

from __future__ import annotations

from fractions import Fraction

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.contracts.target_name import parse_target
from contract_lint.hlo_tools.collectives import CollectiveLedger, collectives
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.roofline.wires import Wires, wires
from hypothesis import given
from hypothesis import strategies as st

SIZE = 1 << 20
ADD = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"


def ledger(kind: str, groups: str, devices: int, mesh: MeshFact | None = None) -> CollectiveLedger:
    """One collective on an array that is SIZE bytes where it is whole."""
    size = groups.split("}")[0].count(",") + 1
    whole, part = f"f32[{SIZE // 4}]", f"f32[{SIZE // 4 // size}]"
    before, after = {"all-gather": (part, whole), "reduce-scatter": (whole, part)}.get(kind, (whole, whole))
    more = ", to_apply=add" if "reduce" in kind else ""
    more += ", dimensions={0}" if kind in ("all-gather", "reduce-scatter", "all-to-all") else ""
    which = "source_target_pairs" if kind == "collective-permute" else "replica_groups"
    text = f"HloModule m, num_partitions={devices}\n{ADD}ENTRY e {{\n  p = {before} parameter(0)\n"
    text += f"  ROOT r = {after} {kind}(p), channel_id=1, {which}={groups}{more}"
    text += ", use_global_device_ids=true\n}\n" if kind in ("all-gather", "all-reduce", "reduce-scatter") else "\n}\n"
    return collectives(parse_hlo(text), mesh)


def text_of(groups: list[list[int]]) -> str:
    return "{" + ",".join("{" + ",".join(map(str, group)) + "}" for group in groups) + "}"


@pytest.mark.parametrize("kind", ["all-gather", "reduce-scatter", "all-reduce"])
@given(hosts=st.integers(1, 4), gpus=st.sampled_from((1, 2, 4, 8)))
def test_links_and_network_together_carry_the_ring(kind: str, hosts: int, gpus: int) -> None:
    """m GPUs of each of s hosts: S (m - 1) / m over NVLink and S (s - 1) / (m s) over the network."""
    if hosts * gpus < 2:
        return
    members = [host * 8 + gpu for host in range(hosts) for gpu in range(gpus)]
    found = ledger(kind, text_of([members]), hosts * 8)
    (load,) = wires(found, parse_target(f"cuda:h100:{hosts}x8")).loads
    factor = 2 if kind == "all-reduce" else 1
    whole = SIZE // 4 // len(members) * len(members) * 4 if kind == "all-gather" else SIZE
    if SIZE // 4 % len(members) == 0:
        assert load.link_bytes == factor * whole * Fraction(gpus - 1, gpus)
        assert load.network_bytes == factor * whole * Fraction(hosts - 1, gpus * hosts)
    (row,) = found.rows
    assert load.link_bytes + load.network_bytes == row.ring_exact


def test_all_to_all_sends_to_every_other_wherever_it_is() -> None:
    found = ledger("all-to-all", text_of([list(range(16))]), 16)
    (load,) = wires(found, parse_target("cuda:h100:2x8")).loads
    assert load.link_bytes == Fraction(SIZE * 7, 16)
    assert load.network_bytes == Fraction(SIZE * 8, 16)


def test_a_permutation_loads_what_its_pairs_cross() -> None:
    target = parse_target("cuda:h100:2x8")
    (inside,) = wires(ledger("collective-permute", "{{0,1},{1,0}}", 16), target).loads
    assert (inside.link_bytes, inside.network_bytes) == (SIZE, 0)
    (across,) = wires(ledger("collective-permute", "{{0,8}}", 16), target).loads
    assert (across.link_bytes, across.network_bytes) == (0, SIZE)


def test_cores_of_one_chip_share_its_links() -> None:
    """Two devices on each of four chips: between chips S (4 - 1) / (2 * 4) for each, over half of its chip's links."""
    target = parse_target("tpu:7x:4x1x1")
    (load,) = wires(ledger("all-gather", text_of([list(range(8))]), 8), target).loads
    assert load.link_bytes == Fraction(SIZE * 3, 8)
    ring = 2 * 100e9 / 2
    assert load.link_seconds == pytest.approx(SIZE * 3 / 8 / ring)
    alone = wires(ledger("all-gather", "{{0,1},{2,3},{4,5},{6,7}}", 8), target)
    assert alone.loads == []


def test_devices_are_looked_up_in_the_mesh() -> None:
    """Partition i is the i-th device of the mesh: with another order a group may lie along another dimension."""
    groups, target = text_of([[0, 1], [2, 3]]), parse_target("tpu:v5e:2x2")
    plain = MeshFact(axes={"a": 2, "b": 2}, device_ids=[0, 1, 2, 3])
    across = MeshFact(axes={"a": 2, "b": 2}, device_ids=[0, 3, 1, 2])
    (along,) = wires(ledger("all-gather", groups, 4, plain), target).loads
    (diagonal,) = wires(ledger("all-gather", groups, 4, across), target).loads
    assert along.axes == ("b",)
    assert along.link_seconds == pytest.approx(2 * (diagonal.link_seconds or 0))


def together(*found: CollectiveLedger, target: str) -> Wires:
    first = found[0]
    return wires(
        CollectiveLedger("m", first.devices, first.mesh, [row for each in found for row in each.rows]),
        parse_target(target),
    )


def test_collectives_on_the_same_links_add_up_on_others_they_do_not() -> None:
    rows = text_of([[4 * y + x for x in range(4)] for y in range(4)])
    columns = text_of([[4 * y + x for y in range(4)] for x in range(4)])
    both = text_of([list(range(16))])
    along_x, along_y, over_all = (ledger("all-gather", groups, 16) for groups in (rows, columns, both))
    link = 50e9
    side, whole = SIZE * 3 / 4 / link, SIZE * 15 / 16 / (2 * link)
    assert together(along_x, along_x, target="tpu:v5e:4x4").together_seconds == pytest.approx(2 * side)
    assert together(along_x, along_y, target="tpu:v5e:4x4").together_seconds == pytest.approx(side)
    assert together(along_x, over_all, target="tpu:v5e:4x4").together_seconds == pytest.approx(
        max(side, side / 2 + whole)
    )


def test_a_bandwidth_that_nobody_publishes_bounds_nothing() -> None:
    found = ledger("all-gather", text_of([[0, 1]]), 2, MeshFact(axes={"a": 2}, device_ids=[100_000, 200_000]))
    (load,) = wires(found, parse_target("tpu:v4:1x1x1:slices=2")).loads
    assert load.network_bytes == SIZE // 2
    assert load.network_seconds is None
