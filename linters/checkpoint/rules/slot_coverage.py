"""An optimizer slot does not cover every parameter, or has an entry for one that is not there.

## What it does
Puts the slots beside the parameters. A leaf outside the parameters whose path ends with a parameter's is its entry in
a slot: `opt_state/0/mu/layers/w` is `layers/w` in `mu`. Each slot that `optimizer` or `checkpoint.slots` promises -
without them each that optax keeps in the shapes of the parameters - must have an entry of that shape for every
parameter that is not `frozen`. The other way round, an array that lies among a slot's entries and has no parameter is
one that was lost. Entries that the tree declares empty are masked on purpose.

Where the slots lie as optax saves a chain (`opt_state/0/mu`), the counts that `optimizer` promises must be there too:
Adam's beside its slots (`opt_state/0/count`), and that of `optimizer.schedule` in another part.

## Why is this bad?
Moments that are missing or of another model start from zeros: the first steps after a resume are far too large. A count
that is missing does the same to Adam's bias correction, and begins the schedule anew.

## Example
```yaml
optimizer: { name: adamw }   # saved: opt_state/0/mu and opt_state/0/nu, nu without norm/scale
checkpoint: {}
```

## Use instead
```yaml
optimizer: { name: adamw }
checkpoint: { frozen: [norm/scale] }   # if that parameter is not trained
```

## References
- https://github.com/NVIDIA/Megatron-LM/issues/761
- https://github.com/areal-project/AReaL/pull/1468
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import shown
from ...rule import Rule
from ..counts import uncounted
from ..evidence import CheckpointEvidence, counted
from ..slots import Slot


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    yield from _uncovered(evidence)
    yield from _without_a_parameter(evidence)
    for count in uncounted(evidence):
        yield evidence.finding(
            RULE,
            f"the count of {count.whose} is not in the checkpoint at {count.place}",
            subject=f"count {count.place}",
            key=count.key,
            expected=count.expected,
            found="it is not there",
            help="save the whole optimizer state",
            details={"count": count.place},
        )


def _uncovered(evidence: CheckpointEvidence) -> Iterable[Finding]:
    for row in evidence.coverage.slots:
        # A parameter that is not saved itself is told as such.
        missing = [path for path in row.of("missing") if path in evidence.parameters]
        other = [path for path in row.of("other shape") if path in evidence.parameters]
        if not missing and not other:
            continue
        lines = [f"missing: {path}" for path in missing]
        lines += [
            f"{path}: {list(row.cells[path].shape or ())}, the parameter {list(evidence.parameters[path].shape or ())}"
            for path in other
        ]
        covered = sum(path in evidence.parameters and not evidence.is_frozen(path) for path in row.of("covered"))
        wanted = covered + len(missing) + len(other)
        first = f"{missing[0]} is missing" if missing else lines[0]
        yield evidence.finding(
            RULE,
            f"the optimizer slot {row.name} covers {covered:,} of {counted(wanted, 'parameter')} (first: {first})",
            subject=row.name,
            key=evidence.slots_key,
            expected=f"{wanted:,} of {wanted:,}",
            found=f"{covered:,} of {wanted:,}",
            evidence=shown(lines) if len(lines) > 1 else (),
            help="save the whole optimizer state; name parameters without slots in checkpoint: { frozen: [...] }",
            details={"slot": row.name, "missing": missing, "other_shape": other},
        )


def _without_a_parameter(evidence: CheckpointEvidence) -> Iterable[Finding]:
    """Entries of slots whose parameter is not saved, and not promised either: of those that are another rule tells."""
    for name in evidence.expected_slots:
        slot = evidence.slots.get(name, Slot(name))
        alone = [path for path in slot.alone if path not in evidence.promised]
        if alone:
            verb = "has no parameter" if len(alone) == 1 else "have no parameter"
            entries = "1 entry" if len(alone) == 1 else f"{len(alone):,} entries"
            yield evidence.finding(
                RULE,
                f"{entries} of the optimizer slot {name} {verb} in the checkpoint (first: {alone[0]})",
                subject=f"{name} alone",
                expected=f"a parameter {alone[0]}",
                found="none",
                evidence=shown(alone) if len(alone) > 1 else (),
                help="the parameter is lost, or the slots are of another model: restore another step",
                details={"slot": name, "alone": alone},
            )


RULE = Rule(
    code="CKP607",
    name="slot-coverage",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
