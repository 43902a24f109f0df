"""The capture is of a step that was built otherwise than the contract says.

## What it does
Compares what the contract says about the build of a step (`entry`, `args`, `reference_args`, `accumulation.arg`) with
what the capture was made from.

## Why is this bad?
A capture can be judged against a contract that promises more or less than the one it was made from; that is what
captures are for. With other build arguments it is another program, and its figures keep or break nobody's promise.

## Example
```yaml
# the capture was made with layers: 4
step: { train: { entry: "my_pkg.train:build", args: { layers: 8 } } }
```

## Use instead
Make the capture again: `contract-lint capture CONTRACT -o DIR`.

## References
- https://docs.jax.dev/en/latest/aot.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.made_from import made_from
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section, found = evidence.section, evidence.facts.made_from
    if section is None or found is None:
        return
    accumulation = evidence.contract.accumulation
    expected = made_from(
        section.entry, section.args, section.reference_args, accumulation.arg if accumulation is not None else None
    )
    if found == expected:
        return
    other = evidence.facts.entry
    differs = f"from {other}, not {section.entry}" if other != section.entry else "with other build arguments"
    yield RULE.finding(
        f"the capture was made {differs}: it says nothing about step `{evidence.name}` of this contract",
        subject=evidence.name,
        location=evidence.place(evidence.step_key),
        key=evidence.step_key,
        expected=section.entry,
        found=other,
        help="make the capture again",
    )


RULE = Rule(code="JIT209", name="other-build", severity="error", evidence="trace", doc=__doc__ or "", check=check)
