"""Which id among targets says that the loss does not count them, where no mask says which count."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .manifest import Fact


class Uncounted(Fact):
    """An id below 0, often -100; `inferred` from the targets themselves, where no contract gives it."""

    id: int
    inferred: bool

    def counted(self, targets: Any) -> Any:
        """Whether targets count: element by element for an array."""
        return targets != self.id

    def said(self, targets: str) -> str:
        """In words, with the name of the targets."""
        stands = f"{self.id} {'is taken' if self.inferred else 'stands'} for targets that do not count"
        if self.inferred:
            return f"{stands}: the only id below 0 in `{targets}`, and no `range` names one"
        return f"{stands}: the `range` of `{targets}` begins with it"


def uncounted_id(least: float | None, below: Collection[int]) -> Uncounted | None:
    """The id of targets that do not count; None where all count, or where it cannot be told.

    least: where the promised range of the targets begins, None without one; below: the values below 0 that they have,
    each once. A range that begins with a whole number below 0 names the id, one that begins at 0 or above forbids any.
    Where no range says, one value below 0 is taken for it; of several, any could be.
    """
    if least is not None and least < 0 and float(least).is_integer():
        return Uncounted(id=int(least), inferred=False)
    if (least is not None and least >= 0) or len(below) != 1:
        return None
    return Uncounted(id=next(iter(below)), inferred=True)


def why_none(targets: str, least: float | None, below: Collection[int]) -> str:
    """The reason for a None of `uncounted_id`, with the name of the targets."""
    if least is not None and least >= 0:
        return f"the promised `range` of `{targets}` begins at {least:g}, so every id counts"
    if len(below) > 1:
        between = f"{min(below)} to {max(below)}"
        return f"`{targets}` has {len(below):,} different ids below 0 ({between}), and no `range` names one"
    return f"no id of `{targets}` is below 0"
