"""Where an instruction comes from, in words that survive an edit: source line, scope without layer numbers, phase."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from ..instruction import Instruction
from ..scope import is_backward, is_recomputed, scope_of

Phase = Literal["", "backward", "recompute"]
_NUMBER = re.compile(r"\d+")
# Longer scopes are no names of modules.
_LONGEST = 200


class Place(NamedTuple):
    """`source` is `path:line`, None where the program does not say; layers are folded in `scope`: `layer_*/mlp`."""

    source: str | None = None
    scope: str = ""
    phase: Phase = ""


NOWHERE = Place()


def phase_of(op_name: str) -> Phase:
    """The pass that JAX's name stack puts an operation in; the forward pass has no name."""
    return "recompute" if is_recomputed(op_name) else "backward" if is_backward(op_name) else ""


def folded_scope(op_name: str) -> str:
    """The scope of an operation without numbers: `block_*/mlp`."""
    return _NUMBER.sub("*", _once(scope_of(op_name))[:_LONGEST])


class Places:
    """The places of one module's instructions; instructions of one line share theirs."""

    __slots__ = ("_known", "_shared", "blocks", "recomputed")

    def __init__(self) -> None:
        self._known: dict[tuple[str | None, ...], Place] = {}
        self._shared: dict[Place, Place] = {}
        self.blocks: dict[str, set[str]] = {}
        """Folded scope component -> the names it was folded from: `layer_*` -> layer_0, layer_1."""
        self.recomputed: set[str] = set()
        """Scopes, not folded, that are recomputed for the backward pass."""

    def of(self, instruction: Instruction) -> Place:
        metadata = instruction.metadata
        if not metadata:
            return NOWHERE
        key = tuple(map(metadata.get, ("op_name", "stack_frame_id", "source_file", "source_line")))
        known = self._known.get(key)
        if known is None:
            name = key[0] or ""
            phase = phase_of(name)
            scope = _once(scope_of(name))
            if phase == "recompute":
                self.recomputed.add(scope[:_LONGEST])
            made = Place(instruction.source, self._folded(scope), phase)
            known = self._known[key] = self._shared.setdefault(made, made)
        return known

    def _folded(self, scope: str) -> str:
        scope = scope[:_LONGEST]
        if _NUMBER.search(scope) is None:
            return scope
        parts = []
        for part in scope.split("/"):
            folded = _NUMBER.sub("*", part)
            if folded != part:
                self.blocks.setdefault(folded, set()).add(part)
            parts.append(folded)
        return "/".join(parts)


def _once(scope: str) -> str:
    """`block_1/block_1/mlp` -> `block_1/mlp`: what is recomputed carries the names around it twice."""
    parts = scope.split("/")
    return "/".join(part for at, part in enumerate(parts) if not at or part != parts[at - 1])
