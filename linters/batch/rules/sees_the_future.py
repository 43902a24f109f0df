"""A token's loss depends on tokens behind it.

## What it does
With `batch check --probe`: changes one token at a time and looks at the losses before it in its document. None may move
where `data.attention.causal` holds (it does unless the contract says otherwise).

## Why is this bad?
The model reads the answer: the loss falls at once, and what it has learnt is to copy. With a step that shifts by itself
a batch that is shifted already does it too.

## Example
```python
scores = q @ k.T  # every query sees every key
```

## Use instead
```python
scores = jnp.where(jnp.tril(jnp.ones((s, s), bool)), q @ k.T, -jnp.inf)
```

## References
- https://github.com/huggingface/transformers/issues/39814
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import BatchEvidence, of_all


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    batch, probe = evidence.batch, evidence.probe
    if probe is None or not evidence.data.attention.causal:
        return
    for moved in probe.moved:
        own = batch.span_at(moved.row, moved.column)
        first = own.start if own is not None else 0
        # The target of a column is the next token: where the model shifts by itself, its loss may move.
        last = moved.column - (batch.targets_shifted_by == "model" or batch.tokens_hold_targets)
        early = moved.among(range(first, last))
        if early is not None and (batch.segments is None or own is not None):
            column, count, largest = early
            yield evidence.finding(
                RULE,
                f"row {moved.row}: another token in column {moved.column} moves the loss of column {column}, which "
                f"stands before it ({of_all(count, largest)}, must be 0)",
                subject="causal",
                key="data.attention.causal",
                expected="0",
                found=f"{largest:.4g}",
                evidence=(f"losses read from {probe.how} of step {probe.step}",),
                help="mask keys behind the query; a model that sees both ways promises `attention: { causal: false }`",
                details={"row": moved.row, "column": moved.column, "moved": column, "count": count, "largest": largest},
            )
            return


RULE = Rule(
    code="DAT622",
    name="sees-the-future",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
