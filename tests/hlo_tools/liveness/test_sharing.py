"""Which results lie where an operand lay: each rule of XLA's with a twin in which it does not hold."""

from __future__ import annotations

from typing import Any

import pytest
from contract_lint.hlo_tools.liveness.ranges import Group
from contract_lint.hlo_tools.memory import memory
from contract_lint.hlo_tools.module import parse_hlo

KIB = 1024
A, ROWS = "f32[256]", "f32[8,32]"
"""One kibibyte each."""
GPU = ', backend_config={"operation_queue_id":"0"}'


def temporaries(lines: str, before: str = "", arguments: str = f"x: {A}") -> int:
    """Bytes that live at once besides the argument `x` and a result of sixteen bytes, in whole kibibytes."""
    body = f'  %x = {A} parameter(0)\n{lines}\n  ROOT %end = f32[4] custom-call(%last), custom_call_target="end"'
    text = f"HloModule m, is_scheduled=true\n{before}\nENTRY %main ({arguments}) -> f32[4] {{\n{body}\n}}\n"
    found = memory(None, parse_hlo(text))
    assert found.method == "liveness"
    return (found.peak_bytes - found.argument_bytes) // KIB


def made(name: str, shape: str = A, of: str = "%x") -> str:
    return f'  %{name} = {shape} custom-call({of}), custom_call_target="make"\n'


ORDER = (
    "%less (a: f32[], b: f32[], c: f32[], d: f32[]) -> pred[] {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n"
    "  %c = f32[] parameter(2)\n  %d = f32[] parameter(3)\n  ROOT %lt = pred[] compare(%a, %b), direction=LT\n}\n"
)
READ = f"  %first = {A} get-tuple-element(%sorted), index=0\n  %last = {A} get-tuple-element(%sorted), index=1"
SORT = f"  %sorted = ({A}, {A}) sort(%a, %b), dimensions={{0}}, to_apply=%less\n"


def test_each_operand_of_a_sort_becomes_its_part_of_the_result() -> None:
    assert temporaries(made("a") + made("b") + SORT + READ, ORDER) == 2


def test_an_operand_that_a_sort_is_not_alone_to_read_is_kept() -> None:
    """XLA asks for the only reader, though the other one is done."""
    other = made("c", "f32[4]", "%b")
    assert temporaries(made("a") + made("b") + other + SORT + READ, ORDER) == 3


@pytest.mark.parametrize(("sorted_by", "takes"), [("%p0, %p1", 2), ("%p0, %p0", 4)])
def test_a_sort_in_a_fusion_on_a_gpu(sorted_by: str, takes: int) -> None:
    """What is given twice lies where neither part of the result may."""
    fused = (
        f"%fused (p0: {A}, p1: {A}) -> ({A}, {A}) {{\n  %p0 = {A} parameter(0)\n  %p1 = {A} parameter(1)\n"
        f"  ROOT %s = ({A}, {A}) sort({sorted_by}), dimensions={{0}}, to_apply=%less\n}}\n"
    )
    call = f"  %sorted = ({A}, {A}) fusion(%a, %b), kind=kInput, calls=%fused{GPU}\n"
    assert temporaries(made("a") + made("b") + call + READ, ORDER + fused) == takes


BOTH = (
    f"%both (p: {A}) -> ({A}, {A}) {{{{\n  %p = {A} parameter(0)\n  %n = {A} negate(%p)\n"
    f"  %r = {A} {{second}}\n  ROOT %t = ({A}, {A}) tuple(%n, %r)\n}}}}\n"
)
PARTS = f"  %sorted = ({A}, {A}) fusion(%a), kind=kLoop, calls=%both{{config}}\n"


@pytest.mark.parametrize("config", ["", GPU])
@pytest.mark.parametrize(("second", "takes"), [("tanh(%n)", 2), ("reverse(%n), dimensions={0}", 3)])
def test_one_of_several_results_of_a_fusion_lies_where_its_operand_lay(config: str, second: str, takes: int) -> None:
    assert temporaries(made("a") + PARTS.format(config=config) + READ, BOTH.format(second=second)) == takes


