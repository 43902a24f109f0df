"""The bound itself: what is clean, what is wrong, and what cannot be judged."""

from __future__ import annotations

import numpy as np
import pytest
from contract_lint.runtime.run.compare import LongestSum, Runs, judge, norm2, roundoff_of
from hypothesis import given
from hypothesis import strategies as st

U = 2.0**-24
RNG = np.random.default_rng(0)
TRUE = RNG.normal(size=(40, 50))


def rounded(array: np.ndarray, seed: int, by: float = 20 * U) -> np.ndarray:
    """Float32 values a few roundings away."""
    noise = np.random.default_rng(seed).normal(size=array.shape)
    return (array * (1 + by * noise)).astype(np.float32)


def runs(sharded: np.ndarray, true: np.ndarray = TRUE, twin: bool = True) -> Runs:
    one = rounded(true, 1)
    return Runs(sharded, one, true if twin else None, [rounded(true, 2), rounded(true, 3)])


def ratio(given: Runs) -> float:
    outcome = judge("gradient", "w", given, U)
    assert not isinstance(outcome, str), outcome
    assert outcome.ratio is not None
    return outcome.ratio


@pytest.mark.parametrize("twin", [True, False])
def test_another_rounding_is_clean_and_a_lost_eighth_is_not(twin: bool) -> None:
    assert ratio(runs(rounded(TRUE, 4), twin=twin)) <= 1
    assert ratio(runs(rounded(TRUE * 7 / 8, 4), twin=twin)) >= 10
    assert ratio(runs(rounded(TRUE * 2, 4), twin=twin)) >= 10


def test_the_formula_with_a_twin() -> None:
    given = runs(rounded(TRUE, 4))
    assert given.twin is not None
    bound = 4 * norm2(given.one - given.twin) + U * norm2(given.twin)
    assert ratio(given) == pytest.approx(norm2(given.sharded - given.twin) / bound, rel=1e-5)


def test_a_float64_step_is_judged_by_moved_runs_not_by_itself() -> None:
    """Its float64 twin is the same run again, and their difference, zero, no measure of rounding."""
    u = 2.0**-53

    def given(factor: float) -> Runs:
        def off(seed: int) -> np.ndarray:
            return TRUE * (1 + 20 * u * np.random.default_rng(seed).normal(size=TRUE.shape))

        return Runs(factor * off(4), TRUE, TRUE, [off(2), off(3)])

    clean, wrong = (judge("gradient", "w", given(factor), u) for factor in (1.0, 7 / 8))
    assert not isinstance(clean, str) and not isinstance(wrong, str)
    assert clean.ratio is not None and clean.ratio <= 1 and clean.method.startswith("one device moved by u = 2^-53")
    assert wrong.ratio is not None and wrong.ratio >= 10


def test_without_a_twin_a_sum_in_another_order_is_clean() -> None:
    """1,024 losses added up in float32: one after the other on one device, in eight parts on a mesh."""

    losses = (5.5 + np.random.default_rng(2).uniform(size=1024)).astype(np.float32)

    def added(parts: int) -> np.float32:
        sums = np.add.accumulate(losses.reshape(parts, -1), axis=1, dtype=np.float32)[:, -1]
        return np.add.accumulate(sums, dtype=np.float32)[-1] / np.float32(1024)

    longest = LongestSum(1024, U)
    assert longest.error == 64 * U

    def outcome(sharded: np.float32, sums: LongestSum) -> float:
        found = judge("loss", "loss", Runs(sharded, added(1), None, []), U, sums)
        assert not isinstance(found, str) and found.ratio is not None
        assert ("n = 1,024, v = 2^-24" in found.method) == (sums.terms > 1)
        return found.ratio

    ratios = [outcome(added(parts), longest) for parts in (2, 4, 8, 16)]
    assert max(ratios) <= 1 < outcome(added(8), LongestSum())
    assert outcome(added(8) * np.float32(1 - 1 / 4096), longest) > 10


def added_in_bfloat16(terms: np.ndarray, shards: int) -> np.ndarray:
    """Sums of the rows, each partial sum rounded: in each shard one after the other, then over the shards."""
    import ml_dtypes

    parts = terms.astype(ml_dtypes.bfloat16).reshape(shards, -1, terms.shape[1])
    while parts.ndim > 1:
        total = parts[..., 0, :] if parts.ndim == 3 else parts[0]
        for index in range(1, parts.shape[-2]):
            total = total + (parts[..., index, :] if parts.ndim == 3 else parts[index])
        parts = total
    return parts


@pytest.mark.parametrize("sign", [0.0, 1.0])
def test_a_gradient_that_is_a_short_sum_in_bfloat16_is_judged(sign: float) -> None:
    """128 terms, of one sign or both, in one order on one device and in another on eight."""
    brain = 2.0**-8
    for seed in range(10):
        terms = np.random.default_rng(seed).normal(size=(128, 32))
        terms = np.abs(terms) if sign else terms
        one, eight = added_in_bfloat16(terms, 1), added_in_bfloat16(terms, 8)

        def outcome(sharded: np.ndarray, one: np.ndarray = one) -> float:
            found = judge("gradient", "bias", Runs(sharded, one, None, []), brain, LongestSum(128, brain))
            assert not isinstance(found, str) and found.ratio is not None
            return found.ratio

        assert outcome(eight) <= 1
        for factor in (0.5, 2):
            assert outcome((factor * eight.astype(np.float32)).astype(eight.dtype)) > 1


