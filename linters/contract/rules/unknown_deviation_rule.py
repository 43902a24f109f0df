"""A deviation accepts findings of a rule that does not exist.

## What it does
Looks up the code or name of every deviation in the catalogue, rules of other packages included.

## Why is this bad?
The deviation accepts nothing, and the finding it was written for stays or, worse, never was one.

## Example
```yaml
deviations:
  - { rule: SDH204, reason: embedding gathered once }
```

## Use instead
```yaml
deviations:
  - { rule: SHD204, reason: embedding gathered once }
```

## References
- https://docs.astral.sh/ruff/rules/invalid-rule-code/
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.suggest import nearest
from ...registry import rules
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    known: list[str] = []
    for key, _ in view.items("deviations"):
        name = view.text(*key, "rule")
        if name is None:
            continue
        known = known or [spelling for each in rules() for spelling in (each.code, each.name)]
        if name not in known:
            yield view.finding(
                RULE,
                (*key, "rule"),
                f"there is no rule `{name}`",
                found=name,
                expected=nearest(name, known),
                help=_help(name, known),
            )


def _help(name: str, known: list[str]) -> str:
    near = nearest(name, known)
    return f"did you mean `{near}`?" if near else "`contract-lint rules` lists them"


RULE = Rule(
    code="JIT014",
    name="unknown-deviation-rule",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
