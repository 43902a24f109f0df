"""Findings on source in text: the code at fault, underlined, at any width."""

from __future__ import annotations

import re

import pytest
from contract_lint.contracts.finding import Edit, Finding, Fix, Location
from contract_lint.plugins.pipeline.report import Report, report
from contract_lint.plugins.report.formats import render
from hypothesis import given
from hypothesis import strategies as st


def finding(line: int, column: int, end_line: int, end_column: int, **more: object) -> Finding:
    return Finding(
        code="JIT103",
        name="tracer-branch",
        severity="error",
        message="the test is a tracer",
        subject="if x",
        location=Location("a.py", line, column, end_line, end_column),
        **more,  # type: ignore[arg-type]
    )


def made(found: Finding, *lines: tuple[int, str], **more: object) -> Report:
    excerpts = {found.location: lines} if found.location else {}
    return report([found], verb="check", subject="1 Python file", sources=1, excerpts=excerpts, **more)


def shown(found: Finding, *lines: tuple[int, str], width: int = 80, color: bool = False) -> list[str]:
    return render(made(found, *lines), "text", width, color).splitlines()


def test_the_place_is_underlined() -> None:
    lines = shown(finding(10, 8, 10, 13), (9, "def f(x):"), (10, "    if x > 0:"))
    assert lines[5:] == ["   9 | def f(x):", "  10 |     if x > 0:", "     |        ^^^^^"]


def test_several_lines_are_underlined_on_the_first() -> None:
    lines = shown(finding(1, 5, 3, 2), (1, "x = f(  "), (2, "    1,"), (3, ")"))
    assert lines[5:] == ["  1 | x = f(", "    |     ^^", "  2 |     1,", "  3 | )"]


@pytest.mark.parametrize(
    ("line", "column", "code", "carets"),
    [
        ("\tif x:", 5, "    if x:", "       ^"),
        ("é = x", 5, "é = x", "    ^"),
        ("世 = x", 5, "世 = x", "     ^"),
    ],
)
def test_columns_are_those_of_the_screen(line: str, column: int, code: str, carets: str) -> None:
    lines = shown(finding(1, column, 1, column + 1), (1, line))
    assert lines[5:] == [f"  1 | {code}", f"    | {carets}"]


def test_long_lines_are_cut_round_the_place() -> None:
    text = "x = [" + "0, " * 300_000 + "bad(y), " + "1, " * 100 + "]"
    at = text.index("bad") + 1
    lines = shown(finding(1, at, 1, at + 6), (1, text))
    assert max(map(len, lines[1:])) <= 80
    code, carets = lines[5:]
    assert code[carets.index("^") : carets.rindex("^") + 1] == "bad(y)"
    assert code.startswith("  1 | ...") and code.endswith("...")


def test_what_is_known_more() -> None:
    fix = Fix("use jnp.where", (Edit(Location("a.py", 1, 1, 1, 2), "y"),), safe=False)
    lines = shown(
        finding(1, 1, 1, 2, evidence=("traced: a.py:3", "twice"), help="h " * 60, fix=fix, confidence="likely")
    )
    assert "error JIT103 tracer-branch (likely)" in lines
    assert [line[:12] for line in lines[5:]] == [
        "  evidence  ",
        "            ",
        "  help      ",
        "            ",
        "  fix       ",
    ]
    assert lines[-1].endswith("use jnp.where (--fix --unsafe-fixes, and read what it changes)")


def test_colour_only_where_it_is_asked_for() -> None:
    plain = shown(finding(1, 1, 1, 2), (1, "x"))
    coloured = shown(finding(1, 1, 1, 2), (1, "x"), color=True)
    assert "\x1b" not in "".join(plain) and "\x1b[1;37;41mFAIL\x1b[0m" in coloured[0]
    assert [re.sub(r"\x1b\[[\d;]*m", "", line).rstrip() for line in coloured] == plain


def test_hostile_text_stays_on_its_line() -> None:
    lines = shown(finding(1, 1, 1, 2), (1, "x = '\x1b[31m\u202e\r\udcff'"))
    assert len(lines) == 7 and "\x1b" not in "".join(lines) and "\u202e" not in "".join(lines)


def test_beside_contracts_it_looks_the_same() -> None:
    found = finding(10, 8, 10, 13)
    mixed = render(made(found, (10, "    if x > 0:"), contracts=("a.contract.yaml",)), "text", 80).splitlines()
    assert mixed[1:] == shown(found, (10, "    if x > 0:"))[1:]


@given(
    st.text(max_size=200),
    st.integers(1, 250),
    st.integers(0, 60),
    st.integers(60, 140),
)
def test_no_line_of_code_is_wider_than_the_terminal(text: str, column: int, length: int, width: int) -> None:
    line = re.sub(r"[\r\n]", " ", text)
    column = min(column, len(line) + 1)
    lines = shown(finding(7, column, 7, column + length), (7, line), width=width)
    assert len(lines[lines.index("") :]) == 6 and all(len(each) <= width for each in lines)
