"""The step with several numbers of microbatches, beside its terms without any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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
    keep_pieces: bool = False,
) -> tuple[AccumulationFact, dict[str, Vector]]:
    """The gradient of the step with `count` microbatches beside those of its terms; and, by name, those of each
    microbatch alone.

    parts: devices that hold different rows of the batch; with one microbatch, the mean over these devices is taken too.
    keep_pieces: whether to keep the gradients of each microbatch alone; else none are returned.
    """
    vectors: dict[str, Vector] = {STEP: gradient}
    vectors |= {WHOLE + name: vector for name, vector in whole.gradients.items()}
    rows = microbatches(inputs.sequences, count, order)
    tokens = [counted(values, inputs, of) for of in rows]
    found = [terms(values, of) for of in rows] if count > 1 else [whole]
    if count > 1:
        vectors |= _added_up(MEANS, found, _shares(tokens))
        vectors |= _added_up(PARTS, found, [1.0] * count)
    elif parts > 1 and inputs.sequences % parts == 0:
        shards = microbatches(inputs.sequences, parts, "contiguous")
        shares = _shares(counted(values, inputs, of) for of in shards)
        vectors |= _added_up(SHARDS, [terms(values, of) for of in shards], shares)
    pieces = {
        f"{PIECE}{index}:{name}": vector
        for index, one in enumerate(found if keep_pieces and count > 1 else ())
        for name, vector in one.gradients.items()
    }
    vectors |= pieces
    fact = AccumulationFact(
        microbatches=count,
        devices=devices,
        loss=loss,
        tokens=[each for each in tokens if each is not None],
        terms={name: [piece.sums[name] for piece in found] for name in whole.sums},
        vectors=list(vectors),
        gram=_gram(list(vectors.values())),
    )
    return fact, pieces


def _shares(tokens: Iterable[float | None]) -> list[float]:
    """What each piece is multiplied by in a mean of its own tokens; 0 where it counts none."""
    return [1 / each if each else 0.0 for each in tokens]


def _added_up(kind: str, pieces: Sequence[Terms], factors: Sequence[float]) -> dict[str, Vector]:
    """The gradient of each term, summed over pieces of the batch with a factor for each piece."""
    sums: dict[str, Vector] = {}
    for piece, factor in zip(pieces, factors, strict=True):
        for name, gradient in piece.gradients.items():
            sums[kind + name] = added(sums.get(kind + name), gradient, factor)
    return sums


def _gram(vectors: list[Vector]) -> list[list[float]]:
    """All inner products."""
    half = [[inner(one, other) for other in vectors[: index + 1]] for index, one in enumerate(vectors)]
    return [[half[max(i, j)][min(i, j)] for j in range(len(vectors))] for i in range(len(vectors))]
