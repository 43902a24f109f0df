"""Which sum of given vectors a vector is, from inner products alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Matrix = Sequence[Sequence[float]]
SMALLEST = 1e-13
"""A pivot below this share of its vector's length squared: the vector is a sum of those before it, within rounding."""


@dataclass(frozen=True, slots=True)
class Fit:
    """target = sum of coefficients x vectors + rest. `rest` is |rest| / |target|.

    `spread[i]`: by how much coefficient i moves where the target moves by its own length; infinite for a vector that is
    a sum of the others (its coefficient is 0).
    """

    coefficients: tuple[float, ...]
    spread: tuple[float, ...]
    rest: float


def fit(gram: Matrix, target: int, columns: Sequence[int]) -> Fit:
    """Least squares of vector `target` by the vectors `columns`. `gram` holds all inner products.

    Vectors are scaled to length one first, so that a term of weight 1e-4 is told apart as well as any other.
    """
    lengths = [math.sqrt(max(gram[c][c], 0.0)) for c in columns]
    size = math.sqrt(max(gram[target][target], 0.0))
    scaled = [
        [gram[a][b] / (la * lb) if la and lb else 0.0 for b, lb in zip(columns, lengths, strict=True)]
        for a, la in zip(columns, lengths, strict=True)
    ]
    right = [gram[target][c] / length if length else 0.0 for c, length in zip(columns, lengths, strict=True)]
    inverse = _inverse(scaled)
    unit = [sum(row[i] * right[i] for i in range(len(right))) for row in inverse]
    squared = size**2 - 2 * sum(u * r for u, r in zip(unit, right, strict=True))
    squared += sum(unit[i] * scaled[i][j] * unit[j] for i in range(len(unit)) for j in range(len(unit)))
    return Fit(
        tuple(u / length if length else 0.0 for u, length in zip(unit, lengths, strict=True)),
        tuple(
            size * math.sqrt(inverse[i][i]) / length if length and inverse[i][i] > 0 else math.inf
            for i, length in enumerate(lengths)
        ),
        math.sqrt(max(squared, 0.0)) / size if size else 0.0,
    )


def _inverse(matrix: Matrix) -> list[list[float]]:
    """The inverse of a matrix of inner products of unit vectors; rows of vectors that others add up to are 0."""
    count = len(matrix)
    kept: list[int] = []
    for index in range(count):
        if _pivot(matrix, kept, index) > SMALLEST:
            kept.append(index)
    small = _gauss([[matrix[i][j] for j in kept] for i in kept])
    result = [[0.0] * count for _ in range(count)]
    for a, i in enumerate(kept):
        for b, j in enumerate(kept):
            result[i][j] = small[a][b]
    return result


def _pivot(matrix: Matrix, kept: Sequence[int], index: int) -> float:
    """What is left of a vector, squared, once its part along the kept ones is taken off."""
    if not kept:
        return matrix[index][index]
    small = _gauss([[matrix[i][j] for j in kept] for i in kept])
    right = [matrix[index][j] for j in kept]
    along = sum(right[a] * small[a][b] * right[b] for a in range(len(kept)) for b in range(len(kept)))
    return matrix[index][index] - along


def _gauss(matrix: Matrix) -> list[list[float]]:
    """The inverse of a small positive definite matrix, with pivots."""
    count = len(matrix)
    rows = [[*row, *(1.0 if i == j else 0.0 for j in range(count))] for i, row in enumerate(matrix)]
    for column in range(count):
        best = max(range(column, count), key=lambda i: abs(rows[i][column]))
        rows[column], rows[best] = rows[best], rows[column]
        pivot = rows[column][column]
        rows[column] = [value / pivot for value in rows[column]]
        for i in range(count):
            if i != column and rows[i][column]:
                factor = rows[i][column]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[column], strict=True)]
    return [row[count:] for row in rows]
