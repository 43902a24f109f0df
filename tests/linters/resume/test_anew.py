"""Which restores take up the parameters and begin the rest anew, on states of several shapes."""

from __future__ import annotations

import pytest
from contract_lint.linters.resume.anew import began_anew

TRAIN_STATE = ("params/w", "params/b", "opt_state/0/mu/w", "opt_state/0/nu/w", "step", "rng")
FLAX = ("state/params/params/w", "state/opt_state/1/0/mu/params/w", "state/step")
NNX = ("model/kernel/value", "optimizer/opt_state/mu/kernel/value", "optimizer/step/value")
TORCH_LIKE = ("params/w", "m/w", "v/w", "step")
SGD = ("params/w", "step")


def found(paths: tuple[str, ...], anew: set[str], **other: str) -> set[str]:
    saved, fresh = ({path: f"{path} {when}" for path in paths} for when in ("saved", "fresh"))
    restored = {path: (fresh if path in anew else saved)[path] for path in paths} | other
    return set(began_anew(saved, restored, fresh))


@pytest.mark.parametrize(
    ("paths", "anew"),
    [
        (TRAIN_STATE, set(TRAIN_STATE[2:])),
        (TRAIN_STATE, set(TRAIN_STATE[2:4])),
        (FLAX, set(FLAX[1:])),
        (NNX, set(NNX[1:])),
        (TORCH_LIKE, set(TORCH_LIKE[1:3])),
        (SGD, {"step"}),
    ],
)
def test_the_weights_alone(paths: tuple[str, ...], anew: set[str]) -> None:
    assert found(paths, anew) == anew


@pytest.mark.parametrize(
    ("paths", "anew"),
    [
        (TRAIN_STATE, set()),
        (TRAIN_STATE, {"step"}),
        (TRAIN_STATE, {"rng"}),
        (TRAIN_STATE, {"opt_state/0/nu/w"}),
        (TRAIN_STATE, {"params/w"}),
        (TRAIN_STATE, set(TRAIN_STATE[1:])),
        (TRAIN_STATE, set(TRAIN_STATE)),
        (TORCH_LIKE, {"m/w"}),
        (NNX, {"model/kernel/value"}),
        (("gan/params/w", "critic/params/w", "opt_state/mu/w"), {"critic/params/w", "opt_state/mu/w"}),
        (("w", "m"), {"m"}),
    ],
)
def test_another_fault_is_no_warm_start(paths: tuple[str, ...], anew: set[str]) -> None:
    assert found(paths, anew) == set()


def test_what_is_neither_saved_nor_fresh_is_another_fault() -> None:
    assert found(TRAIN_STATE, set(TRAIN_STATE[2:]), **{"opt_state/0/mu/w": "cast"}) == set()
