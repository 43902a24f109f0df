"""The stages of the data stand in an order in which they cannot be done.

## What it does
Reports `raw`, which reads the records, behind a stage that works on them, and a `tokenise` behind a stage that works
on tokens: `pack`, `shift` or `mask`. A `map` and a `shard` may stand anywhere.

## Why is this bad?
`stages` is the order in which it is done. Whoever follows it, in a review or in another loader, does something else
than the run.

## Example
```yaml
data:
  stages: [{ kind: pack }, { kind: raw }, { kind: tokenise }]
```

## Use instead
```yaml
data:
  stages: [{ kind: raw }, { kind: tokenise }, { kind: pack }]
```

## References
- https://google-grain.readthedocs.io/en/latest/
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..stages import stages
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    listed = stages(view)
    for index, stage in enumerate(listed):
        early = next((other for other in listed[:index] if other.kind in BEFORE.get(stage.kind or "", ())), None)
        if early is None:
            continue
        yield view.finding(
            RULE,
            (*stage.key, "kind"),
            f"{stage.label} stands behind {early.label}, which needs what it gives",
            subject=f"{stage.key[-1]}",
            expected=f"{stage.kind} before {early.kind}",
            found=", ".join(str(each.kind) for each in listed),
        )


ON_TOKENS = ("pack", "shift", "mask")
BEFORE: dict[str, tuple[str, ...]] = {"raw": ("tokenise", *ON_TOKENS), "tokenise": ON_TOKENS}
"""Stage -> stages that cannot be done before it."""


RULE = Rule(
    code="DAT016",
    name="stage-order",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
