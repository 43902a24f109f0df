"""What a run left beside its checkpoints cannot be compared with another run, or with itself.

## What it does
Compares the schema in `config.json` with the one that is known, the digests of the contract's sections in it with the
contract as it is now, and lines of `metrics.jsonl` on one step with each other: a run that is taken up again does some
steps twice.

## Why is this bad?
A step that is done twice and gives other numbers is the cheapest proof that a resume is not exact. Numbers of another
model or another batch are no baseline.

## Example
```json
{"step": 101, "loss": 3.1415}
{"step": 101, "loss": 3.1502}
```

## Use instead
```json
{"step": 101, "loss": 3.1415}
{"step": 101, "loss": 3.1415}
```

## References
- https://github.com/NVIDIA/Megatron-LM/issues/1842
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.observations import CONFIG, METRICS, SCHEMA
from ....contracts.record import COMPUTED, section_digests
from ...cut import shown
from ...rule import Rule
from ..evidence import CheckpointEvidence, counted
from ..observations import Line, Observations

_KEY = "checkpoint.observations"


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    seen = evidence.observations
    if seen is None or seen.folder is None:
        return
    yield from _config(evidence, seen)
    twice = list(_differ(seen.lines))
    if twice:
        one, other, field = twice[0]
        yield evidence.finding(
            RULE,
            f"step {one.step:,} was done twice and gave another `{field}`: {one.values.get(field)} in line "
            f"{one.number:,} of {METRICS}, {other.values.get(field)} in line {other.number:,}",
            subject="twice",
            key=f"{_KEY}.metrics",
            beside=seen.file(METRICS),
            expected=str(one.values.get(field)),
            found=str(other.values.get(field)),
            evidence=shown(
                [f"step {b.step:,}: `{name}` in lines {a.number:,} and {b.number:,}" for a, b, name in twice]
            ),
            help="the run was not taken up where it stood: see `contract-lint checkpoint resume`",
        )


def _config(evidence: CheckpointEvidence, seen: Observations) -> Iterable[Finding]:
    config, loaded = seen.config, evidence.loaded
    if config is None:
        return
    file = seen.file(CONFIG)
    if config.get("schema") != SCHEMA:
        yield evidence.finding(
            RULE,
            f"its schema is {config.get('schema')!r}, known is {SCHEMA}",
            subject="schema",
            key=_KEY,
            beside=file,
            expected=str(SCHEMA),
            found=repr(config.get("schema")),
            help="look at it with the version of contract-lint that it was written for",
        )
        return
    saved = config.get("contract")
    if loaded is None or not isinstance(saved, dict):
        return
    now = section_digests(loaded.document.data)
    changed = [name for name in COMPUTED if saved.get(name) != now.get(name)]
    if changed:
        yield evidence.finding(
            RULE,
            f"the run was made under another contract: {counted(len(changed), 'section')} changed since "
            f"({', '.join(changed)})",
            subject="contract",
            key=changed[0] if changed[0] in now else None,
            beside=file,
            expected=now.get(changed[0], "no such section"),
            found=str(saved.get(changed[0], "no such section")),
            help="compare it with the contract that it was made under, or run it again",
        )


def _differ(lines: Iterable[Line]) -> Iterable[tuple[Line, Line, str]]:
    """Lines on one step that differ, and the first field that does."""
    before: dict[int, Line] = {}
    for line in lines:
        old = before.setdefault(line.step, line)
        field = next((name for name in old.values if old.values[name] != line.values.get(name)), None)
        if field is not None:
            yield old, line, field


RULE = Rule(
    code="CKP615",
    name="observation-incomparable",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
