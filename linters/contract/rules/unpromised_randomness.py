"""A step drops units at random, and the contract does not say how often anew.

## What it does
Reports a build argument with `dropout` in its name that is above 0 where `rng.streams` is missing, and a stream that is
drawn anew for each microbatch where a step has only one, or for none where it has several.

## Why is this bad?
One key for all microbatches makes the same units drop in each: correlated noise, N times as strong. Nothing in a loss
shows it.

## Example
```yaml
step:
  train: { entry: my_pkg.train:build, args: { dropout: 0.1 } }
```

## Use instead
```yaml
step:
  train: { entry: my_pkg.train:build, args: { dropout: 0.1 } }
rng: { root: { seed: 0 }, derivation: fold_in, streams: { dropout: [step, microbatch] } }
```

## References
- https://github.com/google-research/vision_transformer/issues/286
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    streams = view.mapping("rng", "streams")
    for name in view.mapping("step") if view.complete and not streams else ():
        for argument, value in view.mapping("step", name, "args").items():
            if "dropout" in argument and isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
                yield view.finding(
                    RULE,
                    ("step", name, "args", argument),
                    f"step `{name}` is built with {argument}={value}, and `rng.streams` promises nothing about it",
                    expected="rng: { streams: { dropout: [step, microbatch] } }",
                    found="no `rng.streams`",
                )
    parts = view.integer("accumulation", "microbatches") or 1
    for stream in streams:
        drawn = [item for _, item in view.items("rng", "streams", stream)]
        if parts > 1 and "step" in drawn and "microbatch" not in drawn:
            yield view.finding(
                RULE,
                ("rng", "streams", stream),
                f"stream `{stream}` is the same in all {parts} microbatches of a step",
                expected="[step, microbatch]",
                found=", ".join(str(item) for item in drawn),
                help="draw it anew for each microbatch; where it is meant so, accept it under `deviations`",
            )


RULE = Rule(
    code="SEM014",
    name="unpromised-randomness",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
