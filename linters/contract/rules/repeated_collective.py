"""Collectives of one kind over the same axes are promised twice.

## What it does
Compares kind and axes of the entries of `collectives.expect`, and of `collectives.allow`.

## Why is this bad?
An entry stands for *all* collectives of its kind and axes; two of them contradict each other.

## Example
```yaml
collectives:
  allow:
    - { kind: all-reduce, axes: [data], elements_max: 64, reason: metrics }
    - { kind: all-reduce, axes: [data], elements_max: 1, reason: loss }
```

## Use instead
```yaml
collectives:
  allow:
    - { kind: all-reduce, axes: [data], elements_max: 64, reason: metrics and loss }
```

## References
- https://openxla.org/xla/operation_semantics#allreduce
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    for section in ("expect", "allow"):
        seen: set[tuple[str, frozenset[str]]] = set()
        for key, _ in view.items("collectives", section):
            kind = view.text(*key, "kind")
            axes = frozenset(axis for _, axis in view.axes(*key, "axes"))
            if kind is None:
                continue
            if (kind, axes) in seen:
                yield view.finding(
                    RULE,
                    key,
                    f"{kind} over {' x '.join(sorted(axes)) or 'no axis'} is listed twice in `collectives.{section}`",
                    found=kind,
                    help="keep one entry for each kind and axes",
                )
            seen.add((kind, axes))


RULE = Rule(
    code="SHD011",
    name="repeated-collective",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
