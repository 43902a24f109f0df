"""Messages inside strings, records, boxes and pages come out as they were; other texts stay as they are."""

from __future__ import annotations

import html
import json
from collections.abc import Callable

import pytest
from contract_lint.hlo_tools.messages import OutOfMemory, out_of_memory
from contract_lint.hlo_tools.pasted import unwrapped
from contract_lint.hlo_tools.wrapping import unpacked

REPORT = """\
Traceback (most recent call last):
XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.10G of 15.48G hbm. Exceeded hbm \
capacity by 4.62G.

Total hbm usage >= 20.62G:
    reserved        530.00M
    program          20.10G

  Largest program allocations in hbm:

  1. Size: 16.00G
     Operator: op_name="jit(f)/x[ shape=()\\n  y='z' ]" source_file="a.py" source_line=3
     Shape: f32[65536,65536]{1,0:T(8,128)}
     Unpadded size: 16.00G
     XLA label: fusion.1 = fusion(%p), kind=kLoop
     Allocation type: HLO temp
     ==========================

  2. Size: 4.00G
     Shape: f32[1024,1024,1024]{2,1,0:T(8,128)}
     Allocation type: HLO temp
     =========================="""
LINES = REPORT.split("\n")
WIDTH = 90


def box(side: str) -> str:
    return "\n".join(f"{side} {line:<{WIDTH}} {side}" for line in LINES)


def records(key: str, *, end: str = "") -> str:
    return "\n".join(json.dumps({"time": "1", key: line + end, "n": 7}) for line in LINES)


WRAPS: dict[str, Callable[[], str]] = {
    "repr": lambda: f"XlaRuntimeError({REPORT!r})",
    "repr behind an apostrophe": lambda: f"I can't run this: XlaRuntimeError({REPORT!r})",
    "repr of a repr": lambda: f"RayTaskError({f'XlaRuntimeError({REPORT!r})'!r})",
    "bytes": lambda: repr(REPORT.encode()),
    "a string of JSON": lambda: json.dumps(REPORT),
    "a record": lambda: json.dumps({"ts": 1, "msg": REPORT}),
    "a record behind a prefix": lambda: "worker-1 " + json.dumps({"ts": 1, "msg": REPORT}),
    "a record that is cut": lambda: json.dumps({"ts": 1, "msg": REPORT})[:-2],
    "a nested record": lambda: json.dumps({"jsonPayload": {"message": REPORT, "kind": "x"}}, indent=1),
    "an array of records": lambda: json.dumps([{"textPayload": line} for line in LINES], indent=1),
    "a record a line": lambda: "start\n" + records("message"),
    "a record a line, with line ends": lambda: records("log", end="\n"),
    "a record a line, the last cut": lambda: records("message")[:-12],
    "a box": lambda: f"see:\n{box('│')}\n",
    "a table of Markdown": lambda: box("|"),
    "spaces that do not break": lambda: REPORT.replace(" ", "\u00a0"),
    "a page": lambda: html.escape(REPORT),
    "one line": lambda: " ".join(REPORT.split()),
}


def meaning(text: str) -> OutOfMemory:
    found = out_of_memory(text)
    assert found is not None
    return found


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_report_says_the_same_however_it_is_wrapped(wrap: str) -> None:
    found, plain = meaning(unpacked(WRAPS[wrap]())), meaning(REPORT)
    assert [(each.number, each.size_bytes, each.shape, each.source) for each in found.allocations] == [
        (each.number, each.size_bytes, each.shape, each.source) for each in plain.allocations
    ]
    assert all(each.closed for each in found.allocations) or "cut" in wrap
    assert (found.needed_bytes, found.available_bytes) == (plain.needed_bytes, plain.available_bytes)
    assert found.sections == plain.sections or wrap == "one line"


@pytest.mark.parametrize("wrap", ["repr", "a record", "a record a line", "a nested record"])
def test_escapes_are_undone_as_often_as_they_were_made(wrap: str) -> None:
    assert meaning(unpacked(WRAPS[wrap]())).allocations[0].op_name == "jit(f)/x[ shape=()\\n  y='z' ]"


@pytest.mark.parametrize(
    "text",
    [
        "",
        REPORT,
        "\\n\\n",
        '{"a": "b"}\n{"a": "c"}',
        '{"a": [[[[{"b": "Peak buffers:"}]]]]}',
        "[" * 100_000,
        '{"a":' * 50_000,
        "9" * 5_000,
        "a | b |\nc | d |",
        'HloModule m\n\nENTRY e {\n  ROOT c = s8[2]{0} constant({1, 2}), metadata={op_name="a\\nb \'"}\n}',
    ],
)
def test_what_holds_no_message_in_another_form_stays(text: str) -> None:
    assert unpacked(text) == text


def test_characters_that_are_none_alone_do_no_harm() -> None:
    assert unpacked('"\\nShape: \\ud83d\\u00e9\\x41"').encode() == "\n\nShape: \ufffd\u00e9A\n".encode()


PROGRAM = "HloModule jit_f\n\nENTRY %main (x: f32[8]) -> f32[8] {\n  ROOT %x = f32[8]{0} parameter(0)\n}\n"


@pytest.mark.parametrize("text", [repr(PROGRAM), f"dump: {json.dumps(PROGRAM)}", json.dumps({"hlo": PROGRAM})])
def test_a_program_in_a_string_comes_out_too(text: str) -> None:
    assert (unwrapped(text) or "").strip().splitlines() == PROGRAM.strip().splitlines()
