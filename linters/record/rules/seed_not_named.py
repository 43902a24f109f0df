"""A record of a run does not name its seed.

## What it does
Looks in the resolved configuration for `rng.root.seed`, or for a build argument of a step whose name is or ends with
`seed`, in records of training runs and those made by `record create`.

## Why is this bad?
A default that nobody wrote down is the default of that day's version. Without the seed nobody can tell a change of the
code from a change of luck.

## Example
```yaml
step: { train: { entry: "my_pkg.train:build", args: { layers: 4 } } }
```

## Use instead
```yaml
step: { train: { entry: "my_pkg.train:build", args: { layers: 4, seed: 0 } } }
```

## References
- https://docs.pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....contracts.finding import Finding, Location
from ...rule import Rule
from ..evidence import RecordEvidence


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    record = evidence.record
    if record is None or record.kind == "verify" or _named(record.config):
        return
    yield evidence.finding(
        RULE,
        "no seed is named",
        subject="seed",
        location=Location(record.contract.path),
        expected="rng.root.seed, or a build argument `seed`",
        help="write it down even where it is the default: `rng: { root: { seed: 0, arg: seed } }`",
    )


def _named(config: dict[str, Any]) -> bool:
    root = _mapping(_mapping(config.get("rng")).get("root"))
    steps = _mapping(config.get("step")).values()
    arguments = [(name, value) for step in steps for name, value in _mapping(_mapping(step).get("args")).items()]
    return root.get("seed") is not None or any(
        name.lower().endswith("seed") and value is not None for name, value in arguments
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


RULE = Rule(
    code="EXP607",
    name="seed-not-named",
    severity="warning",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
