import json
import os
from fractions import Fraction
from pathlib import Path

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.hlo_tools.collectives import Collective, CollectiveLedger, collectives
from contract_lint.hlo_tools.module import parse_hlo

MESH = MeshFact(axes={"data": 2, "fsdp": 4})
CORPUS = os.environ.get("CONTRACT_LINT_CORPUS")
needs_corpus = pytest.mark.skipif(not CORPUS, reason="CONTRACT_LINT_CORPUS is not set: no case files to read")
GROUPS = "channel_id=1, replica_groups={{0,1,2,3},{4,5,6,7}}, use_global_device_ids=true"


def ledger(
    *lines: str, mesh: MeshFact | None = MESH, header: str = "num_partitions=8", before: str = ""
) -> CollectiveLedger:
    body = "\n".join(f"  {line}" for line in lines)
    return collectives(parse_hlo(f"HloModule m, {header}\n{before}\nENTRY e {{\n{body}\n}}\n"), mesh)


def only(*lines: str, mesh: MeshFact | None = MESH, header: str = "num_partitions=8") -> Collective:
    (row,) = ledger(*lines, mesh=mesh, header=header).rows
    return row


def sizes(row: Collective) -> tuple[int, int, int, int]:
    return row.elements, row.operand_bytes, row.result_bytes, row.ring_bytes


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"r = f32[4,6] all-gather(p), dimensions={{0}}, {GROUPS}", (24, 24, 96, 72)),
        (f"r = f32[1,6] all-reduce(p), {GROUPS}", (6, 24, 24, 36)),
        (f"r = f32[6] reduce-scatter(q), dimensions={{0}}, {GROUPS}", (24, 96, 24, 72)),
        (
            "r = f32[4,6] all-to-all(q), dimensions={0}, channel_id=1, replica_groups={{0,1,2,3},{4,5,6,7}}",
            (24, 96, 96, 72),
        ),
        ("r = f32[1,6] collective-permute(p), channel_id=1, source_target_pairs={{0,1},{1,0}}", (6, 24, 24, 24)),
        ("r = f32[1,6] collective-broadcast(p), channel_id=1, replica_groups={{0,1}}", (6, 24, 24, 24)),
    ],
)
def test_elements_and_bytes_by_kind(line: str, expected: tuple[int, int, int, int]) -> None:
    row = only("p = f32[1,6] parameter(0)", "q = f32[4,6] parameter(1)", line)
    assert sizes(row) == expected
    assert row.kind in line
    assert (row.count, row.static_count, row.loop_depth, row.async_) == (1, 1, 0, False)


@pytest.mark.parametrize(
    ("groups", "axes", "size"),
    [
        ("replica_groups={{0,1,2,3},{4,5,6,7}}", ("fsdp",), 4),
        ("replica_groups=[2,4]<=[8]", ("fsdp",), 4),
        ("replica_groups=[4,2]<=[2,4]T(1,0)", ("data",), 2),
        ("replica_groups=mesh['axis_0'=2,'axis_1'=4] {'axis_0'}", ("data",), 2),
        ("replica_groups=mesh['axis_0'=4,'axis_1'=2], device_ids=([2,4]T(1,0)) {'axis_1'}", ("data",), 2),
        ("replica_groups=mesh['axis_0'=8] {'axis_0':(2)2}", ("fsdp:(1)2",), 2),
        ("replica_groups={}", ("data", "fsdp"), 8),
        ("replica_groups={{0,7},{1,2},{3,4},{5,6}}", "irregular", 2),
    ],
)
def test_axes_come_from_device_numbers(groups: str, axes: object, size: int) -> None:
    row = only(
        "p = f32[8] parameter(0)", f"r = f32[8] all-reduce(p), channel_id=1, {groups}, use_global_device_ids=true"
    )
    assert (row.axes, row.group_size) == (axes, size)


def test_without_a_mesh_only_names_the_program_prints_count() -> None:
    made_up = "r = f32[8] all-reduce(p), channel_id=1, replica_groups=mesh['axis_0'=2,'axis_1'=4] {'axis_0'}, " + (
        "use_global_device_ids=true"
    )
    assert only("p = f32[8] parameter(0)", made_up, mesh=None).axes is None
    found = ledger(
        "p = f32[8] parameter(0)",
        made_up.replace("axis_0", "x").replace("axis_1", "y"),
        f"s = f32[8] all-reduce(r), {GROUPS}",
        mesh=None,
    )
    assert [row.axes for row in found.rows] == [("x",), ("y",)]
    assert found.mesh == MeshFact(axes={"x": 2, "y": 4})


