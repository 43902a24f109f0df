"""A stage of the data does not give what it is there for.

## What it does
Looks in the `output` of each stage of `data.stages` for the part that its `kind` makes: `tokenise` tokens, `shift`
targets, `mask` a loss mask or weights, `pack` segment ids where `data.packing.kind` is `segments`. A usual name is its
role.

## Why is this bad?
The stages behind it then work on something else, or make it up: a packer without segment ids leaves rows in which
nothing tells one document from the next.

## Example
```yaml
data:
  packing: { kind: segments }
  stages: [{ kind: pack, output: { tokens: {}, positions: {} } }]
```

## Use instead
```yaml
data:
  packing: { kind: segments }
  stages: [{ kind: pack, output: { tokens: {}, positions: {}, segment_ids: {} } }]
```

## References
- https://github.com/huggingface/nanoVLM/pull/204
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.model import COUNTING
from ...rule import Rule
from ..stages import UNKNOWN, stages
from ..view import View

MAKES = {
    "tokenise": ("tokens",),
    "pack": ("segment_ids",),
    "shift": ("targets",),
    "mask": COUNTING,
}
"""Kind of a stage -> roles, one of which is its work."""


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    apart = view.text("data", "packing", "kind") == "segments"
    for stage in stages(view) if view.complete else ():
        wanted = MAKES.get(stage.kind or "", ())
        if not wanted or stage.gives is None or (stage.kind == "pack" and not apart):
            continue
        if not {field.role for field in stage.gives.values()} & {*wanted, UNKNOWN}:
            yield view.finding(
                RULE,
                (*stage.key, "output"),
                f"{stage.label} gives no {' and no '.join(role.replace('_', ' ') for role in wanted)}",
                expected=f"a field with the role {' or '.join(wanted)}",
                found=", ".join(stage.gives) or "nothing",
            )


RULE = Rule(
    code="DAT012",
    name="stage-incomplete",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
