"""Which change is the cause and which follow from it: causes first, each list largest first."""

from __future__ import annotations

from collections.abc import Iterable

from .change import RANK, Change

# A cause of these kinds changes everything behind it.
_WHOLE = frozenset(("layers", "loop", "remat", "argument"))
# Sums: where nothing else is the cause, what they are sums of leads.
_SUMS = frozenset(("peak", "memory", "flops", "traffic", "ring"))
# Added to the rank of minor changes.
_LAST = 100
# These are never more than a consequence while there is a cause of another kind.
_EFFECTS = frozenset(
    ("result", "copy", "transpose", "convert", "collective-as-run", "fusion", "layout", "memory", "peak")
) | frozenset(("flops", "traffic", "ring"))


def ranked(found: Iterable[Change]) -> list[Change]:
    """The changes in order, `root` and `follows` set.

    With a cause at hand, effects follow it: a lost donation raises the peak, a cast changes bytes. Without one other
    arithmetic in the forward pass leads, which kernels and copies follow, else the largest effect.
    """
    changes = sorted(found, key=_order)
    if not changes:
        return []
    causes = [change for change in changes if change.root and change.kind not in _EFFECTS]
    if not causes:
        changes.sort(key=lambda change: (not _is_other_work(change), change.kind in _SUMS, *_order(change)))
        changes[0].root = True
        for change in changes[1:]:
            change.root, change.follows = False, changes[0].what
        return changes
    first = causes[0]
    for change in changes:
        if change is first:
            continue
        if first.kind in _WHOLE or change.kind in _EFFECTS or _explains(first, change) or not change.root:
            change.root, change.follows = False, first.what
    return sorted(changes, key=lambda change: (not change.root, *_order(change)))


def _is_other_work(change: Change) -> bool:
    return change.kind == "operation" and change.arithmetic and not change.phase


def _order(change: Change) -> tuple[int, int, int, str]:
    """Rank, forward pass before what is derived from it, size."""
    return (
        RANK[change.kind] + _LAST * change.minor,
        int(bool(change.phase) and change.kind != "remat"),
        -change.weight,
        change.what,
    )


def _explains(cause: Change, change: Change) -> bool:
    """Whether a change of a kind that may be a cause itself follows from this one: same line, scope or later pass."""
    if RANK[change.kind] < RANK[cause.kind]:
        return False
    same_line = cause.source_b is not None and cause.source_b == change.source_b
    same_scope = bool(cause.scope) and cause.scope == change.scope
    return same_line or same_scope or (cause.kind == "dtype" and change.kind in ("dtype", "collective", "operation"))


def led_by(asked: Iterable[Change], found: Iterable[Change]) -> list[Change]:
    """The changes of what runs, led by the cause that stands in what was asked for: the partitioned program.

    There types and collectives are as the code says; a backend may widen or merge them, so that the cause is only one
    of many. Where a change of the same kind at the same line is among those of what runs, that one leads.
    """
    changes = list(found)
    lead = next(iter(asked), None)
    if lead is None or not changes:
        return changes
    if RANK[changes[0].kind] < RANK[lead.kind]:
        return changes
    same = (c for c in changes if c.kind == lead.kind and (c.kind in _WHOLE or c.source_b == lead.source_b))
    first = next(same, None)
    if first is None:
        first = lead
        first.details = [*first.details, "as the partitioned program has it"]
    rest = [change for change in changes if change is not first]
    first.root, first.follows = True, None
    for change in rest:
        if change.kind in _EFFECTS or first.kind in _WHOLE or _explains(first, change) or not change.root:
            change.root, change.follows = False, first.what
    return [first, *sorted(rest, key=lambda change: (not change.root, *_order(change)))]
