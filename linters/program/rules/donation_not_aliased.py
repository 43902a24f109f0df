"""An argument is promised to be donated, but the program keeps its buffer.

## What it does
Checks that every array of the arguments in `step.<name>.donate` is donated at the jit border and that the compiled
program reuses its buffer for an output.

## Why is this bad?
Without the reuse, old and new state live side by side: parameters and optimizer state count twice in device memory.

## Example
```python
return SimpleNamespace(fn=train_step, args=(state, batch))
```

## Use instead
```python
# or, of a step that is jitted already, donate_argnums=0 there
return SimpleNamespace(fn=train_step, args=(state, batch), donate=("state",))
```

## References
- https://docs.jax.dev/en/latest/faq.html#buffer-donation
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.manifest import Leaf
from ....contracts.model import format_bytes
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section = evidence.section
    if section is None or not section.donate:
        return
    kept_by_reason: dict[str, dict[str, list[Leaf]]] = {}
    for argument in section.donate:
        leaves = [leaf for leaf in evidence.facts.arguments if leaf.argument == argument]
        kept = [leaf for leaf in leaves if not leaf.aliased and leaf.parameter is not None]
        if not leaves:
            message = f"the step has no array argument {argument!r}, which the contract promises to donate"
            yield _finding(evidence, message, [argument], "no such argument", [])
        elif kept:
            why = "not donated" if not any(leaf.donated for leaf in kept) else "donated, but not reused"
            kept_by_reason.setdefault(why, {})[argument] = kept
    # What is done to several arguments alike, at the jit border, is one fault.
    for why, kept in kept_by_reason.items():
        names = list(kept)
        arrays = [leaf for leaves in kept.values() for leaf in leaves]
        count = sum(leaf.argument in kept for leaf in evidence.facts.arguments)
        size = format_bytes(sum(leaf.bytes or 0 for leaf in arrays))
        verb = "are" if len(names) > 1 else "is"
        message = (
            f"{' and '.join(names)} {verb} {why}: {len(arrays)} of {count} arrays ({size}) "
            "are kept beside their successors"
        )
        yield _finding(evidence, message, names, f"{verb} {why}", arrays)


def _finding(evidence: StepEvidence, message: str, names: list[str], found: str, arrays: list[Leaf]) -> Finding:
    key = f"{evidence.step_key}.donate"
    quoted = ", ".join(f'"{name}"' for name in names) + "," * (len(names) == 1)
    return RULE.finding(
        message,
        subject=", ".join(names),
        location=evidence.place(key),
        key=key,
        expected="every array aliased with an output",
        found=found,
        evidence=shown(f"{leaf.path}: {leaf.shape} {leaf.dtype}" for leaf in arrays),
        help=f"write `donate=({quoted})` in what `build` returns, or `donate_argnums` where you call jax.jit; and "
        "return an array of the same shape, dtype and placement for each",
        details={"argument": ", ".join(names)},
    )


RULE = Rule(
    code="MEM204", name="donation-not-aliased", severity="error", evidence="program", doc=__doc__ or "", check=check
)
