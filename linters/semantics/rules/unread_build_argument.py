"""A key of the step's configuration is never read.

## What it does
Watches the mappings among a step's build arguments while the step is built, traced and run, and reports every key that
nobody read. Keys that were asked for and are not there say what may have been meant.

## Why is this bad?
A misspelt or misplaced key is silently replaced by a default: the run starts, with other settings than its
configuration names. A key that the chosen path does not read, such as a loss weight of a block that is not built,
misleads its reader.

## Example
```yaml
step:
  train:
    entry: my_pkg.train:build
    args: { config: { training: { num_epoch: 2 } } }
# the code: config["training"].get("num_epochs", 1)
```

## Use instead
```yaml
step:
  train:
    entry: my_pkg.train:build
    args: { config: { training: { num_epochs: 2 } } }
```

## References
- https://github.com/unslothai/unsloth/pull/10452
- https://github.com/PHMbench/PHM-Vibench/pull/259
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import format_key
from ....contracts.suggest import nearest
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    facts = evidence.semantics
    for place in facts.unread if facts is not None else ():
        assert facts is not None
        key = format_key(("step", evidence.name, "args", *place.split(".")))
        folder, _, name = place.rpartition(".")
        beside = [other.rpartition(".")[2] for other in facts.missed if other.rpartition(".")[0] == folder]
        near = nearest(name, beside) or nearest(name, [other.rpartition(".")[2] for other in facts.missed])
        asked = f"asked for and not there: {', '.join(facts.missed)}" if facts.missed else None
        yield RULE.finding(
            f"step `{evidence.name}` never reads `{place}` of its build arguments",
            subject=f"{evidence.name} {place}",
            location=evidence.place(key),
            key=key,
            expected=near,
            found=name,
            help=f"did you mean `{near}`? It was asked for and is not there" if near else asked,
        )


RULE = Rule(
    code="SEM815", name="unread-build-argument", severity="error", evidence="semantics", doc=__doc__ or "", check=check
)
