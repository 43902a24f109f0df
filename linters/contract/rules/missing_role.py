"""A promise about batches needs a field that is not declared.

## What it does
Where `data.fields`, or what the last of `data.stages` gives, lists the batch: `packing.kind: segments` needs a field
with the role segment_ids, `shift: batch` one with the role targets, `counted.eos: true` a loss mask or weights and
`tokenizer.eos_id`. A usual name is its role.

## Why is this bad?
What no array can show is never checked: the promise looks kept.

## Example
```yaml
data: { fields: { tokens: {}, targets: {} }, packing: { kind: segments } }
```

## Use instead
```yaml
data: { fields: { tokens: {}, targets: {}, segment_ids: {} }, packing: { kind: segments } }
```

## References
- https://github.com/huggingface/nanoVLM/pull/204
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from ....contracts.finding import Finding
from ....contracts.key import Key, format_key
from ....contracts.load import LoadedContract
from ....contracts.model import COUNTING, ROLE_NAMES, Role
from ....contracts.uncounted import uncounted_id
from ...rule import Rule
from ..stages import UNKNOWN, batch_fields
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    fields = batch_fields(view)
    if not fields or not view.complete:
        return
    listed = format_key(next(iter(fields.values())).key[:-1])
    roles = {field.role for field in fields.values()}
    ranges = [field.range for field in fields.values() if field.role == "targets"]
    told = any(between is not None and uncounted_id(between[0], ()) is not None for between in ranges)
    for key, said, wanted in _needs(view):
        if told and wanted == COUNTING:
            continue  # an id of the targets says which count
        if not roles & {*wanted, UNKNOWN}:
            names = " or ".join(ROLE_NAMES[cast(Role, role)][0] for role in wanted)
            yield view.finding(
                RULE,
                key,
                f"{said} needs a field {names}, and `{listed}` has none",
                expected=f"a field with the role {' or '.join(wanted)}",
                found=", ".join(fields),
                help="or give the targets a `range` from an id below 0: that id is not counted"
                if wanted == COUNTING
                else None,
            )
    if view.get("data", "counted", "eos") is True and view.get("data", "tokenizer", "eos_id") is None:
        yield view.finding(
            RULE,
            ("data", "counted", "eos"),
            "`eos: true` needs `data.tokenizer.eos_id`: nothing else says which target is an end",
            expected="data.tokenizer.eos_id",
        )


def _needs(view: View) -> Iterable[tuple[Key, str, tuple[str, ...]]]:
    if view.text("data", "packing", "kind") == "segments":
        yield ("data", "packing", "kind"), "`kind: segments`", ("segment_ids",)
    if view.text("data", "shift") == "batch":
        yield ("data", "shift"), "`shift: batch`", ("targets",)
    if view.get("data", "counted", "eos") is True:
        yield ("data", "counted", "eos"), "`eos: true`", COUNTING


RULE = Rule(code="DAT004", name="missing-role", severity="error", evidence="contract", doc=__doc__ or "", check=check)
