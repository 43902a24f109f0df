"""Promised arrays are not in the checkpoint.

## What it does
Compares the parameters of the section `model`, and `checkpoint.leaves`, with the arrays that are saved. Parameters are
looked for below `checkpoint.parameters`, by default below the first `params` of the tree; names of the contract may
carry that path, or a part of it (`params/embed`).

## Why is this bad?
A restore that allows gaps fills them with zeros, or leaves a placeholder; the loss says so much later, or not at all.

## Example
```yaml
model: { kind: listed, parameters: { embed: [512, 64], head: [64, 512] } }
checkpoint: { parameters: params }   # saved: params/embed
```

## Use instead
```yaml
model: { kind: listed, parameters: { embed: [512, 64] } }
checkpoint: { parameters: params }
```

## References
- https://github.com/AI-Hypercomputer/maxtext/pull/4341
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.suggest import nearest
from ...cut import shown
from ...rule import Rule
from ..evidence import CheckpointEvidence, counted
from ..promised import promised_leaves, promised_parameters
from ..root import root_of


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    promised = evidence.promised
    if promised and not evidence.parameters:
        below = evidence.section.parameters or "params"
        yield evidence.finding(
            RULE,
            f"no parameter is saved below {below}: {counted(len(promised), 'parameter')} are promised",
            subject="parameters",
            key="checkpoint.parameters" if evidence.section.parameters else "model",
            expected=f"{len(promised):,} below {below}",
            found="none",
            evidence=shown([f"saved: {path}" for path in evidence.checkpoint.arrays]),
            help=_elsewhere(evidence),
        )
    elif promised:
        missing = [path for path in promised if path not in evidence.parameters]
        yield from _missing(
            evidence, missing, len(promised), "parameter", promised[missing[0]].shape_key if missing else ""
        )
    saved = {promise.path for _, promise, _ in evidence.promised_arrays()}
    for promise in promised_leaves(evidence.contract):
        if promise.path not in saved:
            yield from _missing(evidence, [promise.path], 1, "array", promise.shape_key)


def _elsewhere(evidence: CheckpointEvidence) -> str:
    """What to do where no parameter is found: they lie somewhere else, or were not saved."""
    first = root_of(evidence.checkpoint.arrays, promised_parameters(evidence.contract)).path
    if first:
        return f"is it {first}?"
    where = "checkpoint: { parameters: PATH }"
    slots = [name for name in evidence.expected_slots if name in evidence.slots]
    if slots:
        return f"save them: their slots are there ({', '.join(slots)}); if they are too, say where: {where}"
    return f"say where they lie: {where}"


def _missing(evidence: CheckpointEvidence, missing: list[str], of: int, what: str, key: str) -> Iterable[Finding]:
    if not missing:
        return
    there = [path for path in evidence.parameters if path not in evidence.promised] or list(evidence.checkpoint.arrays)
    near = nearest(missing[0], there)
    rest = "" if len(missing) == of == 1 else f" ({len(missing):,} of {of:,} promised)"
    yield evidence.finding(
        RULE,
        f"the {what} {missing[0]} is not in the checkpoint{rest}",
        subject=missing[0] if of == 1 else "parameters",
        key=key,
        expected=f"{of:,} {what}{'s' * (of != 1)}",
        found=f"{of - len(missing):,}",
        evidence=shown(missing) if len(missing) > 1 else (),
        help=f"is it {near}?" if near else "save it, or take it out of the contract",
        details={"leaves": missing},
    )


RULE = Rule(
    code="CKP603",
    name="leaf-missing",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
