"""What the rules on a checkpoint are given: its facts, the promise, and what both say of parameters and slots."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...contracts.data_manifest import DataManifest
from ...contracts.finding import Finding, Location
from ...contracts.load import LoadedContract
from ...contracts.model import CheckpointSection, Contract
from ...contracts.pattern import PathPattern, path_pattern
from ..rule import Rule
from .coverage import Coverage, Sides, coverage_of
from .facts import Checkpoint, Leaf
from .observations import Observations
from .promised import Promise, promised_leaves, promised_parameters, promised_slots
from .root import VALUE, Root, below, root_of
from .slots import LIKE_PARAMETERS, Slot, slots_of


@dataclass(frozen=True)
class Digests:
    """The files of a step as a manifest lists them, and as they are."""

    path: str
    promised: DataManifest
    there: DataManifest

    @cached_property
    def changed(self) -> list[str]:
        """Files that are not as listed: gone, new, or of another content."""
        was = {entry.path: entry.sha256 for entry in self.promised.files}
        now = {entry.path: entry.sha256 for entry in self.there.files}
        return sorted(path for path in {*was, *now} if was.get(path) != now.get(path))


@dataclass(frozen=True)
class CheckpointEvidence:
    """One checkpoint, the contract it is held to (None: only what every checkpoint keeps), digests where asked for."""

    checkpoint: Checkpoint
    loaded: LoadedContract | None = None
    digests: Digests | None = None
    observations: Observations | None = None
    """What the run left beside its steps; None where nobody looked."""

    @property
    def contract(self) -> Contract | None:
        return self.loaded.contract if self.loaded is not None else None

    @cached_property
    def section(self) -> CheckpointSection:
        section = self.contract.checkpoint if self.contract is not None else None
        return section or CheckpointSection()

    @cached_property
    def _rooted(self) -> Root:
        given = self.section.parameters
        roots = list(self.checkpoint.paths(given)) if given is not None else None
        return root_of(self.checkpoint.arrays, promised_parameters(self.contract), roots)

    @property
    def root(self) -> str | None:
        """The path that all parameters lie below, "" for a file that holds nothing else; None where none is known."""
        return self._rooted.path

    @cached_property
    def parameters(self) -> dict[str, Leaf]:
        """The parameters that are there: path below the root -> leaf. Of nnx's variables, `/value` is left out."""
        if self.root is None:
            return {}
        start = f"{self.root}/" if self.root else ""
        arrays = self.checkpoint.arrays
        found = {path[len(start) :]: leaf for path, leaf in arrays.items() if path.startswith(start)}
        return _unwrapped(found)

    @cached_property
    def promised(self) -> dict[str, Promise]:
        """The promised parameters by their path below the root."""
        names = self._rooted.names
        return {names[name]: promise for name, promise in promised_parameters(self.contract).items()}

    @cached_property
    def slots(self) -> dict[str, Slot]:
        """The optimizer slots that are there, by name; those of promised parameters too where no parameter is."""
        if self.root == "":
            return {}
        leaves = {path.removesuffix(VALUE): leaf for path, leaf in self.checkpoint.leaves.items()}
        return slots_of(leaves, self.root or "", {**self.promised, **self.parameters})

    @cached_property
    def expected_slots(self) -> dict[str, bool]:
        """Slots that must cover every parameter -> whether with its shape: the promised, else those known by name."""
        promised, _ = promised_slots(self.contract)
        return promised or {name: True for name in self.slots if name in LIKE_PARAMETERS}

    @cached_property
    def slots_key(self) -> str | None:
        """The contract's key that names the slots."""
        return promised_slots(self.contract)[1] or None

    @cached_property
    def coverage(self) -> Coverage:
        """The matrix slot x parameter."""
        return coverage_of(
            Sides(self.root or "", self.parameters, self.promised, self.slots, self.expected_slots, self.is_frozen)
        )

    def is_frozen(self, path: str) -> bool:
        """Whether the contract says that no slot holds this parameter."""
        return any(each.matches(self.called(path)) for each in self._frozen)

    def called(self, path: str) -> str:
        """What the contract calls a parameter, by its path below the root: patterns of the contract fit that."""
        return self.promised[path].path if path in self.promised else path

    @cached_property
    def _frozen(self) -> list[PathPattern]:
        return [path_pattern(text) for text in self.section.frozen]

    def holds(self, path: str) -> bool:
        """Whether a path of the contract says where something beside the parameters is saved: what holds them too does
        not."""
        return any(each in self.checkpoint.saved and not self.is_above(each) for each in self.checkpoint.paths(path))

    def is_above(self, path: str) -> bool:
        """Whether the parameters lie at a path of the step or below it."""
        return self.root is not None and f"{self.root}/".startswith(f"{path}/" if path else "")

    def promised_arrays(self) -> Iterable[tuple[str, Promise, Leaf]]:
        """Every promised array that is there: its path in the step, the promise, the leaf."""
        for path, promise in self.promised.items():
            if path in self.parameters:
                yield below(self.root or "", path), promise, self.parameters[path]
        for promise in promised_leaves(self.contract):
            for path in self.checkpoint.paths(promise.path):
                if path in self.checkpoint.arrays:
                    yield path, promise, self.checkpoint.arrays[path]
                    break

    def finding(self, rule: Rule, message: str, *, subject: str, key: str | None = None, **fields: Any) -> Finding:
        """A finding on the step; `file` is one in it, `beside` one in the folder above, `key` the promise it breaks."""
        if key is not None and self.loaded is not None:
            fields["evidence"] = (*fields.pop("evidence", ()), f"promised at {self.loaded.place(key)} {key}")
        folder = [self.checkpoint.step.folder] if self.checkpoint.steps else []
        beside = fields.pop("beside", None)
        inside = [*folder, fields.pop("file", "")] if beside is None else [beside]
        place = "/".join(filter(None, [self.checkpoint.path, *inside]))
        return rule.finding(message, subject=subject, key=key, location=Location(place), **fields)


def counted(count: int, name: str) -> str:
    """`1 parameter`, `12 parameters`."""
    return f"{count:,} {name}{'s' * (count != 1)}"


def _unwrapped(leaves: dict[str, Leaf]) -> dict[str, Leaf]:
    if leaves and all(path.endswith(VALUE) for path in leaves):
        return {path.removesuffix(VALUE): leaf for path, leaf in leaves.items()}
    return leaves