def test_a_sum_that_may_stand_still_is_not_judged() -> None:
    """Beyond 256 terms of one size a partial sum in bfloat16 no longer grows: 1,024 ones add up to 256."""
    ones = added_in_bfloat16(np.ones((1024, 2)), 1)
    assert ones.astype(float).tolist() == [256.0, 256.0]
    brain = 2.0**-8
    given = Runs(added_in_bfloat16(np.ones((1024, 2)), 8), ones, None, [])
    outcome = judge("gradient", "bias", given, brain, LongestSum(1024, brain))
    assert isinstance(outcome, str) and "1,024 terms" in outcome and "after 256" in outcome and "float32" in outcome
    assert not isinstance(judge("gradient", "bias", given, brain, LongestSum(255, brain)), str)
    assert not isinstance(judge("loss", "loss", given, U, LongestSum(1 << 25, U)), str), "float32 is added in a tree"
    twin = Runs(given.sharded, given.one, np.full(2, 1024.0), [])
    assert isinstance(judge("gradient", "bias", twin, brain, LongestSum(1024, brain)), str), "all of it is rounding"


def test_with_a_twin_no_order_of_a_sum_is_excused() -> None:
    given = runs(rounded(TRUE, 4))
    assert judge("gradient", "w", given, U, LongestSum(1 << 20, U)) == judge("gradient", "w", given, U)


def test_the_floor_is_the_smallest_relative_error_that_shows() -> None:
    outcome = judge("gradient", "w", runs(rounded(TRUE, 4)), U)
    assert not isinstance(outcome, str) and outcome.floor is not None
    assert ratio(runs((TRUE * (1 + 2 * outcome.floor)).astype(np.float32))) > 1
    assert ratio(runs((TRUE * (1 + outcome.floor / 2)).astype(np.float32))) < 1


def test_a_scalar_that_one_device_got_right_by_luck_is_judged_by_the_moved_runs() -> None:
    true = np.array(2.5)
    lucky = Runs(np.float32(2.5 * (1 + 6 * U)), np.float32(2.5), true, [np.float32(2.5 * (1 + 9 * U))])
    outcome = judge("loss", "loss", lucky, U)
    assert not isinstance(outcome, str)
    assert outcome.ratio is not None and outcome.ratio <= 1
    assert outcome.reference == 2.5 and outcome.sharded == pytest.approx(2.5)
    wrong = Runs(np.float32(2.5 * (1 - 1 / 4096)), np.float32(2.5), true, [np.float32(2.5 * (1 + 9 * U))])
    assert ratio(wrong) >= 10


def test_a_value_that_is_not_finite_on_the_mesh_only_is_wrong() -> None:
    bad = rounded(TRUE, 4)
    bad[3, 3] = np.nan
    outcome = judge("gradient", "w", runs(bad), U)
    assert not isinstance(outcome, str)
    assert outcome.ratio is None and outcome.error is None


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (Runs(TRUE, np.full_like(TRUE, np.inf), None, []), "not finite on one device"),
        (Runs(TRUE[:3], TRUE, None, []), r"\[3, 50\] on the mesh and \[40, 50\]"),
        (Runs(TRUE[:0], TRUE[:0], None, []), "no elements"),
        (Runs(TRUE * 1e-9, rounded(TRUE, 1) * np.float32(1e-9), TRUE * 1e-20, []), "rounding noise"),
    ],
)
def test_what_cannot_be_judged_has_a_reason(given: Runs, reason: str) -> None:
    outcome = judge("gradient", "w", given, U)
    assert isinstance(outcome, str)
    assert __import__("re").search(reason, outcome), outcome


def test_integers_are_equal_or_wrong() -> None:
    assert ratio(Runs(np.array(399), np.array(399), None, [])) == 0
    assert ratio(Runs(np.array(398), np.array(399), None, [])) >= 10


def test_zero_everywhere_is_clean_and_anything_else_is_not() -> None:
    zero = np.zeros((9, 9), np.float32)
    assert ratio(Runs(zero, zero, zero.astype(np.float64), [zero])) == 0
    assert ratio(Runs(zero + np.float32(1e-30), zero, zero.astype(np.float64), [zero])) >= 10


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20))
def test_norm2_neither_overflows_nor_underflows(values: list[float]) -> None:
    array = np.array(values)
    peak = np.abs(array).max()
    assert peak <= norm2(array) * (1 + 1e-12)
    assert norm2(array) <= peak * np.sqrt(len(values)) * (1 + 1e-12) or np.isinf(norm2(array))


def test_bfloat16_values_are_judged_by_their_own_roundoff() -> None:
    import ml_dtypes

    half = np.dtype(ml_dtypes.bfloat16)
    near, far = TRUE.astype(half), (TRUE * 1.05).astype(half)
    moved = [(TRUE * (1 + 2.0**-8)).astype(half)]
    assert ratio(Runs(near, TRUE.astype(half), TRUE, moved)) <= 1
    assert ratio(Runs(far, TRUE.astype(half), TRUE, moved)) > 1


def test_roundoff_of_the_usual_dtypes() -> None:
    import ml_dtypes

    assert roundoff_of(np.dtype(np.float32)) == U
    assert roundoff_of(np.dtype(ml_dtypes.bfloat16)) == 2.0**-8
    assert roundoff_of(np.dtype(np.float64)) == 2.0**-53
    assert roundoff_of(np.dtype(np.int32)) == 0
