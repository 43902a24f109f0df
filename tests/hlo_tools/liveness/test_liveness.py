"""What XLA's rules of liveness say of small schedules, counted by hand."""

from __future__ import annotations

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.liveness import assigned
from contract_lint.hlo_tools.memory import MemoryLedger, memory
from contract_lint.hlo_tools.module import parse_hlo

KIB = 1024
A = "f32[256]"
"""One kibibyte."""


def ledger(entry: str, arguments: str = f"x: {A}", result: str = A, header: str = "", before: str = "") -> MemoryLedger:
    text = f"HloModule m, is_scheduled=true{header}\n{before}ENTRY %main ({arguments}) -> {result} {{\n{entry}\n}}\n"
    return memory(None, parse_hlo(text))


def heap(found: MemoryLedger) -> int:
    return found.peak_bytes - found.argument_bytes - (found.output_bytes - found.alias_bytes)


X = f"  %x = {A} parameter(0)\n"


def test_a_value_lives_until_it_is_read_last() -> None:
    found = ledger(
        X
        + f"  %a = {A} rng(%x, %x), distribution=rng_uniform\n  %b = {A} reverse(%a), dimensions={{0}}\n"
        + f"  %c = {A} reverse(%b), dimensions={{0}}\n  ROOT %d = {A} reverse(%c), dimensions={{0}}"
    )
    # Besides argument and result: %b and %c at once; %a fits into the result's memory, which is idle until then.
    assert (found.method, found.argument_bytes, found.output_bytes) == ("liveness", KIB, KIB)
    assert heap(found) == 2 * KIB


@pytest.mark.parametrize(("returned", "besides"), [("%late, %early", 2 * 32), ("%early, %late", KIB + 32)])
def test_of_the_memory_of_results_what_is_last_in_post_order_is_lent_first(returned: str, besides: int) -> None:
    """`%a` fits into both results' memory, `%b` into that of `%late` alone, and only where `%a` is not.

    `%s` is on the heap in any case; `%t` where `%b` is read in the memory that it would take.
    """
    lines = (
        f"  %a = {A} reverse(%x), dimensions={{0}}\n  %b = {A} reverse(%a), dimensions={{0}}\n"
        "  %s = f32[8] slice(%a), slice={[0:8]}\n"
        f"  %early = {A} reverse(%x), dimensions={{0}}\n"
        "  %t = f32[8] slice(%b), slice={[0:8]}\n  %q = f32[8] add(%s, %t)\n"
        "  %late = f32[32,8] broadcast(%q), dimensions={1}\n"
    )
    shapes = f"({A}, f32[32,8])" if returned.startswith("%early") else f"(f32[32,8], {A})"
    found = ledger(X + lines + f"  ROOT %r = {shapes} tuple({returned})", result=shapes)
    assert heap(found) == besides


def test_values_are_numbered_as_they_are_found_from_the_result_back() -> None:
    """Of buffers alike the one with the smaller number is put in place first, and the schedule is another order."""
    lines = f"  %b = {A} reverse(%x), dimensions={{0}}\n  %a = {A} sort(%x), dimensions={{0}}, to_apply=%less\n"
    less = "%less (p: f32[], q: f32[]) -> pred[] {\n  %p = f32[] parameter(0)\n  %q = f32[] parameter(1)\n"
    less += "  ROOT %r = pred[] compare(%p, %q), direction=LT\n}\n"
    text = f"HloModule m, is_scheduled=true\n{less}ENTRY %main (x: {A}) -> {A} {{\n{X}{lines}"
    module = parse_hlo(f"{text}  %c = {A} concatenate(%a, %b), dimensions={{0}}\n  ROOT %d = {A} negate(%c)\n}}\n")
    buffers = assigned(module, {}, "cpu").buffers
    number = {buffer.instruction_name: each for each, buffer in buffers.items()}
    assert number["x"] < number["a"] < number["b"] < number["c"]


def test_an_elementwise_operation_is_done_in_place() -> None:
    lines = f"  %a = {A} reverse(%x), dimensions={{0}}\n  %b = {A} negate(%a)\n  %c = {A} tanh(%b)\n"
    after = "  %n = f32[8] slice(%c), slice={[0:8]}\n  ROOT %d = f32[8] reverse(%n), dimensions={0}"
    assert heap(ledger(X + lines + after, result="f32[8]")) == KIB + 32
    backwards = lines.replace("negate(%a)", "reverse(%a), dimensions={0}")
    assert heap(ledger(X + backwards + after, result="f32[8]")) == 2 * KIB


