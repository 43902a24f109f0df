"""The progress record that a contract promises leaves out what a cursor is a place in.

## What it does
Compares `data.progress.fields` with the twelve fields of a progress record. A project may add its own.

## Why is this bad?
What is not written beside a checkpoint cannot be compared when the run is resumed: the cursor goes back into other data
and nothing says so.

## Example
```yaml
data: { progress: { fields: [step, tokens, cursor] } }
```

## Use instead
```yaml
data:
  progress:
    fields:
      [step, tokens, sources, cursor, dataset, tokenizer, mixture,
       seed, sampler, batch, shards, prefetch, wall_clock]
```

## References
- https://github.com/huggingface/datasets/issues/5454
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.progress import PROGRESS_FIELDS
from ....contracts.suggest import nearest
from ...rule import Rule
from ..view import View

KEY = ("data", "progress", "fields")


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    if not isinstance(view.get(*KEY), list):
        return
    named = [item for _, item in view.items(*KEY) if isinstance(item, str)]
    missing = [name for name in PROGRESS_FIELDS if name not in named]
    if not missing:
        return
    own = [name for name in named if name not in PROGRESS_FIELDS]
    meant = {name: near for name in own if (near := nearest(name, missing)) is not None}
    yield view.finding(
        RULE,
        KEY,
        f"{len(missing)} of {len(PROGRESS_FIELDS)} fields of a progress record are not promised: {', '.join(missing)}",
        expected=", ".join(PROGRESS_FIELDS),
        found=", ".join(named) or "none",
        evidence=tuple(f"{name}: {PROGRESS_FIELDS[name]}" for name in missing),
        help=" ".join(f"is `{name}` meant to be `{near}`?" for name, near in meant.items())
        or "list all twelve: see docs/data.md",
    )


RULE = Rule(
    code="DAT009",
    name="progress-fields",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
