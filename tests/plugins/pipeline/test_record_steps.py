"""Which steps a run went over stands before what follows from it, and is no metric."""

from __future__ import annotations

from typing import Any

import pytest
from contract_lint.contracts.record import FileDigest, Metric, StepRange, sha256
from contract_lint.contracts.record_file import parse_record
from contract_lint.plugins.pipeline.record.diff import record_diff, steps_of
from contract_lint.plugins.pipeline.record.history import Compared
from contract_lint.plugins.report.history_compared import compared as beside
from contract_lint.plugins.report.record_text import compared, shown

from ...linters.record.small_record import CONFIG, small

LOSS = Metric(count=10, last=2.0, mean=2.0, least=1.0, most=3.0)
TAKEN_UP = {"taken_up": Metric(count=1, last=20.0)}
SECTION = {"layout": "ocdbt", "retention": {"last": 2, "every": 10}}


def run(steps: tuple[int, int] | None, **changes: Any) -> Any:
    over = StepRange(first=steps[0], last=steps[1]) if steps is not None else None
    last = float(steps[1]) if steps is not None else 0.0
    metrics = {"loss": LOSS.model_copy(update={"last": last})}
    return small(**({"kind": "train", "steps": over, "metrics": metrics} | changes))


def test_the_steps_of_a_run_come_before_its_metrics() -> None:
    one, other = run((1, 20)), run((21, 30))
    found = [(each.kind, each.what, each.before, each.after) for each in record_diff("a", "b", one, other).differences]
    assert found[0] == ("steps", "of the run", "1 to 20", "21 to 30") and found[1][0] == "metric"
    assert [each.kind for each in record_diff("a", "b", run((1, 20)), run((1, 20), tool="1")).differences] == ["other"]
    text = beside(Compared((one, other), (), ()), 80)
    assert text.index("1 to 20") < text.index("21 to 30") and "steps" in text
    assert "steps" not in beside(Compared((small(), small()), (), ()), 80)


def test_they_are_read_back_and_a_range_that_is_none_is_refused() -> None:
    record = run((3, 9))
    assert parse_record(record.as_text().encode(), "r").steps == StepRange(first=3, last=9)
    assert "3 to 9" in shown(record, "r", 80)
    text = record.as_text()
    with pytest.raises(Exception, match="steps"):
        parse_record(text.replace('"first":3', '"first":0').encode(), "r")


def test_records_of_earlier_versions_tell_them_as_a_metric() -> None:
    old = run(None, metrics={"loss": LOSS, **TAKEN_UP})
    assert steps_of(old) == "21 to 30" and steps_of(run(None)) == "1 to 10"
    assert steps_of(small()) is None
    kinds = {each.what for each in record_diff("a", "b", old, run(None)).differences}
    assert not any("taken_up" in each for each in kinds), kinds
    assert "taken_up" not in shown(old, "r", 80)


def test_what_was_observed_is_one_line_behind_the_metrics() -> None:
    def files(count: int) -> list[FileDigest]:
        lines = FileDigest(path="run/seen/metrics.jsonl", sha256=sha256(str(count)), bytes=count, grows=True)
        each = [f"run/seen/batch-{step:08}.safetensors" for step in range(count)]
        return [lines, *(FileDigest(path=path, sha256=sha256(path), bytes=1) for path in each)]

    one, other = run((1, 2), files=files(2)), run((1, 3), files=files(3))
    found = record_diff("a", "b", one, other).differences
    assert [(each.kind, each.what) for each in found if "seen" in each.what] == [("other", "observations run/seen")]
    (seen,) = (each for each in found if "seen" in each.what)
    assert str(seen.before).startswith("3 files, ") and str(seen.after).startswith("4 files, ")


def test_a_section_that_is_there_or_not_is_one_line() -> None:
    one, other = run((1, 2)), run((1, 2), config=CONFIG | {"checkpoint": SECTION})
    diff = record_diff("a", "b", one, other)
    assert len(diff.of("config")) == 3 and len(diff.as_json()["changes"]) == 3
    rows = [line.split() for line in compared(diff, 80).splitlines() if line.startswith("config")]
    assert rows == [["config", "checkpoint", "-", "(3", "keys)"]]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_change_stands_on_one_line(width: int) -> None:
    one, other = run((1, 20), name="a" * 60), run((1, 21))
    lines = compared(record_diff("a", "b", one, other), width).splitlines()
    assert any(line.endswith("+5.00 %") for line in lines) and max(map(len, lines)) <= width
