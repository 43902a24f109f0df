"""`checkpoint diff`: two saved states beside each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...linters.checkpoint.difference import LeafChange, NotStored, difference, not_stored
from ...linters.checkpoint.read import read_checkpoint

_SAID = {"shape": "in shape", "dtype": "in dtype", "content": "in content", "values": "in values"}


@dataclass(frozen=True, slots=True)
class CheckpointDiff:
    """What B holds otherwise than A. `values` says whether contents were compared, `holes` what was not there to be."""

    a: str
    b: str
    values: bool
    changes: tuple[LeafChange, ...]
    holes: tuple[NotStored, ...] = ()
    skipped: tuple[str, ...] = ()
    """What nobody compared."""

    @property
    def verdict(self) -> str:
        """`3 leaves differ: 1 added, 2 in values`."""
        return self._found + (f"; not compared: {', '.join(self.skipped)}" if self.skipped else "")

    @property
    def _found(self) -> str:
        if not self.changes:
            same = (
                "the same leaves, and the same values" if self.values else "the same leaves; values were not compared"
            )
            return f"{same}; chunks are not stored" if self.holes else same
        kinds = dict.fromkeys(("removed", "added", "shape", "dtype", "content", "values"), 0)
        for change in self.changes:
            kinds[change.kind] += 1
        leaves = len({change.path for change in self.changes})
        counts = ", ".join(f"{count:,} {_SAID.get(kind, kind)}" for kind, count in kinds.items() if count)
        return f"{leaves:,} lea{'f differs' if leaves == 1 else 'ves differ'}: {counts}"

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": 1,
            "a": self.a,
            "b": self.b,
            "verdict": self.verdict,
            "not_compared": list(self.skipped),
            "changes": [_change(change) for change in self.changes],
            "not_stored": [{"side": hole.side, "what": hole.path, "chunks": hole.what} for hole in self.holes],
        }


def _change(change: LeafChange) -> dict[str, Any]:
    found = {"kind": change.kind, "what": change.path, "before": change.before, "after": change.after}
    values = change.values
    if values is not None:
        relative = values.relative if values.relative != float("inf") else None
        found |= {
            "elements": values.elements,
            "different": values.different,
            "largest": values.largest,
            "relative": relative,
            "not_finite": list(values.not_finite),
        }
    return found


def checkpoint_diff(
    a: str, b: str, *, values: bool = True, on_progress: Callable[[str], None] | None = None
) -> CheckpointDiff:
    """Raises ContractLintError for a checkpoint that cannot be read."""
    one, other = read_checkpoint(a), read_checkpoint(b)
    for side in (one, other):
        damaged = next((hole for item in side.items for hole in item.holes if hole.kind == "damaged"), None)
        if damaged is not None:
            help = f"see: contract-lint checkpoint check {side.path}"
            raise ContractLintError(f"is damaged: {damaged.what}", Location(side.path), help)
    changes = tuple(difference(one, other, values=values, on_progress=on_progress))
    notes = any(item.notes for side in (one, other) for item in side.items)
    skipped = ("what .safetensors files say of themselves",) if notes else ()
    return CheckpointDiff(a, b, values, changes, tuple(not_stored(one, other, changes)), skipped)
