"""A windowed einsum is one gather or scatter; the user's own rings stay permutes."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.hlo_tools.canonical import canonical
from contract_lint.hlo_tools.collectives import Collective
from contract_lint.hlo_tools.module import parse_hlo

from ..diff.shuffled import shuffled

CORPUS = os.environ.get("CONTRACT_LINT_CORPUS")
MESH = MeshFact(axes={"model": 4})
LEFT = "channel_id=1, source_target_pairs={{0,3},{1,0},{2,1},{3,2}}"
RIGHT = "channel_id=2, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}"


def ring(body: str, trips: int, permutes: int, before: bool = False, after: bool = False, width: int = 8) -> str:
    """A loop of `trips` rounds that passes a shard of `width` elements on `permutes` times a round."""
    shard = f"f32[{width}]"
    steps = "\n".join(
        f"  %p{i} = {shard} collective-permute({'%shard' if i == 0 else f'%p{i - 1}'}), {LEFT}" for i in range(permutes)
    )
    first = f"  %first = {shard} collective-permute(%x), {RIGHT}\n" if before else f"  %first = {shard} copy(%x)\n"
    last = (
        f"  ROOT %last = {shard} collective-permute(%out), {RIGHT}" if after else f"  ROOT %last = {shard} copy(%out)"
    )
    return f"""HloModule m, num_partitions=4
%{body} (c: (s32[], {shard})) -> (s32[], {shard}) {{
  %c = (s32[], {shard}) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %shard = {shard} get-tuple-element(%c), index=1
{steps}
  ROOT %t = (s32[], {shard}) tuple(%next, %p{permutes - 1})
}}
%condition (c: (s32[], {shard})) -> pred[] {{
  %c = (s32[], {shard}) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %n = s32[] constant({trips})
  ROOT %less = pred[] compare(%i, %n), direction=LT
}}
ENTRY %main (x: {shard}) -> {shard} {{
  %x = {shard} parameter(0)
  %zero = s32[] constant(0)
{first}  %init = (s32[], {shard}) tuple(%zero, %first)
  %loop = (s32[], {shard}) while(%init), condition=%condition, body=%{body}
  %out = {shard} get-tuple-element(%loop), index=1
{last}
}}
"""


def rows(text: str) -> list[tuple[str, int, int, int, int]]:
    found = canonical(parse_hlo(text), MESH).rows
    return [(row.kind, row.count, row.elements, row.loop_depth, row.ring_bytes) for row in found]


@pytest.mark.parametrize(
    ("trips", "permutes", "before", "after"),
    [(4, 1, False, False), (3, 1, False, False), (2, 2, True, False), (2, 2, False, True), (1, 4, True, False)],
)
@pytest.mark.parametrize(("name", "kind"), [("ag", "all-gather"), ("rs", "reduce-scatter")])
def test_the_permutes_of_a_loop_are_one_collective(
    name: str, kind: str, trips: int, permutes: int, before: bool, after: bool
) -> None:
    for body in (f"windowed_dot_general_body_{name}", f"wide.windowed_dot_general_body_{name}.2.clone.sunk"):
        assert rows(ring(body, trips, permutes, before, after)) == [(kind, 1, 32, 0, 96)]


def test_a_ring_of_the_user_stays() -> None:
    assert [kind for kind, *_ in rows(ring("ring_attention_body", 4, 1))] == ["collective-permute"]


@pytest.mark.parametrize(("trips", "permutes"), [(5, 1), (2, 1), (4, 2)])
def test_a_loop_that_does_not_go_once_around_stays(trips: int, permutes: int) -> None:
    found = rows(ring("windowed_dot_general_body_ag", trips, permutes))
    assert [(kind, count) for kind, count, *_ in found] == [("collective-permute", trips)] * permutes


def test_the_groups_of_a_folded_loop_are_its_rings() -> None:
    (row,) = canonical(parse_hlo(ring("windowed_dot_general_body_ag", 3, 1)), MESH).rows
    assert row.groups == ((0, 1, 2, 3),)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True)])
def test_the_order_in_which_a_program_is_printed_does_not_matter(seed: int, before: bool, after: bool) -> None:
    """Both ways round the ring: which of the two permutes is printed first is the compiler's choice."""
    text = both_ways(before, after)
    again = shuffled(parse_hlo(text), seed, rename=False)
    assert seen(again) == seen(text)
    assert [(kind, count) for kind, count, *_ in seen(text)] == [("all-gather", 1)]


def both_ways(before: bool, after: bool) -> str:
    """A loop of two rounds over four devices that passes one shard to the left and one to the right."""
    text = ring("windowed_dot_general_body_ag", 2, 2, before, after)
    inner = f"  %p1 = f32[8] collective-permute(%p0), {LEFT}"
    assert inner in text
    return (
        text.replace(inner, f"  %p1 = f32[8] collective-permute(%shard), {RIGHT}")
        .replace("tuple(%next, %p1)", "tuple(%next, %sum)")
        .replace("  ROOT %t", "  %sum = f32[8] add(%p0, %p1)\n  ROOT %t")
    )


def seen(text: str) -> list[tuple]:
    """All that a reader of the ledger sees of each row but its place in the program."""
    return [
        (row.kind, row.count, row.elements, row.groups, row.name, row.channel_id, row.scope, row.source)
        for row in canonical(parse_hlo(text), MESH).rows
    ]


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS, reason="CONTRACT_LINT_CORPUS does not name the shared corpus")
@pytest.mark.parametrize("path", sorted(Path(CORPUS or ".").glob("corpus/compiled/*.tpu*.opt.hlo.txt.gz")), ids=str)
def test_real_programs_in_any_order(path: Path) -> None:
    module = parse_hlo(path.read_bytes())
    rows = Counter(map(told, canonical(module).rows))
    for seed in range(3):
        assert Counter(map(told, canonical(parse_hlo(shuffled(module, seed, rename=False))).rows)) == rows


def told(row: Collective) -> tuple:
    return (row.kind, row.groups, row.count, row.elements, row.ring_bytes, row.name, row.source, row.scope)
