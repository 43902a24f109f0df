"""JAX is the judge of the examples: bad twins of loud rules end with the exception that the rule names, others pass.

A bad twin of a silent rule in MEASURED holds its measurement in `run`: the constant noise, a dtype, the program's text.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.linters.source.analyse import source_rules
from contract_lint.linters.source.rule import Example, SourceRule

Job = tuple[SourceRule, Example, bool]
CHILD = Path(__file__).with_name("judged_by_jax.py")
MEASURED = {
    "trace-time-host-state",
    "closed-over-array",
    "unrolled-loop",
    "host-callback-in-step",
    "float64-request",
    "module-closure",
    "unsafe-where",
    "unguarded-norm-divide",
    "unguarded-mask-mean",
    "half-precision-reduction",
    "numpy-scalar-promotion",
    "mean-of-means",
    "clip-after-optimizer",
    "schedule-microstep-mismatch",
    "train-mode-in-eval",
    "packed-sequence-without-segments",
}
ORDERED = "unordered-iteration"
ALONE = {"backend-at-import"}
SEEDS = ("1", "2")


def jobs_of(wanted: bool, *names: str) -> list[Job]:
    """The examples that can run: those of the loud rules where they are wanted, and of the rules with these names."""
    return [
        (rule, example, is_bad)
        for rule in source_rules()
        if rule.name in names or (wanted and any(example.raises for example in rule.bad))
        for is_bad, examples in ((True, rule.bad), (False, rule.good))
        for example in examples
        if example.run is not None
    ]


JOBS = jobs_of(True, *MEASURED)
SETS = jobs_of(False, ORDERED)


def name(job: Job) -> str:
    rule, example, is_bad = job
    return f"{rule.name}-{'bad' if is_bad else 'good'}-{example.name.replace(' ', '-')}"


def judged(jobs: list[Job], seed: str = "0") -> dict[str, str]:
    """What came of each example, all of them run in one child process."""
    told = json.dumps(
        [{"source": e.source, "files": dict(e.files), "run": e.run, "alone": rule.name in ALONE} for rule, e, _ in jobs]
    )
    env = os.environ | {"PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, str(CHILD)], input=told, capture_output=True, text=True, timeout=500, check=False, env=env
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(zip(map(name, jobs), json.loads(done.stdout), strict=True))


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    return judged(JOBS)


@pytest.fixture(scope="module")
def of_sets() -> list[dict[str, str]]:
    """The programs that processes with different hashes make of the examples about sets."""
    return [judged(SETS, seed) for seed in SEEDS]


@pytest.mark.parametrize("job", JOBS, ids=name)
def test_jax_does_what_the_rule_says(job: Job, outcomes: dict[str, str]) -> None:
    _, example, _ = job
    found = outcomes[name(job)]
    if example.raises is None:
        assert found.partition(":")[0] == "passed", found
    else:
        assert example.raises in found.partition(":")[0].split(), found


@pytest.mark.parametrize("job", SETS, ids=name)
def test_the_order_of_sets_makes_the_program(job: Job, of_sets: list[dict[str, str]]) -> None:
    """Bad twins trace to different programs in processes whose strings hash differently, good ones to the same."""
    _, _, is_bad = job
    programs = [each[name(job)] for each in of_sets]
    assert all(each.startswith("passed: ") for each in programs), programs
    assert (len(set(programs)) > 1) == is_bad


def test_loud_rules_are_run() -> None:
    """Where JAX itself refuses a fault, every rule of that kind has an example that JAX has refused."""
    loud = {rule.name for rule in source_rules() if any(example.raises for example in rule.bad)}
    assert loud
    assert loud <= {rule.name for rule, example, is_bad in JOBS if is_bad and example.raises}
