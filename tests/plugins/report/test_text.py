"""`--format text`: verdict first, folded by cause, inside its width, safe for a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from contract_lint.plugins.pipeline.report import Report
from contract_lint.plugins.report.markdown import render as markdown
from contract_lint.plugins.report.text import render


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("name", ["clean", "broken"])
def test_stays_inside_its_width(name: str, width: int, request: pytest.FixtureRequest) -> None:
    lines = render(request.getfixturevalue(name), width).splitlines()
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)


def test_first_line_is_the_verdict_and_the_largest_thing_to_do(broken: Report) -> None:
    first = " ".join(render(broken, 80).split("\n\n")[0].split())
    assert first.startswith("FAIL dense-fsdp on cpu:8 and tpu:v5e:2x4: 1 error, 1 warning and 1 info, 1 consequence")
    assert "First: src/my model/train.py:41:9: all-gather over data is not promised" in first


def test_consequences_are_folded_and_accepted_findings_listed_apart(broken: Report) -> None:
    text = render(broken, 120)
    assert "folded    1 consequence: MEM202 hbm-over-budget (each with its place: --format json)" in text
    assert "error MEM202" not in text
    assert "Set aside (1 accepted):" in text


def test_what_a_baseline_holds_is_listed_where_each_is_wanted(broken: Report) -> None:
    held = replace(broken, findings=tuple(replace(each, status="baseline") for each in broken.findings))
    assert "Set aside" not in render(held, 120)
    text = render(replace(held, verbose=True), 120)
    assert f"Set aside ({len(list(held.roots()))} baseline):" in text
    assert all(f"baseline {root.finding.code}" in text for root in held.roots())


def test_consequences_are_counted_by_rule(broken: Report) -> None:
    (folded,) = (finding for finding in broken.findings if finding.caused_by)
    others = [replace(folded, code="SHD206", name="missing-collective", subject=f"{n}") for n in range(3)]
    text = " ".join(render(replace(broken, findings=(*broken.findings, *others)), 120).split())
    assert "folded 4 consequences: MEM202 hbm-over-budget, SHD206 missing-collective x 3 (each with its place" in text


@pytest.mark.parametrize("form", [lambda report: render(report, 80), markdown])
def test_a_peak_above_what_must_fit_says_why(form: Callable[[Report], str], broken: Report) -> None:
    assert "constants included" not in form(broken)
    (tables, *others) = broken.tables
    assert tables.memory is not None
    memory = replace(tables.memory, peak_bytes=tables.memory.need_bytes + 1)
    above = replace(broken, tables=(replace(tables, memory=memory), *others))
    assert "live at the peak, constants included" in form(above)


def test_plan_stands_against_program(broken: Report) -> None:
    text = render(broken, 80)
    assert re.search(r"^reduce-scatter +fsdp +34 +12,400,000 +35\.48 MiB +0 +differs$", text, re.M)
    assert re.search(r"^  promised +36 +12,582,912$", text, re.M)
    assert re.search(r"^all-gather +data .* unplanned$", text, re.M)
    assert re.search(r"^must fit +1\.15 GiB +1\.00 GiB +broken$", text, re.M)
    assert re.search(r"^gradient params/layers/w11 +1\.1 .* broken$", text, re.M)
    assert re.search(r"^5 more +<= 0\.4$", text, re.M)
    assert "not compared: params (after a normalised update)" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_head_of_a_step_keeps_its_mesh(width: int, clean: Report) -> None:
    (tables,) = clean.tables
    long = replace(tables, target="cuda:h100:1x8", device_kind="NVIDIA H100 80GB HBM3")
    text = render(replace(clean, tables=(long,)), width)
    head = next(line for line in text.splitlines() if line.startswith("cuda:h100:1x8  step train"))
    assert "mesh data 2 x fsdp 4" in head and "…" not in head and len(head) <= width
    assert ("(NVIDIA H100 80GB HBM3)" in head) is (width == 120)
    many = replace(long, mesh=tuple((f"a_long_axis_{n}", 2) for n in range(4)))
    flat = " ".join(render(replace(clean, tables=(many,)), width).split())
    assert "mesh a_long_axis_0 2 x a_long_axis_1 2 x a_long_axis_2 2 x a_long_axis_3 2" in flat


def test_no_escape_sequence_reaches_the_terminal(broken: Report) -> None:
    text = render(broken, 100)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    colored = render(broken, 100, color=True)
    assert "\x1b[" in colored and "\\x1b[31m" in colored


def test_same_bytes_whatever_the_environment(broken: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = render(broken, 100)
    for name, value in {"COLUMNS": "20", "TERM": "dumb", "FORCE_COLOR": "1", "NO_COLOR": "1", "LINES": "2"}.items():
        monkeypatch.setenv(name, value)
    assert render(broken, 100) == expected
