"""Windows and dimension numbers of XLA's own protos, read as the text of the same program spells them."""

from __future__ import annotations

from typing import Any

import pytest
from contract_lint.hlo_tools.cost import cost
from contract_lint.hlo_tools.module import parse_hlo

LINES = {
    "padded": "ROOT r = f32[2,8,8,32] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
    "strided": "ROOT r = f32[2,4,8,32] convolution(x, k), window={size=3x3 stride=2x1 pad=0_1x-1_3}, "
    "dim_labels=b01f_01io->b01f",
    "dilated": "ROOT r = f32[2,13,4,32] convolution(x, k), window={size=3x3 lhs_dilate=2x1 rhs_dilate=1x2 "
    "rhs_reversal=1x0}, dim_labels=b01f_01io->b01f",
    "grouped": "ROOT r = f32[2,8,8,32] convolution(x, g), window={size=1x1}, dim_labels=b01f_01io->b01f, "
    "feature_group_count=4",
    "batch groups": "ROOT r = f32[1,8,8,32] convolution(x, k), window={size=3x3 pad=1_1x1_1}, "
    "dim_labels=b01f_01io->b01f, batch_group_count=2",
    "no window": "ROOT r = f32[16,5] convolution(a, b), dim_labels=bf_io->bf",
    "other order": "ROOT r = f32[5,16] convolution(a, b), dim_labels=bf_io->fb",
    "reduce-window": "ROOT r = f32[16,5] reduce-window(a, z), window={size=1x4 stride=1x2 pad=0_0x1_1}, to_apply=add",
    "ragged": "ROOT r = f32[16,5] ragged-dot(a, w, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
    "lhs_ragged_dims={0}, rhs_group_dims={0}",
}
READ = ("window", "dim_labels", "feature_group_count", "batch_group_count", "lhs_ragged_dims", "rhs_group_dims")
READ += ("lhs_contracting_dims", "rhs_contracting_dims")


def program(line: str) -> str:
    return f"""HloModule m
add {{
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT t = f32[] add(p, q)
}}
ENTRY e {{
  x = f32[2,8,8,16] parameter(0)
  k = f32[3,3,16,32] parameter(1)
  g = f32[1,1,4,32] parameter(2)
  a = f32[16,8] parameter(3)
  b = f32[8,5] parameter(4)
  w = f32[2,8,5] parameter(5)
  s = s32[2] parameter(6)
  z = f32[] constant(0)
  {line}
}}
"""


@pytest.mark.parametrize("name", LINES)
def test_proto_reads_as_the_text(name: str) -> None:
    hlo: Any = pytest.importorskip("jaxlib._hlo")
    text = program(LINES[name])
    module = hlo.hlo_module_from_text(text)
    proto = parse_hlo(module.as_serialized_hlo_module_proto())
    said = parse_hlo(module.to_string())
    spelt = [{key: root.attributes.get(key) for key in READ} for root in (proto.entry.root, said.entry.root)]
    assert spelt[0] == spelt[1]
    costs = [cost(each) for each in (proto, said, parse_hlo(text))]
    assert costs[0].flops == costs[1].flops == costs[2].flops > 0
    assert not costs[0].not_counted
