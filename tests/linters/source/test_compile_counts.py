"""The silent rules about compiling are measured: bad twins compile more programs in more rounds, good twins do not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.linters.registry import find_rule
from contract_lint.linters.source.rule import Example, SourceRule

CHILD = Path(__file__).with_name("compile_counts.py")
RULES = ("jit-in-loop", "jit-rebuilt-per-call", "varying-static-arg")
Job = tuple[str, Example, bool]


def jobs() -> list[Job]:
    found: list[Job] = []
    for name in RULES:
        rule = find_rule(name)
        assert isinstance(rule, SourceRule)
        found += [(name, example, True) for example in rule.bad if example.run]
        found += [(name, example, False) for example in rule.good if example.run]
    return found


JOBS = jobs()


def name(job: Job) -> str:
    return f"{job[0]}-{'bad' if job[2] else 'good'}-{job[1].name.replace(' ', '-')}"


@pytest.fixture(scope="module")
def counts() -> dict[str, list[int]]:
    told = json.dumps([{"source": e.source, "files": dict(e.files), "run": e.run} for _, e, _ in JOBS])
    done = subprocess.run(
        [sys.executable, str(CHILD)], input=told, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(zip(map(name, JOBS), json.loads(done.stdout), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS, ids=name)
def test_programs_compiled(job: Job, counts: dict[str, list[int]]) -> None:
    few, many = counts[name(job)]
    assert many - few >= 4 if job[2] else many == few, (few, many)


def test_every_rule_is_measured_both_ways() -> None:
    assert {(rule, bad) for rule, _, bad in JOBS} == {(rule, bad) for rule in RULES for bad in (True, False)}
