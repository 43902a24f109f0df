"""What arguments are by what is done with them, in programs whose names tell nothing."""

from __future__ import annotations

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.memory import memory
from contract_lint.hlo_tools.module import parse_hlo

FORWARD = 'metadata={op_name="jit(f)/jvp()/dot_general"}'
BACKWARD = 'metadata={op_name="jit(f)/transpose(jvp())/dot_general"}'
PLAIN = 'metadata={op_name="jit(f)/dot_general"}'
CONTRACT = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
TURNED = "lhs_contracting_dims={0}, rhs_contracting_dims={0}"
AHEAD = "lhs_contracting_dims={1}, rhs_contracting_dims={1}"


def classes(entry: str, alias: str = "") -> dict[str, str]:
    """Argument -> class."""
    text = f"HloModule jit_f, is_scheduled=true{alias}\n\nENTRY %main {{\n{entry}}}\n"
    return {b.name: b.class_ for b in memory(None, parse_hlo(text)).buffers if b.name.startswith("arg_")}


TWO_LAYERS = f"""  %arg_x = f32[64,32]{{1,0}} parameter(0)
  %arg_a = f32[32,48]{{1,0}} parameter(1)
  %arg_b = f32[48,16]{{1,0}} parameter(2)
  %h = f32[64,48]{{1,0}} dot(%arg_x, %arg_a), {CONTRACT}, {PLAIN}
  %s = f32[64,48]{{1,0}} sine(%h)
  ROOT %y = f32[64,16]{{1,0}} dot(%s, %arg_b), {CONTRACT}, {PLAIN}
"""


def test_a_product_with_something_computed_tells_a_weight_and_one_of_two_arguments_neither() -> None:
    assert classes(TWO_LAYERS) == {"arg_x": "argument", "arg_a": "argument", "arg_b": "parameter"}


def test_what_is_multiplied_with_several_arguments_is_the_input() -> None:
    entry = TWO_LAYERS.replace("ROOT ", "") + (
        "  %arg_c = f32[32,16]{1,0} parameter(3)\n"
        f"  %skip = f32[64,16]{{1,0}} dot(%arg_x, %arg_c), {CONTRACT}, {PLAIN}\n"
        "  ROOT %sum = f32[64,16]{1,0} add(%y, %skip)\n"
    )
    found = classes(entry)
    assert found == {"arg_x": "input", "arg_a": "parameter", "arg_b": "parameter", "arg_c": "parameter"}


def test_a_table_is_a_parameter_and_its_indices_an_input() -> None:
    entry = """  %arg_table = f32[100,32]{1,0} parameter(0)
  %arg_tokens = s32[64,1]{1,0} parameter(1)
  ROOT %rows = f32[64,32]{1,0} gather(%arg_table, %arg_tokens), offset_dims={1}, collapsed_slice_dims={0},
    start_index_map={0},
    index_vector_dim=1, slice_sizes={1,32}
"""
    assert classes(entry) == {"arg_table": "parameter", "arg_tokens": "input"}


def test_what_is_multiplied_with_a_constant_is_an_input() -> None:
    entry = f"""  %arg_x = f32[64,32]{{1,0}} parameter(0)
  %table = f32[32,48]{{1,0}} constant({{...}})
  ROOT %y = f32[64,48]{{1,0}} dot(%arg_x, %table), {CONTRACT}, {PLAIN}
"""
    assert classes(entry) == {"arg_x": "input"}


CACHED = f"""  %arg_q = f32[1,32]{{1,0}} parameter(0)
  %arg_cache = f32[128,32]{{1,0}} parameter(1)
  %at = s32[] constant(0)
  %s = f32[1,32]{{1,0}} sine(%arg_q)
  %scores = f32[1,128]{{1,0}} dot(%s, %arg_cache), {AHEAD}, {PLAIN}
  %cache = f32[128,32]{{1,0}} dynamic-update-slice(%arg_cache, %s, %at, %at)
  ROOT %out = (f32[1,128]{{1,0}}, f32[128,32]{{1,0}}) tuple(%scores, %cache)
"""


def test_a_cache_that_is_updated_in_place_is_no_weight() -> None:
    alias = ", input_output_alias={ {1}: (1, {}, may-alias) }"
    assert classes(CACHED, alias)["arg_cache"] == "argument"
    assert classes(CACHED)["arg_cache"] == "parameter"