@pytest.mark.parametrize(
    ("header", "attributes", "groups"),
    [
        (
            "num_partitions=4",
            "channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true",
            ((0, 1), (2, 3)),
        ),
        ("num_partitions=4", "channel_id=1, replica_groups={{0}}", ((0, 1, 2, 3),)),
        ("num_partitions=4", "replica_groups={}", ((0,), (1,), (2,), (3,))),
        ("replica_count=4", "replica_groups={}", ((0, 1, 2, 3),)),
        ("replica_count=2, num_partitions=2", "replica_groups={{0,1}}", ((0, 2), (1, 3))),
        ("replica_count=2, num_partitions=2", "channel_id=1, replica_groups={{0},{1}}", ((0, 1), (2, 3))),
    ],
)
def test_group_numbers_mean_what_channel_and_flag_say(header: str, attributes: str, groups: object) -> None:
    row = only("p = f32[8] parameter(0)", f"r = f32[8] all-reduce(p), {attributes}", header=header, mesh=None)
    assert row.groups == groups


def test_partition_numbers_repeat_for_each_replica() -> None:
    line = "r = f32[8] all-to-all(p), channel_id=1, dimensions={0}, replica_groups={{0,1}}"
    row = only("p = f32[8] parameter(0)", line, header="replica_count=2, num_partitions=2", mesh=None)
    assert row.groups == ((0, 1), (2, 3))
    line = "r = f32[8] collective-permute(p), channel_id=1, source_target_pairs={{0,1}}"
    row = only("p = f32[8] parameter(0)", line, header="replica_count=2, num_partitions=2", mesh=None)
    assert row.groups == ((0, 1), (2, 3))


def test_a_combined_collective_is_one_row_with_parts() -> None:
    row = only(
        "p = f32[6] parameter(0)",
        "q = bf16[2] parameter(1)",
        "s = f32[] parameter(2)",
        f"r = (f32[6], bf16[2], f32[]) all-reduce(p, q, s), {GROUPS}",
    )
    assert sizes(row) == (9, 32, 32, 48)
    assert row.dtype == "f32+bf16"
    assert [(part.elements, part.dtype, part.operand_bytes, part.result_bytes) for part in row.parts] == [
        (6, "f32", 24, 24),
        (2, "bf16", 4, 4),
        (1, "f32", 4, 4),
    ]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (f"s = (f32[6], f32[24]) all-gather-start(p), dimensions={{0}}, {GROUPS}", (24, 24, 96, 72)),
        (f"s = ((f32[6]), f32[24]) all-gather-start(p), dimensions={{0}}, {GROUPS}", (24, 24, 96, 72)),
        (
            f"s = ((f32[6], f32[2]), (f32[24], f32[8])) all-gather-start(p, q), dimensions={{0}}, {GROUPS}",
            (32, 32, 128, 96),
        ),
        (f"s = f32[6] all-reduce-start(p), {GROUPS}", (6, 24, 24, 36)),
        (f"s = ((f32[6]), f32[6]) all-reduce-start(p), {GROUPS}", (6, 24, 24, 36)),
        (f"s = (f32[6], f32[2]) all-reduce-start(p, q), {GROUPS}", (8, 32, 32, 48)),
        (f"s = ((f32[6], f32[2]), (f32[6], f32[2])) all-reduce-start(p, q), {GROUPS}", (8, 32, 32, 48)),
        (
            "s = (f32[6], f32[6], u32[], u32[]) collective-permute-start(p), channel_id=1, source_target_pairs={{0,1}}",
            (6, 24, 24, 24),
        ),
        (f"s = ((f32[8]), f32[2], u32[]) reduce-scatter-start(t), dimensions={{0}}, {GROUPS}", (8, 32, 8, 24)),
    ],
)
def test_a_start_and_its_done_are_one_row(start: str, expected: tuple[int, int, int, int]) -> None:
    kind = start.split(" = ")[1].split("-start(")[0].split()[-1]
    row = only(
        "p = f32[6] parameter(0)",
        "q = f32[2] parameter(1)",
        "t = f32[8] parameter(2)",
        start,
        f"d = f32[1] {kind}-done(s)",
    )
    assert (row.kind, row.async_) == (kind, True)
    assert sizes(row) == expected


def test_a_start_that_the_backend_runs_synchronously_is_not_async() -> None:
    config = 'backend_config={"collective_backend_config":{"is_sync":true}}'
    row = only("p = f32[6] parameter(0)", f"s = f32[6] all-reduce-start(p), {GROUPS}, {config}")
    assert not row.async_


