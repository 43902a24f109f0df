"""The lock as committed, and as the steps give it now."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.load import LoadedContract
from ...contracts.lock import Lock, LockedParameter
from ...contracts.semantics import ParameterFact, SemanticsFacts
from ...hlo_tools.capture import Capture, StepCapture
from ...hlo_tools.tensors import Tensor, tensors
from ..semantics.meaning import same
from ..semantics.update import Update


@dataclass(frozen=True, slots=True)
class LockEvidence:
    """Two locks of one contract. `locked` is what was committed."""

    locked: Lock
    found: Lock


def lock_of(loaded: LoadedContract, capture: Capture, why: str) -> Lock:
    """The lock that a probed capture gives. Raises ContractLintError where parameters of a step were not measured."""
    assert loaded.contract is not None
    steps = {}
    for name, step in capture.steps.items():
        facts = step.semantics
        if facts is None or facts.update is None:
            reasons = facts.not_judged if facts is not None else []
            why_not = next((each.sentence for each in reasons), "no update of its parameters was seen")
            raise ContractLintError(
                f"step `{name}` cannot be locked: {why_not}",
                loaded.place(f"step.{name}"),
                "`contract-lint verify --semantics` says more",
            )
        steps[name] = _parameters(loaded, step, facts)
    return Lock(loaded.contract.name, why, steps)


def _parameters(loaded: LoadedContract, step: StepCapture, facts: SemanticsFacts) -> dict[str, LockedParameter]:
    assert loaded.contract is not None and facts.update is not None
    update = Update(facts, loaded.contract)
    rates = {move.fact.path: move.rate for move in update.moves if move.rate}
    usual = median(rates.values()) if rates else None
    told = {move.fact.path: (move.decay, move.noise) for move in update.moves if move.decay is not None}
    largest = max((abs(decay) for decay, _ in told.values()), default=0.0)
    decays = {path: decay if abs(decay) > max(1e-3 * largest, noise) else 0.0 for path, (decay, noise) in told.items()}
    rows = tensors(step.facts).of("parameter")
    found: dict[str, LockedParameter] = {}
    for fact in facts.update.parameters:
        row = _row(rows, fact)
        decay = decays.get(fact.path)
        spec = row.spec if row is not None else None
        found[fact.path] = LockedParameter(
            shape=tuple(fact.shape),
            dtype=row.dtype if row is not None else fact.dtype,
            placement=spec if spec is not None else _axes(fact),
            start=fact.start,
            decay=None if decay is None else _digits(decay),
            rate=_digits(rates[fact.path] / usual) if usual and fact.path in rates else None,
            clip=_clip(update, fact),
        )
    return found


def _row(rows: list[Tensor], fact: ParameterFact) -> Tensor | None:
    """The argument of the compiled step that a parameter is."""
    fits = [row for row in rows if row.path == fact.path or row.path.endswith(f"/{fact.path}")]
    return min(fits, key=lambda row: len(row.path), default=None)


def _axes(fact: ParameterFact) -> tuple[tuple[str, ...], ...] | None:
    return None if fact.spec is None else tuple(tuple(each) for each in fact.spec)


def _clip(update: Update, fact: ParameterFact) -> str | None:
    """`all`: with the factor that all parameters have; `alone`: with one of its own; `none`: it is not clipped."""
    factor, common = update.factors.get(fact.path), update.factor
    if factor is None or common is None:
        return None
    if same(factor, 1.0, 1e-4):
        return "none"
    return "all" if same(factor, common, 1e-4) else "alone"


def _digits(value: float) -> float:
    """Four digits: what two runs agree in."""
    return float(f"{value:.4g}")


def place_of(locked: LockedParameter | None, lock: Lock) -> Location | None:
    """The line of a parameter in the committed lock, else the file."""
    if locked is not None and locked.place is not None:
        return locked.place
    return Location(lock.path) if lock.path is not None else None
