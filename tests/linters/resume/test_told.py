"""What is said of a resume that was tried: where it was killed, what it was compared by, and what was neither."""

from __future__ import annotations

from typing import Any

import pytest
from contract_lint.contracts.resume import LegSeen, ResumeFacts, SaveSeen, StepSeen
from contract_lint.linters.resume.told import not_compared, not_held, not_killed, proof, stopped

ALL = {"loss": "1.0", "grad_norm": "1.0", "batch": "b", "rng": "r", "learning_rate": "0.1"}
ATOMIC = SaveSeen(commits=("1",), files=2, folders=1)
ORBAX = SaveSeen(commits=("1",), items=2, background=True, files=6, folders=3)


def leg(**fields: Any) -> LegSeen:
    return LegSeen(**({"mesh": {}, "restored": 0, "state": {"w": "w0"}} | fields))


def facts(values: dict[str, str], save: SaveSeen, *legs: LegSeen) -> ResumeFacts:
    unbroken = leg(seen=[StepSeen(step=1, values=values, state={"w": "w1"})], save=save, saved=[1], lacking=[])
    return ResumeFacts(step="train", target="cpu:1", own=True, unbroken=unbroken, legs=list(legs))


COMMIT = leg(begun=2, killed="before the commit", killed_at="2")
WRITE = leg(restored=1, begun=3, killed="at its first write", killed_at="3/w.npy")


def test_a_proof_names_the_points_that_were_reached_and_what_was_compared() -> None:
    assert proof(facts(ALL, ORBAX, COMMIT, WRITE)) == (
        "1 step, killed before the commit (step 2), at its first write (step 3: 3/w.npy), taken up 1 time: "
        "loss, grad_norm, batch, rng, learning_rate and 1 array of the state equal to the bit"
    )


def test_a_step_that_tells_nothing_leaves_the_state_alone() -> None:
    silent = facts({}, ATOMIC, COMMIT, WRITE)
    assert not_compared(silent) == ["loss", "gradient norm", "batch", "rng", "learning rate"]
    said = "taken up 1 time: 1 array of the state equal to the bit (not compared: loss, gradient norm, batch, rng, lea"
    assert said in proof(silent)


@pytest.mark.parametrize(
    ("values", "lacks"),
    [
        ({"learning/loss": "1", "optim/grad-norm": "2"}, ["batch", "rng", "learning rate"]),
        ({"train_loss": "1", "GNORM": "2", "batch": "b"}, ["rng", "learning rate"]),
        ({"rng": "r", "learning_rate": "1"}, ["loss", "gradient norm", "batch"]),
    ],
)
def test_values_are_known_by_their_names(values: dict[str, str], lacks: list[str]) -> None:
    assert not_compared(facts(values, ATOMIC)) == lacks


def test_points_that_a_save_does_not_have_are_said() -> None:
    assert not_killed(facts(ALL, ORBAX)) is None
    assert (
        not_killed(facts(ALL, ATOMIC)) == "not killed between items or while it finalises: the save has no such point"
    )
    said = "not killed before the commit, between items or while it finalises: the save has no such point"
    assert not_killed(facts(ALL, SaveSeen(files=3))) == said
    unheard = facts(ALL, SaveSeen(), leg(saved=[1]), leg(restored=1))
    assert "killed nowhere, taken up 1 time" in proof(unheard)
    assert "not killed within a save: nothing that it makes below the folder is heard" in proof(unheard)


def test_how_a_leg_ended_is_a_sentence() -> None:
    assert stopped(COMMIT) == "was killed before the commit of the save of step 2"
    assert stopped(WRITE) == "was killed at the first write of the save of step 3 (3/w.npy)"
    pointer = COMMIT.model_copy(update={"killed_at": "latest"})
    assert stopped(pointer) == "was killed before the commit of the save of step 2 (latest)"
    background = WRITE.model_copy(update={"killed": "while it finalises"})
    assert stopped(background) == "was killed while the save of step 3 was finalised in the background"
    assert (stopped(leg(saved=[1, 2])), stopped(leg())) == ("ended behind the save of step 2", "ended")


def test_a_state_that_nobody_could_hold_to_the_step_is_said() -> None:
    whole = facts(ALL, ATOMIC)
    unknown = whole.model_copy(update={"unbroken": whole.unbroken.model_copy(update={"lacking": None})})
    assert not_held(whole) is None and "the step does not say what it carries over" in (not_held(unknown) or "")