def test_a_wrapped_async_collective_counts_once() -> None:
    before = f"w {{\n  p = f32[8] parameter(0)\n  ROOT r = f32[2] reduce-scatter(p), dimensions={{0}}, {GROUPS}\n}}\n"
    found = ledger(
        "p = f32[8] parameter(0)",
        "s = ((f32[8]), f32[2], u32[]) async-start(p), calls=w, "
        'metadata={op_name="grad" source_file="a.py" source_line=3}',
        "u = ((f32[8]), f32[2], u32[]) async-update(s), calls=w",
        "ROOT d = f32[2] async-done(u), calls=w",
        before=before,
    )
    (row,) = found.rows
    assert (row.name, row.kind, row.count, row.async_, row.source, row.scope) == (
        "r",
        "reduce-scatter",
        1,
        True,
        "a.py:3",
        "grad",
    )


def test_transfers_to_the_host_are_no_collectives() -> None:
    found = ledger(
        "p = f32[8] parameter(0)",
        "t = token[] after-all()",
        "a = (f32[8], u32[], token[]) send(p, t), channel_id=1, is_host_transfer=true",
        "b = (f32[8], u32[], token[]) send(p, t), channel_id=2, "
        'frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,2}}"}',
    )
    (row,) = found.rows
    assert (row.kind, row.name, row.groups, row.group_size, row.ring_bytes) == (
        "send-recv",
        "b",
        ((0, 1), (1, 2)),
        3,
        32,
    )


def test_a_permute_that_moves_nothing_sends_nothing() -> None:
    row = only("p = f32[6] parameter(0)", "r = f32[6] collective-permute(p), channel_id=1, source_target_pairs={{0,0}}")
    assert (row.axes, row.ring_bytes, row.operand_bytes) == ((), 0, 24)


def test_of_two_branches_each_has_its_row_and_the_dearer_counts() -> None:
    before = (
        f"big {{\n  p = f32[8] parameter(0)\n  ROOT r = f32[8] all-reduce(p), {GROUPS}\n}}\n"
        "small {\n  p = f32[8] parameter(0)\n  s = f32[2] slice(p), slice={[0:2]}\n"
        f"  g = f32[2] all-reduce(s), {GROUPS}\n"
        "  ROOT o = f32[8] copy(p)\n}\n"
    )
    found = ledger(
        "p = f32[8] parameter(0)",
        "i = s32[] parameter(1)",
        "ROOT c = f32[8] conditional(i, p, p), branch_computations={small, big}",
        before=before,
    )
    rows = {row.name: row for row in found.rows}
    assert (rows["r"].count, rows["r"].count_min, rows["r"].elements) == (1, 0, 8)
    assert (rows["g"].count, rows["g"].count_min, rows["g"].elements) == (1, 0, 2)
    assert rows["g"].ring_bytes == rows["r"].ring_bytes // 4 > 0
    assert [row.name for row in found.dearest_path()] == ["r"]
    (total,) = found.totals()
    assert (total.count, total.elements, total.ring_bytes) == (1, 8, rows["r"].ring_bytes)
    assert [row["count_dearest"] for row in found.as_json()["collectives"]] == [1, 0]


def test_small_ring_bytes_are_rounded_after_they_are_summed() -> None:
    found = ledger(
        "p = f32[] parameter(0)",
        *(
            f"r{i} = f32[] all-reduce(p), replica_groups=[1,8]<=[8], channel_id={i + 1}, use_global_device_ids=true"
            for i in range(3)
        ),
    )
    assert [row.ring_bytes for row in found.rows] == [7, 7, 7]
    assert found.rows[0].ring_exact == Fraction(7)
    found = ledger(
        "p = u8[] parameter(0)",
        *(
            f"r{i} = u8[] all-reduce(p), replica_groups=[1,8]<=[8], channel_id={i + 1}, use_global_device_ids=true"
            for i in range(2)
        ),
    )
    assert [row.ring_bytes for row in found.rows] == [2, 2]
    assert found.totals()[0].ring_bytes == 4 and found.totals()[0].count == 2


def test_json_has_the_published_keys() -> None:
    found = ledger("p = f32[8] parameter(0)", f"r = f32[8] all-reduce(p), {GROUPS}").as_json()
    assert list(found)[:5] == ["schema_version", "module", "devices", "mesh", "collectives"]
    (row,) = found["collectives"]
    assert {
        *("name", "kind", "axes", "groups", "group_size", "static_count", "count", "elements", "dtype"),
        *("operand_bytes", "result_bytes", "ring_bytes", "async", "channel_id", "loop_depth", "source", "scope"),
    } <= set(row)
    assert row["axes"] == ["fsdp"] and row["groups"] == [[0, 1, 2, 3], [4, 5, 6, 7]] and row["count_min"] == 1
    assert found["totals"] == [
        {
            "kind": "all-reduce",
            "axes": ["fsdp"],
            "count": 1,
            "elements": 8,
            "operand_bytes": 32,
            "result_bytes": 32,
            "ring_bytes": 48,
        }
    ]
    assert json.loads(json.dumps(found)) == found