def test_what_nothing_tells_of_is_an_argument() -> None:
    entry = "  %arg_x = f32[64]{0} parameter(0)\n  ROOT %y = f32[64]{0} sine(%arg_x)\n"
    assert classes(entry) == {"arg_x": "argument"}


STEP = f"""  %arg_m = f32[32,16]{{1,0}} parameter(0)
  %arg_w = f32[32,16]{{1,0}} parameter(1)
  %arg_x = f32[64,32]{{1,0}} parameter(2)
  %arg_frozen = f32[16,16]{{1,0}} parameter(3)
  %y = f32[64,16]{{1,0}} dot(%arg_x, %arg_w), {CONTRACT}, {FORWARD}
  %z = f32[64,16]{{1,0}} dot(%y, %arg_frozen), {CONTRACT}, {FORWARD}
  %dy = f32[64,16]{{1,0}} dot(%z, %arg_frozen), {AHEAD}, {BACKWARD}
  %dw = f32[32,16]{{1,0}} dot(%arg_x, %dy), {TURNED}, {BACKWARD}
  %m = f32[32,16]{{1,0}} add(%arg_m, %dw), metadata={{op_name="jit(f)/add"}}
  %w = f32[32,16]{{1,0}} subtract(%arg_w, %m), metadata={{op_name="jit(f)/sub"}}
  ROOT %out = (f32[32,16]{{1,0}}, f32[32,16]{{1,0}}) tuple(%m, %w)
"""


@pytest.mark.parametrize("alias", ["", ", input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }"])
def test_a_training_step(alias: str) -> None:
    """The model reads `w` and returns its like; `m`, of the same shape, only the update reads."""
    assert classes(STEP, alias) == {
        "arg_m": "optimizer_slot",
        "arg_w": "parameter",
        "arg_x": "input",
        "arg_frozen": "parameter",
    }


def test_names_come_first() -> None:
    entry = TWO_LAYERS.replace("parameter(0)", "parameter(0), metadata={op_name=\"params['w']\"}")
    found = classes(entry)
    assert found["arg_x"] == "parameter"
    assert found["arg_b"] == "input"


UNNAMED = f"""  %arg_w = f32[32,48]{{1,0}} parameter(0)
  %arg_x = f32[64,32]{{1,0}} parameter(1)
  %y = f32[64,48]{{1,0}} dot(%arg_x, %arg_w), {CONTRACT}, {FORWARD}
  %dy = f32[64,48]{{1,0}} multiply(%y, %y), metadata={{op_name="jit(f)/transpose(jvp())/mul"}}
  %turned = f32[48,32]{{1,0}} dot(%dy, %arg_x), {TURNED}
  ROOT %dw = f32[32,48]{{1,0}} transpose(%turned), dimensions={{1,0}}, metadata={{op_name="READER/transpose"}}
"""


def test_a_product_without_a_name_is_in_the_pass_of_what_reads_it() -> None:
    """The compiler turned the gradient's product round, and left it no name: `x` is no weight of the forward pass."""
    assert classes(UNNAMED.replace("READER", "jit(f)/transpose(jvp())")) == {"arg_w": "parameter", "arg_x": "input"}
    read_forward = classes(UNNAMED.replace("READER", "jit(f)/jvp()"))
    assert read_forward == {"arg_w": "parameter", "arg_x": "parameter"}


def test_a_product_without_a_name_weighs_in_a_program_without_a_backward_pass() -> None:
    found = classes(TWO_LAYERS.replace(f", {PLAIN}", ""))
    assert found == {"arg_x": "argument", "arg_a": "argument", "arg_b": "parameter"}


OF_ONE_SHAPE = f"""  %arg_x = f32[64,64]{{1,0}} parameter(0)
  %arg_w = f32[64,64]{{1,0}} parameter(1)
  %y = f32[64,64]{{1,0}} dot(%arg_x, %arg_w), {CONTRACT}, {FORWARD}
  %dy = f32[64,64]{{1,0}} multiply(%y, %y), metadata={{op_name="jit(f)/transpose(jvp())/mul"}}
  GRADIENT
  ROOT %sum = f32[64,64]{{1,0}} all-reduce(%d), replica_groups={{}}, to_apply=%add
"""
OF_W = f"%d = f32[64,64]{{1,0}} dot(%arg_x, %dy), {TURNED}, {BACKWARD}"
OF_X = f"%d = f32[64,64]{{1,0}} dot(%dy, %arg_w), {AHEAD}, {BACKWARD}"