def test_a_bitcast_is_no_memory() -> None:
    lines = f"  %a = {A} reverse(%x), dimensions={{0}}\n  %b = f32[16,16] bitcast(%a)\n"
    assert heap(ledger(X + lines + "  ROOT %d = f32[4,4] slice(%b), slice={[0:4], [0:4]}", result="f32[4,4]")) == KIB


LOOP = f"""
%body (c: (s32[], {A})) -> (s32[], {A}) {{
  %c = (s32[], {A}) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %v = {A} get-tuple-element(%c), index=1
  %w = {A} reverse(%v), dimensions={{0}}
  ROOT %out = (s32[], {A}) tuple(%i, RETURNED)
}}
%condition (c: (s32[], {A})) -> pred[] {{
  %c = (s32[], {A}) parameter(0)
  ROOT %go = pred[] custom-call(), custom_call_target="go"
}}
"""
AROUND = (
    X
    + f'  %zero = s32[] custom-call(), custom_call_target="zero"\n  %a = {A} reverse(%x), dimensions={{0}}\n'
    + f"  %t = (s32[], {A}) tuple(%zero, %a)\n"
    + f"  %loop = (s32[], {A}) while(%t), condition=%condition, body=%body\n"
    + f"  %last = {A} get-tuple-element(%loop), index=1\n  ROOT %d = f32[4] slice(%last), slice={{[0:4]}}"
)


def test_the_state_of_a_loop_stays_where_it_is() -> None:
    changed = ledger(AROUND, result="f32[4]", before=LOOP.replace("RETURNED", "%w"))
    # What a round returns is written where the state lies: there is never a second array.
    assert KIB <= heap(changed) <= KIB + 8
    kept = ledger(AROUND, result="f32[4]", before=LOOP.replace("RETURNED", "%v"))
    assert 2 * KIB <= heap(kept) <= 2 * KIB + 8


def test_an_argument_that_is_given_up_lends_its_memory() -> None:
    lines = f"  %n = f32[4] slice(%x), slice={{[0:4]}}\n  %a = {A} broadcast(%n), dimensions={{}}\n"
    lines += f"  %m = f32[4] slice(%a), slice={{[0:4]}}\n  ROOT %d = {A} broadcast(%m), dimensions={{}}"
    kept = ledger(X + lines)
    given = ledger(X + lines, header=", input_output_alias={ {}: (0, {}, may-alias) }")
    assert kept.peak_bytes - given.peak_bytes == KIB and given.alias_bytes == KIB
    assert heap(given) < KIB, "%a lies in the argument's memory"


@pytest.mark.parametrize(("tiles", "takes"), [("", 2 * KIB), (":T(256)", KIB)])
def test_sums_over_devices_are_in_place_on_accelerators(tiles: str, takes: int) -> None:
    array = f"{A}{{0{tiles}}}"
    found = ledger(
        f"  %x = {array} parameter(0)\n  %a = {array} reverse(%x), dimensions={{0}}\n"
        f"  %s = {array} all-reduce(%a), replica_groups={{}}, to_apply=%add\n"
        "  ROOT %d = f32[4] slice(%s), slice={[0:4]}",
        result="f32[4]",
        before="%add (p: f32[], q: f32[]) -> f32[] {\n  %p = f32[] parameter(0)\n  %q = f32[] parameter(1)\n"
        "  ROOT %r = f32[] add(%p, %q)\n}\n",
    )
    assert heap(found) == takes


def test_other_memories_are_counted_apart() -> None:
    near = "f32[256]{0:T(256)S(1)}"
    found = ledger(
        f"  %x = f32[256]{{0:T(256)}} parameter(0)\n  %a = {near} copy(%x)\n"
        "  ROOT %d = f32[4] slice(%a), slice={[0:4]}",
        result="f32[4]",
    )
    assert heap(found) == 0
    assert {space.name: space.peak_bytes for space in found.spaces}["vmem"] == KIB


def test_a_program_without_schedule_is_refused() -> None:
    text = f"HloModule m\nENTRY %main (x: {A}) -> {A} {{\n{X}  ROOT %d = {A} negate(%x)\n}}\n"
    with pytest.raises(ContractLintError, match="not scheduled"):
        memory(None, parse_hlo(text))
