"""A promise could not be judged, because the capture does not hold what it speaks of.

## What it does
Lists the promises whose evidence is missing: collectives without a partitioned program, memory without a buffer
assignment, placements without a mesh, patterns and optimizer slots without a parameter they could fit, a batch without
an array of it, signatures that were never traced.

## Why is this bad?
A promise that nobody looked at must not pass as one that was kept.

## Example
```yaml
parameters:
  rules:
    # the program calls them blocks/attention/query
    - { match: "layers/attn/w[qkv]", axes: [layer, embed, heads] }
```

## Use instead
Promise what the program has, and capture it with the files that show it.

## References
- https://docs.jax.dev/en/latest/aot.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ....contracts.pattern import path_pattern
from ...evidence import StepEvidence
from ...rule import Rule

Missing = tuple[str, str]
"""Contract key and what is missing for it."""


def check(evidence: StepEvidence) -> Iterable[Finding]:
    for key, reason in (*_programs(evidence), *_tensors(evidence)):
        yield RULE.finding(
            f"`{key}` could not be judged: {reason}",
            subject=key,
            location=evidence.place(key),
            key=key,
            expected="evidence",
            found="none",
            help="correct the promise, or make a capture that holds what it speaks of",
        )


def _programs(evidence: StepEvidence) -> Iterator[Missing]:
    contract, section = evidence.contract, evidence.section
    if contract.collectives is not None and evidence.step.partitioned is None:
        yield "collectives", "the capture holds no partitioned program"
    limits = contract.memory
    if limits is not None and (limits.hbm is not None or limits.classes):
        ledger = evidence.memory
        if ledger is None:
            yield "memory", "the capture holds neither a buffer assignment nor memory figures"
        elif limits.classes and ledger.method == "compiled-stats":
            yield "memory.classes", "the capture holds memory sums only, no buffer assignment that tells classes apart"
    if section is not None and any(section.signatures.values()) and not evidence.facts.signatures:
        yield f"{evidence.step_key}.signatures", "no declared signature was traced"


def _tensors(evidence: StepEvidence) -> Iterator[Missing]:
    contract = evidence.contract
    rows = evidence.tensors.rows
    placed = contract.parameters is not None and bool(contract.parameters.rules)
    split = contract.batch is not None and contract.batch.axes is not None
    if evidence.mesh is None:
        if placed:
            yield "parameters.rules", "the capture names no mesh"
        if split:
            yield "batch.axes", "the capture names no mesh"
    if contract.batch is not None and not any(row.class_ == "batch" and row.global_shape for row in rows):
        yield "batch", "the step has no batch argument: every array of it is state or a scalar"
    if contract.model is not None:
        return  # the model's own parameters are compared one by one
    paths = [row.path for row in rows if row.class_ == "parameter"]
    if not paths:
        for key, section in (("optimizer", contract.optimizer), ("parameters", contract.parameters)):
            if section is not None:
                yield key, "none of the step's arguments is a parameter that is updated"
    elif contract.parameters is not None:
        for index, rule in enumerate(contract.parameters.rules):
            pattern = path_pattern(rule.match)
            if not any(pattern.matches(path) for path in paths):
                yield f"parameters.rules[{index}]", "no parameter of the program matches it"


RULE = Rule(
    code="JIT210", name="promise-not-judged", severity="error", evidence="program", doc=__doc__ or "", check=check
)