# -- the public reports: each number is the one its case file derives by hand -----------------------------------------


def case(name: str, mesh: MeshFact | None = None) -> CollectiveLedger:
    (path,) = [p for p in Path(CORPUS or "", "cases", "hlo").glob(f"{name}_*") if p.suffix in (".hlo", ".txt")]
    return collectives(parse_hlo(path.read_bytes(), path.name), mesh)


def corpus(name: str) -> CollectiveLedger:
    path = Path(CORPUS or "", "corpus", "hlo", name)
    return collectives(parse_hlo(path.read_bytes(), path.name))


@needs_corpus
def test_case_01_a_reshard_by_full_replication() -> None:
    found = case("01", MeshFact(axes={"x": 4, "y": 2}))
    assert [(r.name, r.axes, r.operand_bytes, r.result_bytes, r.ring_bytes) for r in found.rows] == [
        ("all-gather", ("x",), 2048, 8192, 6144),
        ("all-gather.1", ("y",), 8192, 16384, 8192),
    ]
    assert {r.source for r in found.rows} == {"/src/r21562.py:8"}
    assert [r.axes for r in case("01").rows] == [None, None]


@needs_corpus
@pytest.mark.parametrize("name", ["03", "12"])
def test_cases_03_and_12_hold_no_collective(name: str) -> None:
    assert case(name).rows == []


@needs_corpus
def test_case_04_a_pasted_fragment_of_a_tpu_program() -> None:
    (row,) = case("04", MeshFact(axes={"a": 2, "b": 4})).rows
    assert (row.kind, row.axes, row.group_size, row.dtype) == ("all-gather", ("a",), 2, "bf16")
    assert (row.operand_bytes, row.result_bytes, row.ring_bytes) == (1_048_576, 2_097_152, 1_048_576)


@needs_corpus
def test_case_14_the_most_minor_axis_of_three() -> None:
    found = case("14", MeshFact(axes={"data": 2, "pipeline": 4, "model": 8}))
    (row,) = found.rows
    assert (found.devices, row.axes, row.group_size) == (64, ("model",), 8)
    assert (row.operand_bytes, row.result_bytes, row.ring_bytes) == (16_384, 131_072, 114_688)


@needs_corpus
def test_case_19_a_405b_step_with_loops() -> None:
    found = corpus("xla__hlo_llama31_405b_bf16_16x8.hlo")
    gather, reduce = found.totals()
    assert (found.devices, found.unknown_loops) == (128, [])
    assert (gather.count, gather.operand_bytes, gather.ring_bytes) == (1766, 12_617_121_792, 1_602_374_467_584)
    assert (reduce.count, reduce.operand_bytes, reduce.ring_bytes) == (1175, 811_706_777_752, 1_610_730_637_102)
    static = {kind: [row for row in found.rows if row.kind == kind] for kind in ("all-gather", "all-reduce")}
    assert [len(rows) for rows in static.values()] == [16, 50]
    once = {kind: sum((r.ring_exact or 0) / r.count for r in rows) for kind, rows in static.items()}
    assert [round(ring) for ring in once.values()] == [20_990_787_584, 29_330_701_102]


@needs_corpus
def test_case_21_an_unrolled_mixture_of_experts() -> None:
    totals = {total.kind: total for total in corpus("xla__hlo_mixtral_8x7b_bf16_1x8.hlo").totals()}
    exchange = totals["all-to-all"]
    assert (exchange.count, exchange.operand_bytes, exchange.ring_bytes) == (192, 12_884_901_888, 11_274_289_152)
    assert (totals["all-gather"].count, totals["all-gather"].ring_bytes) == (322, 5_160_042_496)
    assert (totals["all-reduce"].count, totals["all-reduce"].ring_bytes) == (1261, 5_619_733_574)


@needs_corpus
def test_case_23_four_bits_an_element() -> None:
    (row,) = case("23").rows
    assert (row.operand_bytes, row.result_bytes, row.ring_bytes, row.group_size) == (262_144, 2_097_152, 1_835_008, 8)


@needs_corpus
def test_case_24_the_same_gather_three_times() -> None:
    found = case("24")
    assert [row.channel_id for row in found.rows] == [1, 2, 3]
    assert (found.totals()[0].count, found.totals()[0].ring_bytes) == (3, 336)
    assert {row.source for row in found.rows} == {None}
