"""Facts of a step that is six lines of numpy: what the probe of a real one would find, with any fault planted in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from contract_lint.contracts.semantics import (
    AccumulationFact,
    DrawsFact,
    ParameterFact,
    SemanticsFacts,
    SizesFact,
    TermSum,
    UpdateFact,
)

ROWS, WIDTH, PARAMETERS = 8, 16, 40
COUNTS = (1, 2, 4, 8)
PROMISED = 2
WEIGHTS = {"cross_entropy": 1.0, "balance": 0.01}
Rows = list[int]


@dataclass
class Toy:
    """Two terms: a sum over counted tokens, and one that is not linear in rows (its gradient depends on the group)."""

    seed: int = 0
    mask: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        self.mask = np.arange(WIDTH) < rng.integers(1, WIDTH, size=(ROWS, 1))
        self.token_gradients = rng.normal(size=(ROWS, WIDTH, PARAMETERS))
        self.row_gradients = rng.normal(size=(ROWS, PARAMETERS))

    def tokens(self, rows: Rows) -> float:
        return float(self.mask[rows].sum())

    def gradient(self, term: str, rows: Rows) -> np.ndarray:
        """Of the sum of a term over some rows."""
        if term == "cross_entropy":
            return (self.token_gradients[rows] * self.mask[rows][..., None]).sum(axis=(0, 1))
        return np.tanh(self.row_gradients[rows].mean(axis=0))

    def value(self, term: str, rows: Rows) -> float:
        return float(self.gradient(term, rows).sum())

    def promised(self, count: int) -> np.ndarray:
        """Cross entropy over all counted tokens of the step, and the mean over microbatches of the balance."""
        parts = groups(count)
        total = self.gradient("cross_entropy", WHOLE) / self.tokens(WHOLE)
        return total + 0.01 * sum(self.gradient("balance", part) for part in parts) / count

    def pieces(self, count: int) -> list[np.ndarray]:
        """What each microbatch adds to it."""
        total = self.tokens(WHOLE)
        return [
            self.gradient("cross_entropy", part) / total + 0.01 * self.gradient("balance", part) / count
            for part in groups(count)
        ]


def groups(count: int) -> list[Rows]:
    return [list(range(index, ROWS, count)) for index in range(count)]


WHOLE = list(range(ROWS))
Gradient = Callable[[Toy, int], np.ndarray]


def facts(gradient: Gradient = Toy.promised, divisor: float | None = None, **changes: Any) -> SemanticsFacts:
    """What a probe finds of the toy with another gradient, and another divisor of the cross entropy in its loss."""
    toy = Toy()
    found = []
    for count in COUNTS:
        parts = groups(count)
        vectors = {"step": gradient(toy, count)}
        for term in WEIGHTS:
            vectors[f"whole:{term}"] = toy.gradient(term, WHOLE)
            if count > 1:
                vectors[f"parts:{term}"] = sum(toy.gradient(term, part) for part in parts)
                vectors[f"means:{term}"] = sum(toy.gradient(term, part) / toy.tokens(part) for part in parts)
        if count == PROMISED:
            for index, part in enumerate(parts):
                vectors |= {f"piece:{index}:{term}": toy.gradient(term, part) for term in WEIGHTS}
        values = {term: [toy.value(term, part) for part in parts] for term in WEIGHTS}
        loss = toy.value("cross_entropy", WHOLE) / (divisor or toy.tokens(WHOLE))
        loss += 0.01 * sum(values["balance"]) / count
        found.append(
            AccumulationFact(
                microbatches=count,
                devices=1,
                loss=loss,
                tokens=[toy.tokens(part) for part in parts],
                terms={t: [TermSum(sum=v, denominator=1.0) for v in each] for t, each in values.items()},
                vectors=list(vectors),
                gram=[[float(a @ b) for b in vectors.values()] for a in vectors.values()],
            )
        )
    given: dict[str, Any] = {
        "precision": "float64",
        "mask": "batch/mask",
        "sizes": SizesFact(sequences=ROWS, positions=ROWS * WIDTH, tokens=toy.tokens(WHOLE), parts=2, devices=4),
        "terms": {
            "cross_entropy": TermSum(sum=toy.value("cross_entropy", WHOLE), denominator=toy.tokens(WHOLE)),
            "balance": TermSum(sum=toy.value("balance", WHOLE), denominator=1.0),
        },
        "accumulations": found,
        "accumulators": ["float32"],
        "metrics": {"loss": found[1].loss},
        "update": update(),
        "draws": DrawsFact(random=True, microbatches=0.4, steps=0.5),
    }
    return SemanticsFacts(**given | changes)


def update(
    clipped: float | None = None, decays: dict[str, float] | None = None, rates: dict[str, float] | None = None
) -> UpdateFact:
    """One update of two parameters on four devices, a replicated norm and a split weight: rate 1e-3, decay 0.1 for the
    weight alone, clipped to norm 1 by `clipped` (default: rightly)."""
    rng = np.random.default_rng(1)
    decays = {"w": 0.1, "norm/scale": 0.0} | (decays or {})
    rates = {"w": 1e-3, "norm/scale": 1e-3} | (rates or {})
    values = {"w": rng.normal(size=64), "norm/scale": np.ones(16) + 0.05 * rng.normal(size=16)}
    gradients = {path: 3 * rng.normal(size=value.shape) for path, value in values.items()}
    norm = float(np.sqrt(sum(g @ g for g in gradients.values())))
    factor = 1 / norm if clipped is None else clipped
    rows = []
    for path, p in values.items():
        g = gradients[path]
        a = factor * g
        u = a / (np.abs(a) + 1e-8)
        d = -rates[path] * (u + decays[path] * p)
        rows.append(
            ParameterFact(
                path=path,
                shape=list(p.shape),
                dtype="float32",
                copies=1 if path == "w" else 4,
                start="ones" if path != "w" else "normal 1",
                gg=g @ g,
                ga=g @ a,
                aa=a @ a,
                dd=d @ d,
                du=d @ u,
                dp=d @ p,
                uu=u @ u,
                up=u @ p,
                pp=p @ p,
            )
        )
    return UpdateFact(index=0, parameters=rows)


def norms() -> tuple[float, float]:
    """The norm of the toy's gradient, and the same with replicas counted."""
    parameters = update().parameters
    return sum(p.gg for p in parameters) ** 0.5, sum(p.copies * p.gg for p in parameters) ** 0.5
