"""A windowed einsum is one gather or scatter; the user's own rings stay permutes."""

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.hlo_tools.canonical import canonical
from contract_lint.hlo_tools.module import parse_hlo

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
