"""How an optimised program's collectives follow from those of the partitioned program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..collectives import Collective
from .pool import Share


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Executions of the partitioned program that became executions of the optimised one by named rewrites.

    No names: they are the same. Nothing in `after`: the rewrite removes them. `formula` relates both sides.
    """

    rewrites: tuple[str, ...]
    before: tuple[Share, ...]
    after: tuple[Share, ...]
    formula: str

    @property
    def elements_before(self) -> int:
        return sum(share.elements for share in self.before)

    @property
    def elements_after(self) -> int:
        return sum(share.elements for share in self.after)

    def as_json(self) -> dict[str, Any]:
        return {
            "rewrites": list(self.rewrites),
            "formula": self.formula,
            "before": [_share_as_json(share) for share in self.before],
            "after": [_share_as_json(share) for share in self.after],
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """Every row of both ledgers: rewritten, or left over on its side."""

    steps: tuple[Rewritten, ...]
    vanished: tuple[Share, ...]
    """Left of the partitioned program: nothing in the optimised one corresponds, and no rewrite removes them."""
    appeared: tuple[Share, ...]
    """Left of the optimised program: no rewrite makes them from what the partitioned program holds."""

    @property
    def remainder_elements(self) -> int:
        """Elements per device and step on both sides that no named rewrite accounts for."""
        return sum(share.elements for share in (*self.vanished, *self.appeared))

    @property
    def complete(self) -> bool:
        return not self.vanished and not self.appeared

    def used(self) -> dict[str, int]:
        """Each rewrite that was used, with the number of executions of the partitioned program it touched."""
        found: dict[str, int] = {}
        for step in self.steps:
            for name in step.rewrites:
                found[name] = found.get(name, 0) + sum(share.executions for share in step.before)
        return found

    def dtypes(self, rewrite: str) -> tuple[str, ...]:
        """The types in which that is communicated, as run, which a rewrite was used on."""
        steps = (step for step in self.steps if rewrite in step.rewrites)
        return tuple(sorted({share.row.dtype for step in steps for share in step.after}))

    def origin(self, row: Collective) -> tuple[Collective, ...]:
        """The partitioned rows that an optimised row came from (its source frames are more often known)."""
        return tuple(
            before.row for step in self.steps if any(s.row is row for s in step.after) for before in step.before
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "remainder_elements": self.remainder_elements,
            "steps": [step.as_json() for step in self.steps],
            "vanished": [_share_as_json(share) for share in self.vanished],
            "appeared": [_share_as_json(share) for share in self.appeared],
        }


def _share_as_json(share: Share) -> dict[str, Any]:
    axes = share.row.axes
    return {
        "name": share.row.name,
        "kind": share.row.kind,
        "axes": list(axes) if isinstance(axes, tuple) else axes,
        "dtype": share.row.dtype,
        "executions": share.executions,
        "elements": share.elements,
        "source": share.row.source,
    }