@pytest.mark.parametrize(("gradient", "of", "other"), [(OF_W, "arg_w", "arg_x"), (OF_X, "arg_x", "arg_w")])
def test_a_gradient_is_not_that_of_the_argument_which_its_product_multiplies(
    gradient: str, of: str, other: str
) -> None:
    assert classes(OF_ONE_SHAPE.replace("GRADIENT", gradient)) == {of: "parameter", other: "input"}


SPLIT = f"""  %arg_x = f32[8,64]{{1,0}} parameter(0), sharding={{devices=[8,1]<=[8]}}
  %arg_w = f32[8,64]{{1,0}} parameter(1)PLACEMENT
  %all = f32[64,64]{{1,0}} all-gather(%arg_w), replica_groups={{}}, dimensions={{0}}
  %y = f32[8,64]{{1,0}} dot(%arg_x, %all), {CONTRACT}, {FORWARD}
  %dy = f32[8,64]{{1,0}} multiply(%y, %y), metadata={{op_name="jit(f)/transpose(jvp())/mul"}}
  %dw = f32[64,64]{{1,0}} dot(%arg_x, %dy), {TURNED}, {BACKWARD}
  ROOT %sum = f32[64,64]{{1,0}} all-reduce(%dw), replica_groups={{}}, to_apply=%add
"""


@pytest.mark.parametrize(
    "placement",
    ["{devices=[8,1]<=[8]}", "{devices=[8,1]0,1,2,3,4,5,6,7}", "{mesh['a'=8], [{'a'}, {}]}"],
)
def test_a_gradient_that_every_device_returns_whole_is_that_of_a_split_parameter(placement: str) -> None:
    text = SPLIT.replace("PLACEMENT", f", sharding={placement}")
    assert classes(text) == {"arg_x": "input", "arg_w": "parameter"}


def test_nothing_returned_is_like_an_argument_that_is_split_otherwise() -> None:
    text = SPLIT.replace("PLACEMENT", ", sharding={devices=[4,1,2]<=[8] last_tile_dim_replicate}")
    assert classes(text) == {"arg_x": "input", "arg_w": "input"}


def named(alias: str) -> dict[str, str]:
    """The classes of STEP's arguments where the parameters have a name that tells, and the momentum has none."""
    names = {"m": "mom['w']", "w": "params['w']", "x": "batch"}
    step = STEP
    for at, name in enumerate(names.values()):
        step = step.replace(f"parameter({at})\n", f'parameter({at}), metadata={{op_name="{name}"}}\n')
    return classes(step, alias)


@pytest.mark.parametrize("alias", ["", ", input_output_alias={ {1}: (1, {}, may-alias) }"])
def test_an_unnamed_slot_beside_named_parameters_is_one_whether_it_is_donated_or_not(alias: str) -> None:
    found = named(alias)
    assert (found["arg_m"], found["arg_w"], found["arg_x"]) == ("optimizer_slot", "parameter", "input")


def test_what_has_a_parameters_shape_and_is_not_returned_is_no_slot() -> None:
    """Gradients that are given to a step which returns the parameters alone."""
    found = {
        made.name: made.class_
        for made in memory(
            None,
            parse_hlo(
                """HloModule jit_apply, is_scheduled=true

ENTRY %main {
  %arg_g = f32[32,16]{1,0} parameter(0), metadata={op_name="grads['w']"}
  %arg_w = f32[32,16]{1,0} parameter(1), metadata={op_name="params['w']"}
  ROOT %w = f32[32,16]{1,0} subtract(%arg_w, %arg_g), metadata={op_name="jit(f)/sub"}
}
"""
            ),
        ).buffers
    }
    assert (found["arg_g"], found["arg_w"]) == ("input", "parameter")


def test_a_parameter_with_a_number_below_0_is_refused() -> None:
    with pytest.raises(ContractLintError, match=r"parameter 'arg_x' has a number below 0"):
        classes("  %arg_x = f32[8]{0} parameter(-1)\n  ROOT %y = f32[8]{0} negate(%arg_x)\n")
