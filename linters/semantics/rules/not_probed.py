"""The meaning of a step was to be probed, and was not.

## What it does
With `--semantics`, reports each step on a target that can execute whose terms, accumulation and update could not be
measured, with the reason: the step gives no `loss_terms` or no `loss_and_grads`, the contract promises no `objective`,
nothing in the batch tells what a term is divided by, a term is no finite number, it computes in less than float32, or
it failed.

## Why is this bad?
A verdict that measured nothing looks like one in which everything agreed.

## Example
```python
return SimpleNamespace(fn=train_step, args=(state, batch))
```

## Use instead
```python
def loss_terms(state, batch):
    losses = token_losses(state.params, batch) * batch["mask"]
    return {"cross_entropy": (jnp.sum(losses), jnp.sum(batch["mask"]))}

return SimpleNamespace(
    fn=train_step, args=(state, batch), loss_and_grads=loss_and_grads, loss_terms=loss_terms
)
```

## References
- https://github.com/huggingface/transformers/issues/35203
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule
from ...run.rules.not_executed import EXECUTES
from ..diagnosis import NOISE
from ..wording import term_key

TWIN = "give the step `reference_args` with which it computes in float32 or wider, such as { compute: float32 }"
STEP = "give the step `loss_and_grads(*args) -> (loss, grads)` and `loss_terms(*args) -> {name: (sum, denominator)}`"
COUNTED = (
    "name its mask, by `data.fields.NAME.role: loss_mask`, or the id of labels that do not count, by "
    "`data.fields.NAME.range: [-100, LAST]`; where all targets count, promise `normaliser: batch_positions`"
)


def check(evidence: StepEvidence) -> Iterable[Finding]:
    if not evidence.semantics_requested or not evidence.target.startswith(EXECUTES):
        return
    facts, key, advice = evidence.semantics, evidence.step_key, STEP
    reasons = [f"{each.what}: {each.sentence}" for each in facts.not_judged] if facts is not None else []
    if facts is None:
        why, advice = "it was not probed", "capture with `contract-lint capture --semantics`"
    elif not facts.accumulations:
        first = next(iter(facts.not_judged), None)
        why = first.sentence if first is not None else "nothing could be built"
    elif facts.precision not in NOISE:
        why, advice = "it computes in less than float32, which hides what a term is divided by", TWIN
        key = f"{evidence.step_key}.reference_args"
    elif evidence.contract.objective is None:
        why, key = "the contract promises no `objective`", "objective"
        names = ", ".join(facts.terms)
        advice = f"write down weight and normaliser of each term; the step's are {names}"
    elif evidence.diagnosis is not None and evidence.diagnosis.unfinite:
        index, term, value = evidence.diagnosis.unfinite[0]
        why = f"the sum of `{term.name}` is {value:g} on the probed batch, so nothing can be promised of it"
        key, advice = term_key(index), "look at what `loss_terms` makes of the values of `example(0)`"
    elif evidence.diagnosis is not None and evidence.diagnosis.broken is not None:
        why = f"{evidence.diagnosis.broken} on the probed batch"
        advice = "look at what the step makes of the values of `example(0)`"
    elif evidence.diagnosis is not None and evidence.diagnosis.without_divisor:
        index, term = evidence.diagnosis.without_divisor[0]
        why = f"nothing in its batch tells which targets count, and `{term.name}` is divided by their number"
        key, advice = term_key(index, "normaliser"), COUNTED
    else:
        return
    yield RULE.finding(
        f"the meaning of step `{evidence.name}` was not judged: {why}",
        subject=evidence.name,
        location=evidence.place(key),
        key=key,
        expected="terms and gradients at several numbers of microbatches",
        found="none",
        evidence=tuple(reasons),
        help=advice,
    )


RULE = Rule(code="SEM801", name="not-probed", severity="error", evidence="semantics", doc=__doc__ or "", check=check)
