"""Declared input shapes against the arguments that the step was captured with."""

from __future__ import annotations

from dataclasses import dataclass

from ...contracts.manifest import Leaf
from ..evidence import StepEvidence


@dataclass(frozen=True, slots=True)
class Undeclared:
    """An input whose own shape is not among those that the contract declares for it."""

    name: str
    leaf: Leaf
    declared: list[list[int]]


def undeclared(evidence: StepEvidence) -> list[Undeclared]:
    """One for each declared name, in the contract's order."""
    section = evidence.section
    found: list[Undeclared] = []
    for name, shapes in section.signatures.items() if section is not None else ():
        for leaf in evidence.facts.arguments:
            if names(name, leaf) and shapes and leaf.shape not in shapes:
                found.append(Undeclared(name, leaf, shapes))
                break
    return found


def names(name: str, leaf: Leaf) -> bool:
    """Whether a declared name stands for this array: its argument, its path, or the end of its path."""
    return leaf.argument == name or leaf.path == name or leaf.path.endswith(f"/{name}")
