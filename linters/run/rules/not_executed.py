"""A step was not executed, although the verdict is to cover the executed loop.

## What it does
With `--run`, reports each step that was compiled for a target that can execute and did not run there.

## Why is this bad?
Recompiles, host transfers and values are seen in the executed loop alone. A step that did not run keeps none of those
promises, and breaks none.

## Example
A capture that was made without `--run`, beside others that were made with it.

## Use instead
Capture all steps and targets with `contract-lint capture --run`.

## References
- https://docs.jax.dev/en/latest/aot.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule

EXECUTES = "cpu:"
"""Targets of other platforms are described, not present: there, nothing is executed at all."""


def check(evidence: StepEvidence) -> Iterable[Finding]:
    if not evidence.run_requested or evidence.run is not None or not evidence.target.startswith(EXECUTES):
        return
    key = evidence.step_key
    yield RULE.finding(
        f"step `{evidence.name}` was not executed for {evidence.target}, so nothing that --run promises was judged",
        subject=evidence.name,
        location=evidence.place(key),
        key=key,
        expected="an executed loop",
        found="a compiled program only",
        help="capture with `contract-lint capture --run`",
    )


RULE = Rule(code="JIT304", name="not-executed", severity="error", evidence="run", doc=__doc__ or "", check=check)
