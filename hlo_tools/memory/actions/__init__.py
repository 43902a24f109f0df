"""What would make the peak smaller: one file for each kind of action, all of them functions of the lives of buffers.

The figure is never the size of what an action touches: the peak is worked out again with those buffers smaller, gone or
shorter-lived, so it tells how far the peak falls before another moment of the step is the highest.
"""

from __future__ import annotations

from ..action import Action
from ..lives import Lives
from . import donate, layout, microbatch, offload, recompute, shard

__all__ = ["actions"]

_KINDS = (donate, shard, recompute, offload, microbatch, layout)


def actions(lives: Lives) -> tuple[Action, ...]:
    """Every action that frees something worth it, what frees most first."""
    found = [action for kind in _KINDS for action in kind.actions(lives) if action.frees_bytes >= lives.worth]
    return tuple(sorted(found, key=lambda action: (-action.frees_bytes, action.kind, action.what)))
