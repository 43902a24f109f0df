"""Code that only moved, or moved to another file, is no change, and a change is shown at both of its lines."""

from __future__ import annotations

from contract_lint.hlo_tools.diff import Side, compare
from contract_lint.hlo_tools.module import parse_hlo

# ruff: noqa: E501
PROGRAM = """\
HloModule step, entry_computation_layout={{(f32[8,8]{{1,0}})->f32[8,8]{{1,0}}}}

ENTRY main {{
  x = f32[8,8]{{1,0}} parameter(0)
  a = {wide}[8,8]{{1,0}} tanh(x), metadata={{op_name="jit(f)/mlp/tanh" source_file="{path}" source_line={first}}}
  b = f32[8,8]{{1,0}} dot(a, x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, metadata={{op_name="jit(f)/mlp/dot" source_file="{path}" source_line={second}}}
  ROOT c = f32[8,8]{{1,0}} {last}(b), metadata={{op_name="jit(f)/out/{last}" source_file="{path}" source_line={third}}}
}}
"""


def side(path: str = "train.py", by: int = 0, last: str = "exponential") -> Side:
    text = PROGRAM.format(wide="f32", path=path, first=10 + by, second=11 + by, third=20 + by, last=last)
    return Side(path, parse_hlo(text))


def test_moved_code_is_no_change() -> None:
    assert compare(side(), side(by=7)).verdict == "same"
    assert compare(side(), side("model/train.py", by=7)).verdict == "same"


def test_a_change_in_moved_code_names_both_lines() -> None:
    found = compare(side(last="sqrt"), side(by=7, last="sine"))
    (change,) = [change for change in found.changes if change.kind == "operation"]
    assert change.what == "1 operation more, 1 operation fewer (sqrt, sine) at train.py:27 (out)"
    assert (change.source_a, change.source_b) == ("train.py:20", "train.py:27")


def test_the_order_of_a_sum_is_no_change() -> None:
    text = "HloModule m\nENTRY e {{\n  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  ROOT s = f32[4] {}\n}}\n"
    added, swapped, less = (parse_hlo(text.format(op)) for op in ("add(x, y)", "add(y, x)", "subtract(y, x)"))
    assert compare(Side("a", added), Side("b", swapped)).verdict == "same"
    assert compare(Side("a", added), Side("b", less)).verdict == "changed"
