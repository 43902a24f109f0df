"""The step with several numbers of microbatches, beside its terms without any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...contracts.semantics import MEANS, PARTS, PIECE, SHARDS, STEP, WHOLE, AccumulationFact
from ..run.values import HostValue
from .counting import counted
from .inputs import Inputs, microbatches
from .terms import TermFunctions, Terms, Vector, added, inner


def compared(
    loss: float,
    gradient: Vector,
    count: int,
    devices: int,
    *,
    terms: TermFunctions,
    whole: Terms,
    values: Mapping[str, HostValue],
    inputs: Inputs,
    order: str,
    parts: int,
    apart: bool = False,
) -> tuple[AccumulationFact, dict[str, Vector]]:
    """The gradient of the step with `count` microbatches beside those of its terms.

    parts: devices that hold different rows of the batch; with one microbatch the terms are also taken on each apart.
    apart: the gradients of each microbatch are kept by themselves, and returned.
    """
    vectors: dict[str, Vector] = {STEP: gradient}
    vectors |= {WHOLE + name: vector for name, vector in whole.gradients.items()}
    groups: list[tuple[str, str | None, list[slice]]] = []
    rows = microbatches(inputs.sequences, count, order)
    if count > 1:
        groups.append((MEANS, PARTS, rows))
    elif parts > 1 and inputs.sequences % parts == 0:
        groups.append((SHARDS, None, microbatches(inputs.sequences, parts, "contiguous")))
    found: list[Terms] = []
    for means, sums, pieces in groups:
        pieces_found = list(_each(terms, values, pieces))
        for name in whole.gradients:
            weighted: Vector | None = None
            plain: Vector | None = None
            for piece, rows_of in zip(pieces_found, pieces, strict=True):
                tokens = counted(values, inputs, rows_of)
                weighted = added(weighted, piece.gradients[name], 1 / tokens if tokens else 0.0)
                plain = added(plain, piece.gradients[name]) if sums else None
            vectors[means + name] = weighted or []
            if sums is not None:
                vectors[sums + name] = plain or []
        found = pieces_found if sums is not None else found
    pieces = {
        f"{PIECE}{index}:{name}": vector for index, one in enumerate(found) for name, vector in one.gradients.items()
    }
    vectors |= pieces if apart else {}
    names = list(vectors)
    fact = AccumulationFact(
        microbatches=count,
        devices=devices,
        loss=loss,
        tokens=[tokens for rows_of in rows if (tokens := counted(values, inputs, rows_of)) is not None],
        terms={name: [piece.sums[name] for piece in found or [whole]] for name in whole.sums},
        vectors=names,
        gram=_gram(list(vectors.values())),
    )
    return fact, pieces


def _gram(vectors: list[Vector]) -> list[list[float]]:
    """All inner products."""
    half = [[inner(one, other) for other in vectors[: index + 1]] for index, one in enumerate(vectors)]
    return [[half[max(i, j)][min(i, j)] for j in range(len(vectors))] for i in range(len(vectors))]


def _each(terms: TermFunctions, values: Mapping[str, HostValue], rows: list[slice]) -> Iterator[Terms]:
    for piece in rows:
        yield terms(values, piece)
