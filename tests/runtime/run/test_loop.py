"""Compiles with their reason, host reads and callbacks with their line, over an executed loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SOURCE = (Path(__file__).parent / "cases" / "loops.py").read_text().splitlines()
KINDS = ("clean", "host", "static", "weak", "shape", "placement", "reads", "anew", "debug_print", "io_callback", "nan")


@pytest.fixture(scope="module")
def loops(observe: Callable[..., Any]) -> dict[str, Any]:
    return observe("loops.py", *KINDS)


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE, 1) if text in line)


def test_a_clean_loop_compiles_once_and_reads_nothing(loops: dict[str, Any]) -> None:
    clean = loops["clean"]
    assert [(c["index"], c["reason"]) for c in clean["compiles"]] == [(0, "first call")]
    assert clean["transfers"] == []
    assert clean["error"] is None
    assert len(clean["losses"]) == 4
    assert clean["losses"][1] < clean["losses"][0], "the state was not carried over"


def test_steps_whose_loss_is_not_finite_are_told_apart(loops: dict[str, Any]) -> None:
    assert loops["nan"]["not_finite"] == [1, 2, 3] and len(loops["nan"]["losses"]) == 1
    assert loops["clean"]["not_finite"] == []


def test_an_example_of_host_arrays_is_placed_like_the_step_says(loops: dict[str, Any]) -> None:
    assert loops["host"]["losses"] == loops["clean"]["losses"]
    assert len(loops["host"]["compiles"]) == 1


def test_a_static_value_that_changes_compiles_at_every_step(loops: dict[str, Any]) -> None:
    compiles = loops["static"]["compiles"]
    assert [c["index"] for c in compiles] == [0, 1, 2, 3]
    assert all(c["argument"] == "rate" for c in compiles[1:])
    assert compiles[1]["reason"] == "rate: static value 0.1 before, 0.2 now"


@pytest.mark.parametrize(
    ("kind", "index", "argument", "reason"),
    [
        ("weak", 1, "rate", "rate: float32[] weakly typed (a Python float) before, float32[] now"),
        ("shape", 2, "x", "x: float32[8,8] before, float32[16,8] now"),
        (
            "placement",
            1,
            "state/w",
            "state/w: placed () on mesh (data=8) before, placed ('data',) on mesh (data=8) now",
        ),
    ],
)
def test_a_second_program_names_the_argument_that_asked_for_it(
    loops: dict[str, Any], kind: str, index: int, argument: str, reason: str
) -> None:
    first, second = loops[kind]["compiles"]
    assert first["index"] == 0
    assert (second["index"], second["argument"], second["reason"]) == (index, argument, reason)


def test_a_function_made_anew_is_called_that(loops: dict[str, Any]) -> None:
    compiles = loops["anew"]["compiles"]
    assert len(compiles) == 4
    assert all("defined anew" in c["reason"] for c in compiles[1:])


def test_a_read_in_a_wrapper_is_reported_with_its_line(loops: dict[str, Any]) -> None:
    events = loops["reads"]["transfers"]
    assert [(e["index"], e["kind"]) for e in events] == [(i, "float()") for i in range(4)]
    assert {(e["frames"][0]["path"], e["frames"][0]["line"]) for e in events} == {("loops.py", line_of("float(loss)"))}


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("debug_print", "callback jax.debug.print", "jax.debug.print("),
        ("io_callback", "callback io_callback", "io_callback(lambda"),
    ],
)
def test_a_callback_is_labelled_and_placed(loops: dict[str, Any], kind: str, name: str, text: str) -> None:
    events = loops[kind]["transfers"]
    assert [(e["index"], e["kind"]) for e in events] == [(i, name) for i in range(4)]
    assert {(e["frames"][0]["path"], e["frames"][0]["line"]) for e in events} == {("loops.py", line_of(text))}


def test_without_a_reference_the_report_says_what_was_not_compared(loops: dict[str, Any]) -> None:
    assert [n["what"] for n in loops["clean"]["not_compared"]] == ["loss, metrics and gradients"]
