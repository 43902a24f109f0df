"""Values that differ between the mesh and one device by more than rounding explains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...contracts.finding import Finding
from ...contracts.manifest import Comparison
from ..cut import shown
from ..evidence import StepEvidence
from ..rule import Rule


def differs(rule: Rule, evidence: StepEvidence, roles: Sequence[str], what: str) -> Iterable[Finding]:
    """At most one finding for the compared values of these roles (`what`, such as `gradients`): the worst ratio first,
    all in the evidence."""
    run = evidence.run
    if run is None:
        return
    judged = [item for item in run.comparisons if item.role in roles]
    wrong = [item for item in judged if item.ratio is None or not item.ratio <= 1]
    if not wrong:
        return
    worst = max(wrong, key=lambda item: float("inf") if item.ratio is None else item.ratio)
    yield rule.finding(
        f"{what} of the sharded step: {worst.path} differs from one device by "
        f"{_ratio(worst)} times the bound of rounding ({len(wrong)} of {len(judged)} values)",
        subject=rule.name,
        location=evidence.place(evidence.step_key),
        key=evidence.step_key,
        expected="ratio <= 1",
        found=f"ratio {_ratio(worst)}",
        evidence=shown(_line(item) for item in sorted(wrong, key=lambda i: -(i.ratio or float("inf")))),
        help="check the normaliser and every reduction over the mesh axes that split the batch",
        details={"path": worst.path},
    )


def _ratio(item: Comparison) -> str:
    return "not a number" if item.ratio is None else f"{item.ratio:.3g}"


def _line(item: Comparison) -> str:
    values = f", {item.sharded!r} against {item.reference!r}" if item.sharded is not None else ""
    return f"{item.path}: ratio {_ratio(item)}{values} ({item.method})"
