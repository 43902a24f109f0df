import json
import re
from dataclasses import replace

import pytest
from contract_lint.contracts.manifest import Leaf, MemoryFacts, MeshFact, StepFacts
from contract_lint.hlo_tools.collectives import CollectiveLedger, collectives
from contract_lint.hlo_tools.memory import Buffer, MemoryLedger, Space, memory
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.summary import SummaryLedger, summary
from contract_lint.hlo_tools.tensors import tensors
from contract_lint.plugins.report.ledger_text import sparkline, tail
from contract_lint.plugins.report.ledgers import Ledger, render_ledger
from contract_lint.plugins.report.printable import counted_once

MESH = MeshFact(axes={"data": 2, "fsdp": 4}, device_ids=list(range(8)))
LONG = "a/very/long/path/to/" + "deep/" * 30 + "step.py:12"
HLO = """HloModule jit_step, num_partitions=8

add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

ENTRY main (x: f32[16,64]) -> f32[64,64] {
  %x = f32[16,64]{1,0} parameter(0)
  %call = f32[16,64]{1,0} custom-call(%x), custom_call_target="xla_ffi_python_cpu_callback"
  %g = f32[64,64]{1,0} all-gather(%call), channel_id=1, replica_groups={{0,1,2,3},{4,5,6,7}}, dimensions={0}, use_global_device_ids=true, metadata={op_name="jit(step)/block/reshard" source_file="SOURCE" source_line=12}
  ROOT %r = f32[64,64]{1,0} all-reduce(%g), channel_id=2, replica_groups={{0,4},{1,5},{2,6},{3,7}}, use_global_device_ids=true, to_apply=%add
}
""".replace("SOURCE", LONG.removesuffix(":12"))  # noqa: E501


def buffer(name: str, size: int, **facts: object) -> Buffer:
    base: dict = {
        "unpadded_bytes": size,
        "shape": "f32[4]{0}",
        "class_": "gradient",
        "scope": "",
        "source": LONG,
        "first": 1,
    }
    return Buffer(name=name, bytes=size, last=3, **(base | facts))


def memory_ledger() -> MemoryLedger:
    buffers = [buffer("fusion.1", 3000), buffer("x", 1000, class_="parameter", scope="state/w", source=None, first=0)]
    return MemoryLedger(
        module="jit_step\x1b[31m",
        method="heap-trace",
        peak_bytes=4000,
        argument_bytes=1000,
        output_bytes=900,
        alias_bytes=800,
        temp_bytes=3500,
        code_bytes=5,
        state_bytes=990,
        peak_index=2,
        peak_instruction="fusion.1",
        buffers=buffers,
        timeline=[(0, 1000), (2, 4000), (5, 1500)],
        spaces=[Space(0, "device", 1000, 3500, 4000), Space(1, "vmem", 0, 64, 64)],
    )


def ledgers() -> dict[str, Ledger]:
    module = parse_hlo(HLO)
    leaf = Leaf(
        argument="state", path="params/" + "w" * 90, shape=[8, 6], dtype="float32", spec=[["fsdp"], []], bytes=48
    )
    facts = StepFacts(step="train", entry="m:b", arguments=[leaf.model_copy(update={"local_shape": [2, 6]})])
    return {
        "collectives": collectives(module, MESH),
        "memory": memory_ledger(),
        "tensors": tensors(facts, MESH),
        "summary": summary(module, MESH, memory_ledger()),
    }


