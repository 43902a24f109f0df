"""Promises written by `init` that nobody has confirmed.

## What it does
Counts what is still marked as found but not confirmed: a `review` key on a step or an expected collective, and a
deviation whose reason begins with `review:`.

## Why is this bad?
`init` promises whatever the step does today, faults included. Until a person has read a promise, keeping it proves only
that nothing has changed. It is no fault of the step, so it never fails a run.

## Example
```yaml
collectives:
  expect:
    - { kind: all-reduce, axes: [data], count: 3, review: found by init }
```

## Use instead
```yaml
collectives:
  expect:
    # w1, w2 and the loss
    - { kind: all-reduce, axes: [data], count: 3 }
```

## References
- https://jestjs.io/docs/snapshot-testing
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import Key
from ....contracts.load import LoadedContract
from ...cut import in_a_line
from ...rule import Rule
from ..view import View

MARK = "review"
FIRST = 3


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    marked = list(_marked(view))
    if not marked:
        return
    count = len(marked)
    places = [loaded.place(key) for key in marked]
    listed = [f"{place.path}:{place.line}" for place in places]
    yield view.finding(
        RULE,
        marked[0],
        f"{count} {'promises are' if count > 1 else 'promise is'} still marked `{MARK}`: found by init, confirmed by "
        "nobody",
        subject=MARK,
        evidence=(in_a_line(listed, FIRST),),
        help=_how_to_see(view),
        details={"count": count, "places": listed},
    )


def _how_to_see(view: View) -> str:
    """Commands that can be copied: `init` and `verify` keep the capture, so making it again takes no compile."""
    file = shlex.quote(view.loaded.path)
    named = view.loaded.contract.targets if view.loaded.contract is not None else []
    target = f" --target {shlex.quote(named[0].target)}" if len(named) > 1 else ""
    return (
        f"`contract-lint capture {file}{target} -o capture`, then `contract-lint hlo collectives capture` shows each: "
        "unmark it"
    )


def _marked(view: View) -> Iterable[Key]:
    """The keys that carry a mark, section by section."""
    entries = [("step", name) for name in view.mapping("step")]
    entries += [key for key, _ in view.items("collectives", "expect")]
    for entry in entries:
        if view.text(*entry, MARK) is not None:
            yield (*entry, MARK)
    for key, _ in view.items("deviations"):
        if (view.text(*key, "reason") or "").startswith(f"{MARK}:"):
            yield (*key, "reason")


RULE = Rule(
    code="JIT019", name="unreviewed-promise", severity="info", evidence="contract", doc=__doc__ or "", check=check
)
