"""A conditional: what its cheaper branch does counts as a change, and figures stay those of the dearer one."""

from __future__ import annotations

from contract_lint.hlo_tools.diff import Side, compare
from contract_lint.hlo_tools.diff.thresholds import broken, parse_thresholds
from contract_lint.hlo_tools.module import parse_hlo

TEXT = """HloModule m, is_scheduled=true, num_partitions=4

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
dear {
  p = f32[64] parameter(0)
  ROOT y = f32[64] all-reduce(p), replica_groups={{0,1},{2,3}}, channel_id=1, use_global_device_ids=true, to_apply=add
}
cheap {
  p = f32[64] parameter(0)
  s = f32[8] slice(p), slice={[0:8]}
  z = f32[8] OPERATION
  ROOT y = f32[64] broadcast(z), dimensions={0}
}
ENTRY main {
  x = f32[64] parameter(0)
  q = pred[] parameter(1)
  ROOT r = f32[64] conditional(q, x, x), true_computation=dear, false_computation=cheap
}
"""
SUMMED = "all-reduce(s), replica_groups={{0,2},{1,3}}, channel_id=2, use_global_device_ids=true, to_apply=add"


def side(operation: str) -> Side:
    return Side("x", parse_hlo(TEXT.replace("OPERATION", operation)), None)


def test_a_collective_in_the_cheaper_branch_is_new() -> None:
    asked = parse_thresholds("new-collective,ring_bytes>+0%,collectives>+0")
    diff = compare(side("negate(s)"), side(SUMMED))
    assert [each.threshold for each in broken(asked, diff)] == ["new-collective"]
    assert diff.changes[0].kind == "collective" and diff.changes[0].after == 32
    assert broken(asked, compare(side(SUMMED), side("negate(s)"))) == []
    assert compare(side(SUMMED), side(SUMMED)).same
