"""Sizes that a program leaves open: `f32[?,8]`. Nobody knows how many bytes those are."""

from __future__ import annotations

import re

from ..module import HloModule

_OPEN = re.compile(r"\?(?=[,\]])")


def unbounded(module: HloModule) -> list[str]:
    """The array types with a size that has no bound, each once, in program order."""
    if module.text and not _OPEN.search(module.text):
        return []
    found: dict[str, None] = {}
    for instruction in module.instructions():
        if instruction.has_shape:
            for _, leaf in instruction.shape.leaves():
                if min(leaf.dims, default=0) < 0:
                    found[leaf.text.partition("{")[0]] = None
    return list(found)
