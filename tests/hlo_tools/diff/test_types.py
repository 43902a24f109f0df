"""Work in another type: what is such a change, what is other work, and when nobody can tell."""

from __future__ import annotations

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.diff import Diff, Side, compare
from contract_lint.hlo_tools.diff.thresholds import broken, parse_thresholds
from contract_lint.hlo_tools.module import parse_hlo

AT = ', metadata={op_name="jit(f)/mlp/act" source_file="train.py" source_line='
SAVED = """\
HloModule step{scheduled}

ENTRY main {{
  x = {dtype}[8]{{0}} parameter(0)
  all = {saved}[4,8]{{1,0}} parameter(1)
  at = s32[] parameter(2)
  zero = s32[] constant(0)
  a = {dtype}[8]{{0}} {act}(x, x){at}16}}
  kept = {saved}[1,8]{{1,0}} dynamic-slice(all, at, zero), dynamic_slice_sizes={{1,8}}{at}26}}
  ROOT r = ({dtype}[8]{{0}}, {saved}[1,8]{{1,0}}) tuple(a, kept)
}}
"""


def side(name: str, dtype: str = "f32", saved: str = "f32", act: str = "multiply", scheduled: bool = False) -> Side:
    said = ", is_scheduled=true" if scheduled else ""
    return Side(name, parse_hlo(SAVED.format(dtype=dtype, saved=saved, act=act, scheduled=said, at=AT)))


def kinds(found: Diff) -> list[str]:
    return [change.kind for change in found.changes]


@pytest.mark.parametrize("saved", ["pred", "s32"])
def test_a_mask_that_is_saved_is_no_other_type(saved: str) -> None:
    """relu keeps a mask where gelu kept activations; what it computes is the change."""
    found = compare(side("a"), side("b", saved=saved, act="maximum"))
    assert "dtype" not in kinds(found)
    assert broken(parse_thresholds("dtype"), found) == []
    work = next(change for change in found.changes if change.kind == "operation" and change.arithmetic)
    assert work.what == "1 operation more, 1 operation fewer (multiply, maximum) at train.py:16 (mlp)"


def test_other_arithmetic_leads_what_follows_from_it() -> None:
    found = compare(side("a"), side("b", act="maximum"))
    assert found.changes[0].source_b == "train.py:16"
    assert all(change.follows == found.changes[0].what for change in found.changes[1:])


@pytest.mark.parametrize(("dtype", "saved"), [("bf16", "f32"), ("f32", "bf16"), ("s32", "f32")])
def test_another_type_is_one(dtype: str, saved: str) -> None:
    found = compare(side("a"), side("b", dtype=dtype, saved=saved))
    assert "dtype" in kinds(found)
    assert [each.threshold for each in broken(parse_thresholds("dtype"), found)] == ["dtype"]


def test_of_a_cpu_program_nobody_knows_who_asked() -> None:
    narrow = side("a", saved="bf16", scheduled=True), side("b", saved="bf16", act="add", scheduled=True)
    found = compare(*narrow)
    assert any("the CPU compiler computes bf16" in note for note in found.notes)
    with pytest.raises(ContractLintError, match="'dtype' cannot be judged"):
        broken(parse_thresholds("dtype"), found)
    assert compare(narrow[0], narrow[0]).notes == []


def test_what_the_partitioner_left_tells_types() -> None:
    run = side("a", saved="bf16", scheduled=True), side("b", saved="bf16", act="add", scheduled=True)
    same = compare(*run, asked=(side("a", saved="bf16"), side("b", saved="bf16")))
    assert broken(parse_thresholds("dtype"), same) == [] and same.notes == []
    cast = compare(*run, asked=(side("a", dtype="bf16"), side("b")))
    assert [each.threshold for each in broken(parse_thresholds("dtype"), cast)] == ["dtype"]
    (change,) = [change for change in cast.changes if change.kind == "dtype"]
    assert (change.before, change.after, change.source_b) == ("bf16", "f32", "train.py:16")


@pytest.mark.parametrize("scheduled", [True, False], ids=["f32 alone", "not compiled"])
def test_where_types_are_as_written_they_are_judged(scheduled: bool) -> None:
    saved = "f32" if scheduled else "bf16"
    found = compare(side("a", saved=saved, scheduled=scheduled), side("b", saved=saved, act="add", scheduled=scheduled))
    assert broken(parse_thresholds("dtype"), found) == []
    assert found.notes == [] and found.unjudged == {}