@pytest.mark.parametrize("kind", ["collectives", "memory", "tensors", "summary"])
@pytest.mark.parametrize("width", [80, 120])
def test_text_fits_its_width_and_is_the_same_each_time(kind: str, width: int) -> None:
    text = render_ledger(ledgers()[kind], "text", width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert text == render_ledger(ledgers()[kind], "text", width)


@pytest.mark.parametrize("kind", ["collectives", "memory", "tensors", "summary"])
def test_json_is_the_ledgers_own_shape(kind: str) -> None:
    ledger = ledgers()[kind]
    assert json.loads(render_ledger(ledger, "json")) == json.loads(json.dumps(ledger.as_json()))
    assert "schema_version" in ledger.as_json()


@pytest.mark.parametrize("kind", ["collectives", "memory", "tensors", "summary"])
def test_markdown_has_a_table(kind: str) -> None:
    text = render_ledger(ledgers()[kind], "markdown")
    assert text.startswith("### ")
    assert "|---" in text.replace(" ", "").replace(":", "")


def test_the_first_line_of_collectives_names_the_largest_traffic() -> None:
    first, *rest = render_ledger(ledgers()["collectives"], "text", 200).splitlines()
    ring = 2 * 64 * 64 * 4 * 1 // 2, 64 * 64 * 4 * 3 // 4
    assert first == (
        "jit_step: 2 collectives a step, 28.00 KiB sent by each device; most by all-reduce over data (16.00 KiB)"
    )
    assert sum(ring) == 28 * 1024
    assert any("all-gather" in line and "fsdp" in line and "step.py:12" in line and "block" in line for line in rest)


@pytest.mark.parametrize("width", [80, 120])
def test_each_collective_has_its_elements_and_dtype(width: int) -> None:
    lines = render_ledger(ledgers()["collectives"], "text", width).splitlines()
    (head,) = (line for line in lines if line.startswith("Collective "))
    (row,) = (line for line in lines if line.startswith("g "))
    assert "elements" in head and "4,096 f32" in row and "12.00 KiB" in row and "step.py:12" in row
    assert "all-gather" in "".join(lines[lines.index(row) : lines.index(row) + 2]), "a name that does not say the kind"


BRANCHES = (
    HLO[: HLO.index("ENTRY")]
    + """dear {
  p = f32[64] parameter(0)
  ROOT y = f32[64] all-reduce(p), replica_groups=[4,2]<=[8], channel_id=1, use_global_device_ids=true, to_apply=add
}
cheap {
  p = f32[64] parameter(0)
  ROOT y = f32[64] OPERATION
}
ENTRY main {
  x = f32[64] parameter(0)
  q = pred[] parameter(1)
  ROOT r = f32[64] conditional(q, x, x), true_computation=dear, false_computation=cheap
}
"""
)


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_what_only_a_cheaper_branch_runs_has_a_row_and_is_said(form: str) -> None:
    sent = "collective-permute(p), channel_id=2, source_target_pairs={{0,4},{4,0}}"
    for operation, there in ((sent, True), ("negate(p)", False)):
        module = parse_hlo(BRANCHES.replace("OPERATION", operation))
        text = render_ledger(collectives(module, MESH), form, 120)
        assert ("only in others: collective-permute over data" in text) is there
        assert text.count("0-1") == 1 + there
        if form == "text":
            glance = render_ledger(summary(module, MESH), form, 120)
            assert ("only in others: collective-permute over data" in glance) is there


def test_the_first_line_of_memory_names_need_peak_and_largest_class() -> None:
    lines = render_ledger(ledgers()["memory"], "text", 120).splitlines()
    assert lines[0].startswith(
        "jit_step\\x1b[31m: needs 4.50 KiB on each device, 3.91 KiB live at the peak; most is gradient"
    )
    assert any(line.split()[:2] == ["gradient", "2.93"] and "75.0 %" in line for line in lines)
    assert any("vmem" in line and "64 B" in line for line in lines)
    assert any(line.startswith("state/w") for line in lines)
    assert any(set(line) <= set("▁▂▃▄▅▆▇█") and "█" in line for line in lines)


def test_memory_without_a_heap_trace_says_so() -> None:
    sums = MemoryFacts(argument_bytes=100, output_bytes=60, alias_bytes=50, temp_bytes=30, code_bytes=7)
    text = render_ledger(memory(None, facts=StepFacts(step="train", entry="m:b", memory=sums)), "text", 80)
    assert "No heap trace" in text
    assert text.startswith("train: needs 147 B on each device, 140 B live at the peak\n")


def test_the_summary_counts_what_talks_to_the_host() -> None:
    made = ledgers()["summary"]
    assert (made.host, made.custom_calls, made.partitions) == (1, {"xla_ffi_python_cpu_callback": 1}, 8)  # type: ignore[union-attr]
    assert "1 instruction talks to the host" in render_ledger(made, "text", 80)


def test_the_summary_counts_the_opcodes_it_does_not_name() -> None:
    made = ledgers()["summary"]
    assert isinstance(made, SummaryLedger)
    many = replace(made, opcodes={f"op{n}": 100 - n for n in range(12)})
    assert "other" not in render_ledger(many, "text", 80)
    said = render_ledger(replace(many, opcodes={**many.opcodes, "rare": 2, "rarer": 1}), "text", 80)
    assert re.search(r"\(2 others\) +3\n", said) and "rare" not in said


def test_bytes_without_a_scope_are_a_row_where_scopes_are_shown() -> None:
    ledger = memory_ledger()
    assert re.search(r"\(no scope\) +2\.93 KiB", render_ledger(ledger, "text", 80))
    ledger.buffers = [replace(each, scope="") for each in ledger.buffers]
    assert "scope" not in render_ledger(ledger, "text", 80)


def test_where_no_scope_is_known_the_line_has_its_room() -> None:
    path = f"/a/{'long/' * 8}train.py:69"
    for scope, shown in (("", path[-43:]), ("jit(f)/mlp/dot", path[-23:])):
        made = ledgers()["collectives"]
        assert isinstance(made, CollectiveLedger)
        for row in made.rows:
            row.source, row.scope = path, scope
        said = render_ledger(made, "text", 120)
        assert f" …{shown} " in f"{said} ".replace("\n", " \n") and ("scope" in said) is bool(scope)


def test_long_ledgers_say_what_they_leave_out() -> None:
    ledger = memory_ledger()
    ledger.buffers += [buffer(f"b{i}", 1) for i in range(60)]
    assert "22 smaller buffers not shown" in render_ledger(ledger, "text", 80)
    ledger.buffers += [buffer("c", 7, source=f"f.py:{line}", scope=f"s{line}") for line in range(13)]
    said = render_ledger(ledger, "text", 80)
    assert re.findall(r"\((\d+) others\) +(\d+) B ", said) == [("5", "35"), ("5", "35")]


def test_loops_of_unknown_length_are_counted_where_not_named() -> None:
    assert counted_once(["a", "b"]).endswith(": a, b")
    assert counted_once([f"w{n}" for n in range(7)]).endswith(": w0, w1, w2, w3, w4 and 2 more")


def test_sparklines_and_tails() -> None:
    assert sparkline([(0, 0), (3, 70), (4, 0)], 80) == "▁▁▁█▁"
    assert sparkline([(0, 5), (99_999, 10)], 10) == "▄▄▄▄▄▄▄▄▄█"
    assert sparkline([(0, 5)], 10) == ""
    assert tail("runtime/trainer/step.py:12", 12) == "…/step.py:12"
    assert tail("short.py:1", 12) == "short.py:1"
