"""The step is built with another value than the contract promises of a build argument.

## What it does
A promise may name the build argument that sets it: `accumulation.arg`, `arg` of a clip, `rng.root.arg`. Compares what
it promises with what a step gives for that argument (`step.*.args`) and, where it gives nothing, with the default that
stands in the build function, if its file is found and the default is a plain value.

## Why is this bad?
`arg` only names the argument, and passes nothing on: the step is what `build(mesh, **args)` makes. Loss scale, memory,
collectives or random numbers depend on the value: contract and step would describe two programs.

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
from ....contracts.key import format_key
from ....contracts.load import LoadedContract
from ....contracts.promised_arguments import promised_arguments
from ...rule import Rule
from ..build_default import UNKNOWN, build_default
from ..view import View

_LONGEST = 60


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    for promised in promised_arguments(view.data):
        for name in view.mapping("step"):
            arguments = view.mapping("step", name, "args")
            given = promised.argument in arguments
            found = arguments[promised.argument] if given else build_default(loaded, name, promised.argument)
            if found is UNKNOWN or found == promised.value:
                continue
            key, stated = format_key(promised.key), f"{promised.argument}={str(found)[:_LONGEST]}"
            default = "" if given else f", the default of `{view.text('step', name, 'entry')}`"
            wanted = f"`{promised.argument}: {promised.value}`"
            yield view.finding(
                RULE,
                ("step", name, "args", promised.argument) if given else promised.key,
                f"step `{name}` is built with {stated}{default}; `{key}` promises {promised.value}",
                subject=f"step.{name}.args.{promised.argument}",
                expected=str(promised.value),
                found=str(found)[:_LONGEST],
                help=None
                if given
                else f"write {wanted} into step.{name}.args: `arg` names the argument, and sets nothing",
            )


RULE = Rule(
    code="SEM003",
    name="build-argument",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
