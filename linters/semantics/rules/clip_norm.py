"""The gradient is clipped by another norm than promised.

## What it does
Compares what the optimizer was given, read off its first moments, with the gradient times min(1, max_norm / norm) for
the norm over all parameters, each element once. Where the bound has a build argument (`arg`), the step is built with
half of the norm over the number of microbatches, so that this clip acts, and one of each microbatch by itself too: then
each has a factor of its own in what the optimizer was given.

## Why is this bad?
Under a mesh a norm is easily counted once for each device that holds an element, or by each device for its own part.
The clip then depends on the number of devices; after an optimizer that normalises, the next loss does not tell.

## Example
```python
# replicated parameters count once for each device
norm = jnp.sqrt(jax.lax.psum(squares_of(grads), mesh.axis_names))
```

## Use instead
```python
norm = optax.global_norm(grads)  # on global arrays
```

## References
- https://github.com/NVIDIA/Megatron-LM/pull/5916
- https://github.com/ROCm/TransformerEngine/pull/715
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ....contracts.key import format_key
from ...cut import LARGEST, shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..meaning import number, same
from ..microbatches import of_update
from ..update import Update


def check(evidence: StepEvidence) -> Iterable[Finding]:
    facts = evidence.semantics
    if facts is None or facts.update is None:
        return
    update = Update(facts, evidence.contract)
    limit, clip, found = update.limit, update.clip, update.factor
    if limit is None or clip is None or found is None or not update.close or update.norm == 0:
        return
    promised = min(1.0, limit / update.norm)
    if same(found, promised, update.close) and all(
        same(each, promised, update.close) for each in update.factors.values()
    ):
        return
    key = format_key(("optimizer", "chain", update.chain.index(clip)))
    diagnosis, count = evidence.diagnosis, evidence.contract.microbatches
    factors = of_update(diagnosis, count) if diagnosis is not None else None
    known = (words for words, value in _reasons(update, limit) if same(found, value, update.close))
    meaning = factors.words() if factors is not None else next(known, None)
    if meaning is None and not all(same(each, found, 1e-3) for each in update.factors.values()):
        meaning = "each parameter has a factor of its own"
    why = f": {meaning}" if meaning else ""
    seen = f", as for a norm of {number(limit / found)}" if 0 < found < 1 and factors is None else ""
    yield RULE.finding(
        f"the optimizer of step `{evidence.name}` is given {found:.4g} x the gradient{seen}; promised is "
        f"{promised:.4g} x, for a norm of {number(update.norm)} and a bound of {number(limit)}{why}",
        subject=evidence.name,
        location=evidence.place(key),
        key=key,
        expected=f"{promised:.6g}",
        found=f"{found:.6g}",
        evidence=shown(
            (
                f"{each.path}: {update.factors[each.path]:.6g} x, copies: {each.copies}"
                for each in sorted(update.fact.parameters, key=lambda each: -each.gg)
                if each.path in update.factors
            ),
            LARGEST,
        ),
        help="take the norm once over logical parameters, behind the reduction and before the update"
        if factors is None
        else "add the microbatches up first, then clip their sum once",
    )


def _reasons(update: Update, limit: float) -> Iterator[tuple[str, float]]:
    copies = update.norm_of_copies
    if not same(copies, update.norm):
        yield "every element is counted once for each device that holds it", min(1.0, limit / copies)
    yield "it is not clipped before the optimizer", 1.0
    yield "the norm is the sum of squares, without its root", min(1.0, limit / update.norm**2)
    yield "the bound is not divided by the norm", limit
    every = [math.sqrt(each.gg) for each in update.fact.parameters if each.gg > 0]
    size = sum(norm**2 for norm in every)
    by_itself = sum(norm**2 * min(1.0, limit / norm) for norm in every) / size
    yield "each parameter is clipped by its own norm", by_itself


RULE = Rule(code="SEM810", name="clip-norm", severity="error", evidence="semantics", doc=__doc__ or "", check=check)
