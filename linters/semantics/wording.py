"""How findings on the meaning of a step are worded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ...contracts.key import format_key

if TYPE_CHECKING:
    from ...contracts.semantics import SemanticsFacts
    from ..evidence import StepEvidence
    from .diagnosis import Found, Measured


def term_key(index: int, name: str | None = None) -> str:
    """`objective.terms[1].normaliser`."""
    return format_key(("objective", "terms", index, *((name,) if name else ())))


def terms(found: Sequence[Found], verb: bool = True) -> str:
    """``term `z_loss` is``, ``terms `cross_entropy` and `z_loss` are``."""
    names = list(dict.fromkeys(f"`{each.term.name}`" for each in found))
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    many = len(names) > 1
    return f"term{'s' * many} {listed}{(' are' if many else ' is') if verb else ''}"


def with_microbatches(counts: Iterable[int]) -> str:
    """`with 2, 4 and 8 microbatches`."""
    numbers = [str(count) for count in sorted(set(counts))]
    listed = " and ".join([", ".join(numbers[:-1]), numbers[-1]] if len(numbers) > 1 else numbers)
    return f"with {listed} microbatch{'es' * (numbers != ['1'])}"


def counted_by(facts: SemanticsFacts) -> tuple[str, ...]:
    """What says which targets of the probed batch count, as a line of evidence; none where nothing does."""
    if facts.mask is None:
        return ()
    if facts.uncounted is not None:
        return (facts.uncounted.said(facts.mask),)
    return (f"the batch counts its targets in `{facts.mask}`",)


def digits(ratio: float) -> str:
    """A factor as a person compares it: 0.001953, 1.0000021."""
    return f"{ratio:.4g}" if abs(ratio - 1) > 1e-3 else f"{ratio:.8g}"


def table(evidence: StepEvidence, found: Sequence[Found]) -> tuple[str, ...]:
    """One line for each measurement of a term: microbatches, devices, ratio, and how well the loss would show it."""
    diagnosis = evidence.diagnosis
    assert diagnosis is not None
    by_count = {measured.fact.microbatches: measured for measured in diagnosis.measured}
    return tuple(
        f"N={each.setting.microbatches} on {_devices(by_count[each.setting.microbatches].fact.devices)}: <g, ref> / "
        f"<ref, ref> of `{each.term.name}` is {digits(each.ratio) if each.ratio is not None else 'hidden by rounding'}"
        f"; {loss_line(by_count[each.setting.microbatches])}"
        for each in found
    )


def loss_line(measured: Measured) -> str:
    """`loss 6.80112, promised 6.80112 (equal to 9 digits)`."""
    equal = equal_digits(measured)
    same = f" (equal to {equal} digits)" if equal >= 2 else ""
    return f"loss {measured.fact.loss:.6g}, promised {measured.loss:.6g}{same}"


def equal_digits(measured: Measured) -> int:
    """How many leading digits of the loss are those of the promised one, as far as 9."""
    off = abs(measured.fact.loss - measured.loss) / max(abs(measured.loss), 1e-300)
    return next((n for n in range(9, 0, -1) if off < 0.5 * 10.0**-n), 0)


def _devices(count: int) -> str:
    return f"{count} device{'s' * (count != 1)}"
