"""What two records differ in, likely causes first."""

from __future__ import annotations

from typing import Any

import pytest
from contract_lint.contracts.record import (
    CheckpointState,
    DataState,
    DeviceState,
    Environment,
    FileDigest,
    Metric,
    ProgramState,
    Record,
    SourceState,
    VerdictState,
)
from contract_lint.plugins.pipeline.record.diff import record_diff, said
from contract_lint.plugins.report.record_text import compared, values

from ...linters.record.small_record import CONFIG, small


def record(turn: int, **changes: Any) -> Record:
    """A record in which everything is another with another `turn`."""
    digest = str(turn) * 64
    whole: dict[str, Any] = {
        "config": CONFIG | {"name": f"small{turn}", "rng": {"root": {"seed": turn}}},
        "programs": [ProgramState(target="cpu:8", step="train", sha256=digest, contract_digest=digest)],
        "source": SourceState(commit=str(turn) * 40, dirty=False),
        "files": [FileDigest(path=name, sha256=digest, bytes=1) for name in ("d.json", "notes.txt")],
        "data": [DataState(manifest="d.json", root=f"sha256:{digest}")],
        "environment": Environment(
            python="3", platform="Linux", lock=digest, packages={"abc": f"{turn}", "jax": f"0.{turn}", "same": "1"}
        ),
        "devices": [DeviceState(target="cpu:8", devices=8, kind=f"cpu{turn}", xla_flags=[f"--xla_x={turn}"])],
        "checkpoints": [CheckpointState(folder="run/1", root=digest, files=0)],
        "verdicts": [VerdictState(verb="verify", verdict="pass" if turn == 1 else "fail", headline="x")],
        "metrics": {"loss": Metric(count=1, last=float(turn)), "gone" if turn == 1 else "new": Metric(count=1, last=1)},
        "conclusion": f"conclusion {turn}",
    }
    return small(**(whole | changes))


def test_what_was_asked_for_comes_first_and_what_came_out_last() -> None:
    found = record_diff("a", "b", record(1), record(2)).differences
    assert [(each.kind, each.what) for each in found] == [
        ("config", "rng.root.seed"),
        ("config", "name"),
        ("program", "train on cpu:8"),
        ("source", "commit"),
        ("data", "d.json"),
        ("version", "jax"),
        ("version", "abc"),
        ("flags", "cpu:8"),
        ("devices", "cpu:8"),
        ("checkpoint", "run/1"),
        ("file", "notes.txt"),
        ("verdict", "verify"),
        ("metric", "loss"),
        ("metric", "gone"),
        ("metric", "new"),
        ("other", "conclusion"),
    ]
    changes = {each.what: each.change for each in found}
    assert changes["loss"] == 1.0 and changes["new"] is None
    assert record_diff("a", "b", record(1), record(1)).differences == ()


def test_a_contract_that_says_the_same_in_another_text_is_a_file() -> None:
    files = [FileDigest(path="c.contract.yaml", sha256=digest * 64, bytes=1) for digest in "12"]
    one, other = (record(1, files=[file]) for file in files)
    (found,) = record_diff("a", "b", one, other).differences
    assert (found.kind, found.what) == ("file", "c.contract.yaml")


DEEP: dict[str, Any] = {"n": {"a": [{"b": 1}, {"b": True}]}, "e": {}, "null": None}
# What one of two configurations says otherwise, and the one key that is told with how both are shown.
ONE_KEY: list[tuple[dict[str, Any], str]] = [
    ({"n": {"a": [{"b": 2}, {"b": True}]}}, "config n.a[0].b 1 2"),
    ({"n": {"a": [{"b": 1.0}, {"b": True}]}}, "config n.a[0].b 1 1.0"),
    ({"n": {"a": [{"b": 1.00000001}, {"b": True}]}}, "config n.a[0].b 1 1.00000001"),
    ({"n": {"a": [{"b": "1"}, {"b": True}]}}, 'config n.a[0].b 1 "1"'),
    ({"n": {"a": [{"b": 1}, {"b": 1}]}}, "config n.a[1].b true 1"),
    ({"n": {"a": [{"b": 1}, {"b": True}, None]}}, "config n.a[2] - null"),
    ({"n": {"a": [{"b": 1}]}}, "config n.a[1].b true -"),
    ({"e": []}, "config e {} []"),
    ({"null": 0}, "config null null 0"),
    ({"null": "null"}, 'config null null "null"'),
    ({"null": ""}, 'config null null ""'),
    ({"more": None}, "config more - null"),
    ({"more": {"f": "x"}}, "config more.f - x"),
]


@pytest.mark.parametrize(("changes", "row"), ONE_KEY)
def test_one_key_that_differs_is_told_however_it_does(changes: dict[str, Any], row: str) -> None:
    whole = record(1).config | {"step": DEEP}
    one, other = (record(1, config=each) for each in (whole, whole | {"step": DEEP | changes}))
    kind, key, *sides = row.split()
    lines = compared(record_diff("a", "b", one, other), 80).splitlines()
    assert [line.split() for line in lines[4:]] == [[kind, f"step.{key}", *sides]], lines
    assert record_diff("a", "b", one, one).differences == ()


def test_null_its_word_and_no_key_are_three_in_any_number_of_records() -> None:
    found = [each.get("k") for each in said({"k": None}, {"k": "null"}, {}, {"k": "x"})]
    assert found == ["null", '"null"', None, "x"]
    assert said({"k": "null"}, {"k": "x"}) == [{"k": "null"}, {"k": "x"}]


def test_values_that_differ_never_look_alike() -> None:
    long = "x" * 1000
    for pair in ((0.1234561, 0.1234562), (long + "a", long + "b"), ("a\nb", "a b"), ("1" * 64, "1" * 63 + "2")):
        for kind in ("metric", "config", "file", "other"):
            one, other = values(pair, kind)
            assert one != other and max(len(one), len(other)) < 500 and "\n" not in one + other
    assert values((2.0, 2.5), "metric") == ["2", "2.5"] and values(("a" * 64, "b" * 64), "file") == ["a" * 12, "b" * 12]


RUNS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"metrics": {"loss": Metric(count=2, last=1)}}, {"metrics": {"loss": Metric(count=3, last=1)}}, "loss values"),
    (
        {"metrics": {"loss": Metric(count=2, last=1)}},
        {"metrics": {"loss": Metric(count=2, last=1, not_finite=1)}},
        "loss not finite",
    ),
    (
        {"verdicts": [VerdictState(verb="verify", verdict="fail", headline="x", findings=["SHD204 1"])]},
        {"verdicts": [VerdictState(verb="verify", verdict="fail", headline="x", findings=["SHD205 1"])]},
        "verify findings",
    ),
    (
        {"verdicts": [VerdictState(verb="check", verdict=each, headline="x") for each in ("pass", "fail")]},
        {"verdicts": [VerdictState(verb="check", verdict=each, headline="x") for each in ("fail", "fail")]},
        "check",
    ),
    (
        {"devices": [DeviceState(target="cpu:8", devices=8, kind=each) for each in "ab"]},
        {"devices": [DeviceState(target="cpu:8", devices=8, kind=each) for each in "ac"]},
        "cpu:8 (2)",
    ),
]


@pytest.mark.parametrize(("before", "after", "what"), RUNS)
def test_what_is_called_alike_or_has_the_same_last_value_is_told_too(
    before: dict[str, Any], after: dict[str, Any], what: str
) -> None:
    (found,) = record_diff("a", "b", record(1, **before), record(1, **after)).differences
    assert found.what == what
