"""Not exactly one of loader and model moves the targets on by one token.

## What it does
Counts the stages of `data.stages` whose `kind` is `shift`, and compares with `data.shift`: `batch` wants one of them,
`model` none; where nothing is said, two are too many.

## Why is this bad?
A model that shifts what the loader has shifted learns the token after the next, and one where nobody shifts learns to
copy. Both losses fall.

## Example
```yaml
data:
  shift: model
  stages: [{ kind: tokenise }, { kind: shift }, { kind: shard }]
```

## Use instead
```yaml
data:
  shift: batch
  stages: [{ kind: tokenise }, { kind: shift }, { kind: shard }]
```

## References
- https://github.com/LLM360/amber-train/issues/6
- https://github.com/InternLM/InternLM/issues/318
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
    listed, promised = stages(view), view.text("data", "shift")
    shifts = [stage for stage in listed if stage.kind == "shift"]
    if promised == "batch" and listed and not shifts and view.complete and all(stage.kind for stage in listed):
        yield view.finding(
            RULE,
            ("data", "shift"),
            "`shift: batch`, and no stage of `data.stages` moves the targets on",
            expected="a stage with `kind: shift`",
            found=", ".join(str(stage.kind) for stage in listed),
        )
    for stage in shifts[1 if promised != "model" else 0 :]:
        other = "`data.shift: model` says that the model does" if promised == "model" else f"so does {shifts[0].label}"
        yield view.finding(
            RULE,
            (*stage.key, "kind"),
            f"{stage.label} moves the targets on by one, and {other}",
            expected="one shift, in the loader or in the model",
            found=f"{len(shifts) + (promised == 'model')} shifts",
        )


RULE = Rule(code="DAT011", name="shift-not-once", severity="error", evidence="contract", doc=__doc__ or "", check=check)
