"""Where the partitioner of jax 0.12 moves data for; the programs are cut from what it made."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.hlo_tools.asked_by import AskedBy, scope_beside
from contract_lint.hlo_tools.collectives import collectives
from contract_lint.hlo_tools.module import HloModule, parse_hlo

MESH = MeshFact(axes={"data": 2, "fsdp": 4})
MARK = 'frontend_attributes={is_spmd_generated="true"}'
WHOLE = "channel_id=1, replica_groups=mesh['data'=2,'fsdp'=4] {'fsdp'}, use_global_device_ids=true"


def at(line: int, name: str = "jit(step)/name") -> str:
    return f'metadata={{op_name="{name}" source_file="train.py" source_line={line}}}'


def program(*lines: str, header: str = "num_partitions=8") -> HloModule:
    body = "\n".join(f"  {line}" for line in ("%p = f32[4,16] parameter(0)", *lines))
    return parse_hlo(f"HloModule m, {header}\n\nENTRY %e (p: f32[4,16]) -> f32[16,16] {{\n{body}\n}}\n")


def gather(name: str = "%g", operand: str = "%p", place: str = "", mark: str = MARK) -> str:
    tail = ", ".join(part for part in (WHOLE, "dimensions={0}", mark, place) if part)
    return f"{name} = f32[16,16] all-gather({operand}), {tail}"


def sources(module: HloModule) -> list[str | None]:
    return [row.source for row in collectives(module, MESH).rows]


@pytest.mark.parametrize("place", ["", at(37, "jit(step)/add_any"), "metadata={op_name=\"state[\\'w\\']\"}"])
def test_a_constraint_asked_for_what_its_copy_reads(place: str) -> None:
    copy = f"ROOT %sharding_constraint = f32[16,16] copy(%g), {at(58, 'jit(step)/sharding_constraint')}"
    assert sources(program(gather(place=place), copy)) == ["train.py:58"]


def test_scope_stays_what_the_program_says() -> None:
    """What runs has the same name, by which both are told to be one."""
    module = program(
        f"%c = f32[4,16] convert(%p), {at(10, 'jit(step)/convert_element_type')}",
        gather(operand="%c", place=at(10, "jit(step)/convert_element_type")),
        f"ROOT %reshard = f32[16,16] copy(%g), {at(20, 'jit(step)/reshard')}",
    )
    (row,) = collectives(module, MESH).rows
    assert (row.source, row.scope) == ("train.py:20", "jit(step)/convert_element_type")


def test_what_no_line_made_is_moved_for_what_reads_it() -> None:
    assert sources(program(gather(), f"ROOT %sin = f32[16,16] sine(%g), {at(20)}")) == ["train.py:20"]


@pytest.mark.parametrize(("operand", "line"), [("%q", 20), ("%c", 10)])
def test_the_slice_that_a_scan_hands_out_is_made_by_no_line(operand: str, line: int) -> None:
    module = program(
        "%w = f32[3,4,16] parameter(1)",
        "%i = s32[] parameter(2)",
        f"%d = f32[1,4,16] dynamic-slice(%w, %i, %i, %i), dynamic_slice_sizes={{1,4,16}}, {at(5)}",
        f"%q = f32[4,16] reshape(%d), {at(5)}",
        f"%c = f32[4,16] convert(%q), {at(10)}",
        gather(operand=operand, place=at(5 if operand == "%q" else 10)),
        f"ROOT %sin = f32[16,16] sine(%g), {at(20)}",
    )
    assert sources(module) == [f"train.py:{line}"]


def test_what_the_partitioner_adds_beside_a_move_has_the_place_already() -> None:
    begin = f"%z = s32[] constant(0), {at(20)}"
    part = f"%s = f32[16,4] dynamic-slice(%g, %z, %z), dynamic_slice_sizes={{16,4}}, {at(20)}"
    use = f"ROOT %sin = f32[16,4] sine(%s), {at(20)}"
    assert sources(program(begin, gather(), part, use)) == ["train.py:20"]


def test_a_value_that_is_moved_in_steps_is_moved_for_what_reads_the_last() -> None:
    pairs = "source_target_pairs={{0,1},{1,0}}"
    permute = f"%q = f32[16,16] collective-permute(%g), channel_id=2, {pairs}, {MARK}"
    assert sources(program(gather(), permute, f"ROOT %sin = f32[16,16] sine(%q), {at(20)}")) == ["train.py:20"] * 2


def test_of_several_readers_the_first_in_the_program_asked() -> None:
    forward = f"%a = f32[16,16] sine(%g), {at(20)}"
    backward = f"ROOT %b = f32[16,16] add(%a, %g), {at(30)}"
    assert sources(program(gather(), forward, backward)) == ["train.py:20"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param((gather(place=at(10)), f"ROOT %s = f32[16,16] sine(%g), {at(20)}"), id="a line made the value"),
        pytest.param((gather(place=at(10)).replace("%g", "ROOT %g", 1),), id="nobody reads it"),
        pytest.param((gather(place=at(10)), "ROOT %t = (f32[16,16]) tuple(%g)"), id="its reader has no place"),
        pytest.param(
            (gather(place=at(10), mark=""), f"ROOT %reshard = f32[16,16] copy(%g), {at(20, 'jit(step)/reshard')}"),
            id="older or the user's own",
        ),
        pytest.param(
            (
                f"%r = f32[4,16] all-reduce(%p), {WHOLE}, to_apply=%add, {MARK}, {at(10)}",
                f"ROOT %reshard = f32[4,16] copy(%r), {at(20, 'jit(step)/reshard')}",
            ),
            id="a sum",
        ),
    ],
)
def test_others_keep_their_own_place(lines: tuple[str, ...]) -> None:
    assert sources(program(*lines)) == ["train.py:10"]


def test_a_scheduled_program_keeps_its_own_places() -> None:
    lines = (gather(place=at(10)), f"ROOT %s = f32[16,16] copy(%g), {at(20, 'jit(step)/reshard')}")
    assert sources(program(*lines, header="is_scheduled=true, num_partitions=8")) == ["train.py:10"]


def test_a_long_chain_is_walked_once() -> None:
    chain = [gather(f"%g{i}", f"%g{i - 1}" if i else "%p") for i in range(3000)]
    module = program(*chain, f"ROOT %s = f32[16,16] sine(%g2999), {at(20)}")
    asked_by = AskedBy()
    assert module.entry is not None
    moves = module.entry.instructions[1:-1]
    assert {asked_by.of(each).source for each in moves} == {"train.py:20"}


def test_moves_of_a_program_compiled_here_stand_where_they_are_asked_for() -> None:
    """Whatever the installed partitioner says of them."""
    pytest.importorskip("jax")
    child = Path(__file__).with_name("asked_by_child.py")
    environment = {key: value for key, value in os.environ.items() if key not in ("XLA_FLAGS", "JAX_PLATFORMS")}
    done = subprocess.run([sys.executable, str(child)], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    marked = [n for n, line in enumerate(child.read_text().splitlines(), 1) if line.endswith("# moves data")]
    ledger = collectives(parse_hlo(done.stdout), MeshFact(axes={"data": 8}))
    assert {row.source for row in ledger.rows} == {f"{child}:{line}" for line in marked}
    assert len(ledger.rows) == len(marked) == 4


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (f"%v = f32[4,16] negate(%p), {at(53)}", f"ROOT %r = f32[16,16] negate(%g), {at(60)}", "train.py:53"),
        ("%v = f32[4,16] negate(%p)", f"ROOT %r = f32[16,16] negate(%g), {at(60)}", "train.py:60"),
        ("%v = f32[4,16] negate(%p)", "ROOT %r = f32[16,16] negate(%g)", None),
    ],
)
def test_a_collective_without_a_line_stands_at_what_it_moves_or_at_its_reader(
    before: str, after: str, line: str | None
) -> None:
    module = program(before, "%n = f32[4,16] convert(%v)", gather(operand="%n", mark=""), after)
    (row,) = collectives(module, MESH).rows
    assert row.source == line
    assert row.scope == ("jit(step)/name" if line else "")


READ_TWICE = """HloModule m, is_scheduled=true, num_partitions=4

ENTRY %main {
  %x = f32[8]{0} parameter(0)
  %g = f32[32]{0} all-gather(%x), replica_groups={{0,1,2,3}}, dimensions={0}, channel_id=1, use_global_device_ids=true
FIRST
SECOND
  ROOT %t = (f32[32]{0}, f32[32]{0}) tuple(%a, %b)
}
"""
READERS = (
    '  %a = f32[32]{0} sine(%g), metadata={op_name="jit(f)/one/sin"}',
    '  %b = f32[32]{0} cosine(%g), metadata={op_name="jit(f)/other/cos"}',
)


def test_what_stands_beside_does_not_hang_on_the_order_of_readers() -> None:
    scopes = {
        scope_beside(module.entry.instructions[1])
        for first, second in (READERS, READERS[::-1])
        for module in [parse_hlo(READ_TWICE.replace("FIRST", first).replace("SECOND", second))]
    }
    assert scopes == {"jit(f)/one/sin"}
