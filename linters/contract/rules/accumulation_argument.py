"""The step is built with another number of microbatches than promised.

## What it does
Compares the build argument that `accumulation.arg` names, where a step gives it, with `accumulation.microbatches`.

## Why is this bad?
Loss scale, memory and the number of collectives depend on it: contract and step would describe two programs.

## Example
```yaml
step:
  train: { entry: my_pkg.train:build, args: { microbatches: 4 } }
accumulation: { microbatches: 2, arg: microbatches }
```

## Use instead
```yaml
step:
  train: { entry: my_pkg.train:build, args: { microbatches: 2 } }
accumulation: { microbatches: 2, arg: microbatches }
```

## References
- https://github.com/huggingface/transformers/issues/35203
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    argument = view.text("accumulation", "arg")
    promised = view.integer("accumulation", "microbatches")
    for name in view.mapping("step") if argument is not None and promised is not None else ():
        arguments = view.mapping("step", name, "args")
        if argument in arguments and arguments[argument] != promised:
            yield view.finding(
                RULE,
                ("step", name, "args", argument),
                f"step `{name}` is built with {argument}={arguments[argument]}, promised are {promised} microbatches",
                expected=str(promised),
                found=str(arguments[argument])[:60],
            )


RULE = Rule(
    code="SEM003",
    name="accumulation-argument",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