@pytest.mark.parametrize(("config", "takes"), [("", 2), (GPU, 1)])
def test_another_shape_of_the_same_bytes_is_written_in_place_on_a_gpu(config: str, takes: int) -> None:
    lines = f"  %p = {A} parameter(0)\n  %v = {ROWS} bitcast(%p)\n  ROOT %n = {ROWS} negate(%v)\n"
    fused = f"%f (p: {A}) -> {ROWS} {{\n{lines}}}\n"
    call = f"  %last = {ROWS} fusion(%a), kind=kLoop, calls=%f{config}"
    assert temporaries(made("a") + call, fused) == takes


UPDATE = f"""%f (p: {A}, i: s32[]) -> {A} {{
  %p = {A} parameter(0)
  %i = s32[] parameter(1)
  %s = f32[8] dynamic-slice(%p, PLACE), dynamic_slice_sizes={{8}}
  %n = f32[8] negate(%s)
  ROOT %u = {A} dynamic-update-slice(%p, %n, %i)
}}
"""
AT = '  %i = s32[] custom-call(), custom_call_target="make"\n'


def test_what_an_update_changes_it_changes_in_place_through_a_tuple() -> None:
    """The operand is an element of a tuple: the memory is the same because an update never has its own."""
    two = f'  %two = ({A}, {A}) custom-call(%x), custom_call_target="two"\n'
    elements = f"  %a = {A} get-tuple-element(%two), index=0\n  %b = {A} get-tuple-element(%two), index=1\n"
    call = f"  %u = {A} fusion(%b, %i), kind=kLoop, calls=%f\n"
    end = '  %last = f32[4] custom-call(%u, %a), custom_call_target="make"'
    assert temporaries(two + elements + AT + call + end, UPDATE.replace("PLACE", "%i")) == 2


def test_what_is_read_again_after_an_update_keeps_its_memory() -> None:
    """XLA would have copied it; a text made by hand may not have."""
    update = made("b", "f32[4]") + AT + f"  %u = {A} dynamic-update-slice(%a, %b, %i)\n"
    end = '  %last = f32[4] custom-call(%u, {0}), custom_call_target="make"'
    assert temporaries(made("a") + update + end.format("%u")) == 1
    assert temporaries(made("a") + update + end.format("%a")) == 2


def test_what_a_call_is_given_ends_where_it_is_read_last_within() -> None:
    """Not where the call returns: `b` in it takes the memory that `a` gave back."""
    called = (
        f"%within (p: {A}) -> f32[4] {{\n  %p = {A} parameter(0)\n"
        '  %s = f32[4] custom-call(%p), custom_call_target="some"\n'
        f'  %b = {A} custom-call(%s), custom_call_target="more"\n'
        '  ROOT %r = f32[4] custom-call(%b), custom_call_target="less"\n}\n'
    )
    assert temporaries(made("a") + "  %last = f32[4] call(%a), to_apply=%within", called) == 1


@pytest.mark.parametrize("other", ["%x0", "%x{}"])
def test_values_in_turn_in_a_results_memory_are_asked_about_their_neighbours_alone(
    other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    interferes = Group.interferes

    def counted(*arguments: Any) -> bool:
        nonlocal asked
        asked += 1
        return interferes(*arguments)

    monkeypatch.setattr(Group, "interferes", counted)
    length = 400
    lines = "".join(f"  %x{i + 1} = {A} add(%x{i}, {other.format(i)})\n" for i in range(length))
    body = f"  %x0 = {A} parameter(0)\n{lines}  ROOT %r = {A} negate(%x{length})\n"
    text = f"HloModule m, is_scheduled=true\nENTRY %e {{\n{body}}}\n"
    found = memory(None, parse_hlo(text))
    assert found.peak_bytes == 2 * KIB and asked <= 2 * length
