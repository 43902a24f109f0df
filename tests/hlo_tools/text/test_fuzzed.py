"""Texts that were cut, garbled or tied in knots: every ledger reads them, or says in our own error why it cannot."""

from __future__ import annotations

import re

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.canonical import canonical_ledger, summed
from contract_lint.hlo_tools.collectives import collectives
from contract_lint.hlo_tools.cost import cost
from contract_lint.hlo_tools.diff import Side, compare
from contract_lint.hlo_tools.hotspots import hot_spots
from contract_lint.hlo_tools.memory import memory
from contract_lint.hlo_tools.module import HloModule, parse_hlo
from contract_lint.hlo_tools.summary import summary
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TEXT = """HloModule jit_step, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }, num_partitions=8

FileNames
1 "train.py"

FunctionNames
1 "step"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=3 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

%fused (p: f32[8,16], q: f32[]) -> (f32[8,16], f32[8,16]) {
  %p = f32[8,16]{1,0} parameter(0)
  %q = f32[] parameter(1)
  %w = f32[8,16]{1,0} broadcast(%q), dimensions={}
  %m = f32[8,16]{1,0} multiply(%p, %w)
  %n = f32[8,16]{1,0} negate(%m)
  ROOT %t = (f32[8,16]{1,0}, f32[8,16]{1,0}) tuple(%m, %n)
}

%body (c: (s32[], f32[8,16])) -> (s32[], f32[8,16]) {
  %c = (s32[], f32[8,16]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %v = f32[8,16]{1,0} get-tuple-element(%c), index=1
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %s = f32[8,16]{1,0} all-reduce(%v), channel_id=1, replica_groups=[2,4]<=[4,2]T(1,0), to_apply=%add
  %zero = f32[] constant(0)
  %two = (f32[8,16]{1,0}, f32[8,16]{1,0}) fusion(%s, %zero), kind=kLoop, calls=%fused
  %u = f32[8,16]{1,0} get-tuple-element(%two), index=1, metadata={op_name="jit(step)/while/body/neg" stack_frame_id=1}
  ROOT %out = (s32[], f32[8,16]{1,0}) tuple(%next, %u)
}

%condition (c.1: (s32[], f32[8,16])) -> pred[] {
  %c.1 = (s32[], f32[8,16]{1,0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%c.1), index=0
  %limit = s32[] constant(6)
  ROOT %go = pred[] compare(%i.1, %limit), direction=LT
}

ENTRY %main (x: f32[8,16], y: f32[16,16]) -> (f32[8,16], f32[8,128]) {
  %x = f32[8,16]{1,0} parameter(0), sharding={devices=[8,1]<=[8]}, metadata={op_name="state['w']"}
  %y = f32[16,16]{1,0} parameter(1), sharding={replicated}
  %begin = s32[] constant(0)
  %init = (s32[], f32[8,16]{1,0}) tuple(%begin, %x)
  %loop = (s32[], f32[8,16]{1,0}) while(%init), condition=%condition, body=%body
  %last = f32[8,16]{1,0} get-tuple-element(%loop), index=1
  %dot = f32[8,16]{1,0} dot(%last, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %g = f32[8,128]{1,0} all-gather(%dot), channel_id=2, replica_groups={{0,1,2,3,4,5,6,7}}, dimensions={1}
  ROOT %all = (f32[8,16]{1,0}, f32[8,128]{1,0}) tuple(%last, %g)
}
"""
NAMES = re.compile(rb"%[\w.]+")
NUMBERS = re.compile(rb"\d+")
WORDS = (
    *("%body", "%main", "%add", "%fused", "while", "fusion", "call", "parameter", "tuple", "all-reduce", "sort"),
    *("conditional", "dynamic-update-slice", "scatter", "async-start", "collective-permute", "constant", "bitcast"),
    *("{", "}", "(", ")", "[", "]", '"', ",", "=", "#0", "/*", "-1", "9" * 400, "[" * 3000, "(" * 3000, "{" * 3000),
    *("f32[8", "f32[?,<=4]", "token[]", "\0", "\N{LATIN SMALL LETTER E WITH ACUTE}", ""),
)


@st.composite
def garbled(draw: st.DrawFn) -> bytes:
    """The text after one to four accidents."""
    data = TEXT.encode()
    for _ in range(draw(st.integers(1, 4))):
        data = draw(st.sampled_from(ACCIDENTS))(draw, data)
    return data


def cut(draw: st.DrawFn, data: bytes) -> bytes:
    begin, end = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
    return data[:end] if draw(st.booleans()) else data[:begin] + data[end:]


def flipped(draw: st.DrawFn, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(draw(st.integers(1, 8)) if found else 0):
        found[draw(st.integers(0, len(found) - 1))] ^= 1 << draw(st.integers(0, 7))
    return bytes(found)


def tied(draw: st.DrawFn, data: bytes) -> bytes:
    """One name in place of another: what calls, reads or holds itself, and what is not there."""
    names = NAMES.findall(data)
    if not names:
        return data
    put = draw(st.sampled_from(sorted(set(names))))
    return _replaced(draw, data, [*NAMES.finditer(data)], put)


def enormous(draw: st.DrawFn, data: bytes) -> bytes:
    numbers = [*NUMBERS.finditer(data)]
    return (
        _replaced(draw, data, numbers, draw(st.sampled_from((b"0", b"-1", b"9" * 19, b"9" * 400)))) if numbers else data
    )


def spoken(draw: st.DrawFn, data: bytes) -> bytes:
    """A word of the language where none, or another one, was."""
    words = [*re.finditer(rb"[\w\-]+|\S", data)]
    return _replaced(draw, data, words, draw(st.sampled_from(WORDS)).encode()) if words else data


def again(draw: st.DrawFn, data: bytes) -> bytes:
    """A line moved or repeated."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    line = draw(st.sampled_from(lines))
    if draw(st.booleans()):
        lines.remove(line)
    lines.insert(draw(st.integers(0, len(lines))), line)
    return b"".join(lines)


def _replaced(draw: st.DrawFn, data: bytes, found: list[re.Match[bytes]], put: bytes) -> bytes:
    match = draw(st.sampled_from(found))
    return data[: match.start()] + put + data[match.end() :]


ACCIDENTS = (cut, flipped, tied, tied, enormous, spoken, again)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.large_base_example])
@given(garbled())
def test_a_garbled_text_is_read_or_refused(data: bytes) -> None:
    read(data)


@pytest.mark.slow
@settings(max_examples=2_000, deadline=None, suppress_health_check=[HealthCheck.large_base_example])
@given(garbled())
def test_many_garbled_texts_are_read_or_refused(data: bytes) -> None:
    read(data)


def read(data: bytes) -> None:
    """Makes of a text everything that is made of one; an error that is not ours fails the test."""
    try:
        module = parse_hlo(data)
    except ContractLintError as error:
        assert error.message
        return
    for work in (collectives, _canonical, cost, hot_spots, _memory, _summary, _attributes, _difference):
        try:
            work(module)
        except ContractLintError as error:
            assert error.message


def _canonical(module: HloModule) -> None:
    summed(canonical_ledger(collectives(module)))


def _memory(module: HloModule) -> None:
    memory(None, module)


def _summary(module: HloModule) -> None:
    summary(module)


def _attributes(module: HloModule) -> None:
    for computation in module.computations:
        for each in computation:
            _ = each.shape.text, each.operands, each.called, each.frames, each.users, each.attributes
            _ = each.backend_config, each.frontend_attributes, each.channel_id, each.op_name, each.source


def _difference(module: HloModule) -> None:
    compare(Side("a", module), Side("b", parse_hlo(TEXT)))
