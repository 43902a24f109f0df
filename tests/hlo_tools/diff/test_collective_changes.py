"""Collectives that are cut another way: joined or split, at one line or over several, and what is a new one."""

from __future__ import annotations

import pytest
from contract_lint.hlo_tools.diff import Change, Diff, Side, compare
from contract_lint.hlo_tools.diff.thresholds import broken, parse_thresholds
from contract_lint.hlo_tools.module import parse_hlo

DATA, FSDP = "{{0,2},{1,3}}", "{{0,1},{2,3}}"
Asked = list[tuple[int, str, int]]
"""(elements, groups, line) of each all-reduce of a program."""


def program(asked: Asked) -> str:
    lines = ["HloModule step, num_partitions=4", "add {", "  a = f32[] parameter(0)", "  b = f32[] parameter(1)"]
    lines += ["  ROOT sum = f32[] add(a, b)", "}", "ENTRY main {"]
    for number, (elements, groups, line) in enumerate(asked):
        shape = f"f32[{elements}]{{0}}"
        lines.append(f"  x{number} = {shape} parameter({number})")
        lines.append(
            f"  r{number} = {shape} all-reduce(x{number}), channel_id={number + 1}, replica_groups={groups}, "
            f'use_global_device_ids=true, to_apply=add, metadata={{source_file="train.py" source_line={line}}}'
        )
    results = range(len(asked))
    shape = ", ".join(f"f32[{elements}]{{0}}" for elements, _, _ in asked)
    lines += [f"  ROOT all = ({shape}) tuple({', '.join(f'r{number}' for number in results)})", "}"]
    return "\n".join(lines)


def diff(a: Asked, b: Asked) -> Diff:
    return compare(Side("a", parse_hlo(program(a))), Side("b", parse_hlo(program(b))))


def collectives(found: Diff) -> list[Change]:
    return [change for change in found.changes if change.kind.startswith("collective")]


@pytest.mark.parametrize(
    ("a", "b", "said", "new"),
    [
        ([(8, DATA, 5)] * 4, [(16, DATA, 5)] * 2, "2 all-reduces, not 4, ", False),
        ([(16, DATA, 5)] * 2, [(8, DATA, 5)] * 4, "4 all-reduces, not 2, ", True),
        ([(8, DATA, 5)] * 4, [(16, DATA, 5), (8, DATA, 5), (4, DATA, 5)], "2 all-reduces, not 3, ", False),
        ([(8, DATA, 5), (8, DATA, 6)], [(16, DATA, 9)], "1 all-reduce, not 2, ", False),
        ([(16, DATA, 9)], [(8, DATA, 5), (8, DATA, 6)], "2 all-reduces, not 1, ", True),
        ([(8, DATA, 5)] * 2 + [(4, DATA, 5)], [(10, DATA, 5)] * 3, "3 all-reduces of other sizes ", False),
    ],
    ids=["joined", "split", "partly joined", "joined over lines", "split over lines", "as many"],
)
def test_cut_another_way(a: Asked, b: Asked, said: str, new: bool) -> None:
    found = diff(a, b)
    (change,) = collectives(found)
    assert change.what.startswith(said), change.what
    assert change.before and change.after
    assert bool(broken(parse_thresholds("new-collective"), found)) is new


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([(8, DATA, 5)] * 4, [(16, FSDP, 5)] * 2),
        ([(8, DATA, 5)] * 4, [(17, DATA, 9)] * 2),
        ([(8, DATA, 5)] * 4, [(16, DATA, 5)] * 2 + [(8, FSDP, 5)]),
    ],
    ids=["over other devices", "of another size at another line", "one more over other devices"],
)
def test_one_that_is_new_stays_one(a: Asked, b: Asked) -> None:
    found = diff(a, b)
    assert broken(parse_thresholds("new-collective"), found)
    assert len(collectives(found)) == 2
