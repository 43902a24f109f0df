"""What the methods of a run return: what is compared is text to the bit; what does not fit is told by the method."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from contract_lint.contracts.resume import Failed
from contract_lint.runtime.frames import FramePaths
from contract_lint.runtime.request import StepFailure
from contract_lint.runtime.resume.hook import METHODS, Hook
from contract_lint.runtime.step import as_step

RIGHT: dict[str, Any] = {
    "restore": 2,
    "advance": {"loss": 0.5, "batch": [np.arange(3)], "rng": jax.random.key(1), "phase": "warmup", "none": None},
    "save": None,
    "wait": None,
    "state": {"w": jnp.ones(2), "step": 3, "key": jax.random.key(0)},
    "arguments": (({"w": jnp.ones(2)}, 1), {}),
}

STEP = as_step(SimpleNamespace(fn=lambda state, batch: state, args=({"w": jnp.ones(2)}, 1), resumable=len))


class Thing:
    """Nothing that can be compared."""


def hook(told: list[Failed] | None = None, **returned: Any) -> Hook:
    run = SimpleNamespace(**{name: lambda value=value: value for name, value in (RIGHT | returned).items()})
    return Hook(run, STEP, FramePaths(Path(__file__).parent), "train", [].append if told is None else told.append)


def test_what_fits_is_text() -> None:
    run = hook()
    seen, state = run.advance(), run.state()
    assert run.restore() == 2 and hook(restore=np.int64(3)).restore() == 3
    assert (seen["loss"], seen["phase"], seen["none"]) == ("0.5", "'warmup'", "None")
    assert all(each.startswith("sha256:") for each in (seen["batch"], seen["rng"], *state.values()))
    assert list(state) == ["key", "step", "w"] and hook(state=None).state() == hook(state={}).state() == {}
    assert hook(advance={"rng": jax.random.key(2)}).advance()["rng"] != seen["rng"]
    assert run.arguments() == RIGHT["arguments"]


@pytest.mark.parametrize(
    ("method", "value", "said"),
    [
        ("restore", None, "returned None; expected how many steps are finished, an int; 0 where nothing is taken up"),
        ("restore", "3", "returned a value of type str; expected how many steps"),
        ("restore", True, "returned a value of type bool; expected how many steps"),
        ("restore", -1, "returned a value of type int; expected how many steps"),
        ("advance", None, "returned None; expected a dict of what the step saw"),
        ("advance", (1, 2), "returned a tuple of 2 (int, int); expected a dict"),
        ("advance", {"loss": Thing()}, "returned a value of type Thing as `loss`; expected arrays, numbers and texts"),
        ("advance", {"batch": [Thing()]}, "returned a list of 1 (Thing) as `batch`; expected arrays"),
        ("state", {"opt": Thing()}, "returned a value of type Thing as `opt`; expected arrays, numbers and texts"),
        ("arguments", (1, 2), "returned a tuple of 2 (int, int); expected (args, kwargs), a tuple with one entry for"),
        ("arguments", ((1,), {}), "returned 1 positional argument, the step takes 2: state, batch; expected"),
    ],
)
def test_what_does_not_fit_is_told_by_the_method(method: str, value: Any, said: str) -> None:
    with pytest.raises(StepFailure) as caught:
        getattr(hook(**{method: value}), method)()
    assert caught.value.message.startswith(f"`{method}()` of the step's `resumable` {said}"), caught.value.message
    assert caught.value.location is not None


def test_nothing_is_taken_up_from_an_empty_folder() -> None:
    assert hook(restore=0).restore(empty=True) == 0
    with pytest.raises(StepFailure, match="returned 2 for an empty folder; expected 0"):
        hook().restore(empty=True)


@pytest.mark.parametrize("run", [None, SimpleNamespace(restore=len, advance=len, save=len, wait=len)])
def test_a_run_without_a_method_is_told(run: Any) -> None:
    with pytest.raises(StepFailure, match=r"`resumable\(folder\)` returned .* without `(restore|state)\(\)`") as caught:
        Hook(run, STEP, FramePaths(Path()), "train", [].append)
    assert all(f"`{name}()`" in (caught.value.help or "") for name in METHODS)


def test_what_a_method_raises_is_told_with_its_frames() -> None:
    def restore() -> int:
        raise EOFError("no data")

    told: list[Failed] = []
    run = Hook(SimpleNamespace(**dict.fromkeys(METHODS, restore)), STEP, FramePaths(Path()), "train", told.append)
    with pytest.raises(StepFailure, match=r"`restore\(\)` of the step's `resumable` failed: EOFError: no data"):
        run.restore()
    assert [(each.method, each.error) for each in told] == [("restore", "EOFError: no data")]
    assert "test_hook.py" in told[0].frames[0]
