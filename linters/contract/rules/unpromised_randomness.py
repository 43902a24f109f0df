"""A step drops units at random, and the contract does not say how often anew.

## What it does
Reports a build argument with `dropout` in its name that is above 0 where `rng.streams` is missing, and a stream that is
the same in all microbatches of a step. A stream of dropout or of each microbatch is drawn anew for each step, and none
names a thing twice.

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
from ..view import View, is_number


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    streams = view.mapping("rng", "streams")
    for name in view.mapping("step") if view.complete and not streams else ():
        for argument, value in view.mapping("step", name, "args").items():
            if "dropout" in argument and is_number(value) and value > 0:
                yield view.finding(
                    RULE,
                    ("step", name, "args", argument),
                    f"step `{name}` is built with {argument}={value}, and `rng.streams` promises nothing about it",
                    expected="rng: { streams: { dropout: [step, microbatch] } }",
                    found="no `rng.streams`",
                )
    parts = view.integer("accumulation", "microbatches") or 1
    for stream in streams:
        if not isinstance(view.get("rng", "streams", stream), list):
            continue
        drawn = [item for _, item in view.items("rng", "streams", stream)]
        for problem, advice in _problems(drawn, parts, "dropout" in str(stream)):
            yield view.finding(
                RULE,
                ("rng", "streams", stream),
                f"stream `{stream}` {problem}",
                subject=f"{stream} {problem}",
                expected="[step, microbatch]" if parts > 1 or "microbatch" in drawn else "[step]",
                found=", ".join(str(item) for item in drawn) or "[]",
                help=advice,
            )


def _problems(drawn: list[object], parts: int, dropout: bool) -> Iterable[tuple[str, str]]:
    meant = "where it is meant so, accept it under `deviations`"
    twice = next((each for each in drawn if drawn.count(each) > 1), None)
    if twice is not None:
        yield f"names `{twice}` {drawn.count(twice)} times", "name it once"
    if "step" not in drawn and ("microbatch" in drawn or dropout):
        yield "is the same in every step", f"draw it anew for each step; {meant}"
    if parts > 1 and "step" in drawn and "microbatch" not in drawn:
        yield f"is the same in all {parts} microbatches of a step", f"draw it anew for each microbatch; {meant}"


RULE = Rule(
    code="SEM014",
    name="unpromised-randomness",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
