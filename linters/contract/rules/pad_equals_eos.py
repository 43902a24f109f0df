"""Padding has the same id as the end of a document.

## What it does
Compares `data.tokenizer.pad_id` with `eos_id`.

## Why is this bad?
Nothing in a row then tells the end of the last document from padding: a mask made by value hides every end from the
loss, and the model never learns to stop. It is no fault where masks are made from lengths or segment ids: hence advice.

## Example
```yaml
data: { tokenizer: { vocab: 64, eos_id: 2, pad_id: 2 } }
```

## Use instead
```yaml
data: { tokenizer: { vocab: 64, eos_id: 2, pad_id: 0 } }
```

## References
- https://github.com/huggingface/transformers/issues/23530
- https://github.com/huggingface/trl/issues/976
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    pad, eos = (view.get("data", "tokenizer", name) for name in ("pad_id", "eos_id"))
    if isinstance(pad, int) and pad == eos:
        yield view.finding(
            RULE,
            ("data", "tokenizer", "pad_id"),
            f"padding and the end of a document are both id {pad}",
            expected="two ids",
            found=f"pad_id == eos_id == {pad}",
            help="`data: { counted: { eos: true } }` promises that ends are learnt all the same, and has it checked",
        )


RULE = Rule(code="DAT006", name="pad-equals-eos", severity="info", evidence="contract", doc=__doc__ or "", check=check)
