"""Where a change comes from: told by the first stage whose text differs in more than names and places."""

from __future__ import annotations

from contract_lint.hlo_tools.diff.placement import Placement, placed

JAXPR = """{ lambda ; a:f32[8,8] b:f32[8]. let
    c:f32[8,8] = tanh a
    d:f32[8] = dot_general[dimension_numbers=(([1], [0]), ([], []))] c b
  in (d,) }
"""
STABLEHLO = """#loc1 = loc("a")
module @jit_f {
  func.func public @main(%arg0: tensor<8x8xf32> loc("a"), %arg1: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<8x8xf32> loc(#loc4)
    %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0] : tensor<8xf32> loc(#loc5)
    return %1 : tensor<8xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc4 = loc("jit(f)/tanh"("train.py":3:5 to :12))
"""


def place(jaxpr: str = JAXPR, lowered: str = STABLEHLO, same: bool = False) -> Placement:
    found = placed((JAXPR, jaxpr), (STABLEHLO, lowered), same, ["jax 1 -> 2"])
    assert found is not None
    return found


def test_names_and_places_are_no_difference() -> None:
    other = JAXPR.replace("c:f32", "bf:f32").replace(" c b", " bf b")
    moved = STABLEHLO.replace("%0", "%cst_7").replace(":3:5 to :12", ":30:5 to :12").replace("#loc4", "#loc9")
    assert place(other, moved, same=True).where == "nowhere"
    assert place(other, moved).where == "in the compiler"


def test_the_traced_program_tells_of_your_code() -> None:
    more = JAXPR.replace("    d:", "    e:f32[8,8] = exp c\n    d:").replace(" c b", " e b")
    found = place(more)
    assert found.where == "in your code"
    assert found.sentence == "in your code: the traced program differs (+1 exp)"
    assert found.as_json()["made_by"] == ["jax 1 -> 2"]


def test_other_operands_of_the_same_operations_are_a_difference() -> None:
    assert place(JAXPR.replace(" c b", " a b")).where == "in your code"
    assert place(lowered=STABLEHLO.replace("%0, %arg1", "%arg0, %arg1")).where == "in the lowering or the versions"


def test_the_lowered_program_tells_of_versions() -> None:
    found = place(lowered=STABLEHLO.replace("stablehlo.tanh", "stablehlo.logistic"))
    assert found.where == "in the lowering or the versions"
    assert set(found.stages[1].differences) == {"+1 stablehlo.logistic", "-1 stablehlo.tanh"}


def test_without_both_texts_nothing_is_said() -> None:
    assert placed((JAXPR, None), (STABLEHLO, STABLEHLO), False, []) is None
