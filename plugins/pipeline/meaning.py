"""What a step was seen to optimise, as rows: each term and the loss, at each number of microbatches."""

from __future__ import annotations

from collections.abc import Iterator

from ...linters.evidence import StepEvidence
from ...linters.semantics.diagnosis import Diagnosis, Found, Measured
from ...linters.semantics.wording import equal_digits
from .tables import LossRow, MeaningTable, TermRow, TermVerdict


def meaning(evidence: StepEvidence) -> MeaningTable | None:
    """The table of one probed step; None where nothing was probed, or what is promised could not be measured."""
    diagnosis = evidence.diagnosis
    if diagnosis is None or not diagnosis.measured:
        return None
    return MeaningTable(
        precision=diagnosis.facts.precision,
        terms=tuple(row for at in range(len(diagnosis.terms)) for row in _term(diagnosis, at)),
        losses=tuple(
            LossRow(
                microbatches=each.fact.microbatches,
                devices=each.fact.devices,
                found=each.fact.loss,
                promised=each.loss,
                equal_digits=equal_digits(each),
            )
            for each in diagnosis.measured
        ),
    )


def _term(diagnosis: Diagnosis, at: int) -> Iterator[TermRow]:
    index, term = diagnosis.terms[at]
    assert term.weight is not None and term.normaliser is not None
    for measured in diagnosis.measured:
        found = next((each for each in measured.found if each.index == index), None)
        yield TermRow(
            term=term.name,
            weight=term.weight,
            normaliser=term.normaliser,
            microbatches=measured.fact.microbatches,
            devices=measured.fact.devices,
            ratio=found.ratio if found is not None and found.promised else None,
            tolerance=found.tolerance if found is not None else None,
            verdict=_verdict(measured, found),
        )


def _verdict(measured: Measured, found: Found | None) -> TermVerdict:
    """By the numbers of the row alone; which finding they belong to is the findings' to say."""
    if found is None or measured.rest is not None:
        return "unexplained"
    if not found.promised or found.wrong:
        return "differs"
    return "hidden" if found.ratio is None else "ok"
