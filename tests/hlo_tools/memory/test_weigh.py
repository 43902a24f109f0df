"""An action costs a look at all buffers only where it can free what is worth naming."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from contract_lint.contracts.manifest import Leaf
from contract_lint.hlo_tools.memory.actions import actions
from contract_lint.hlo_tools.memory.buffer import Buffer
from contract_lint.hlo_tools.memory.lives import Argument, Life, Lives


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Lives]:
    """The steps whose buffers were all gone through, one entry each time."""
    found: list[Lives] = []
    peak = Lives.peak

    def counted(lives: Lives, bytes_of: Callable[[Life], int] = lambda life: life.bytes, more: Any = ()) -> int:
        found.append(lives)
        return peak(lives, bytes_of, more)

    monkeypatch.setattr(Lives, "peak", counted)
    return found


def step(sizes: list[int]) -> Lives:
    """One undonated parameter of each size (in f32 elements), and the output that replaces it."""
    arguments, lives = [], []
    for number, size in enumerate(sizes):
        shape = f"f32[{size}]{{0}}"
        leaf = Leaf(argument=f"p{number}", path="", shape=[size], dtype="float32", bytes=4 * size, parameter=number)
        arguments.append(Argument(leaf, "parameter", 1))
        for class_ in ("parameter", "output"):
            buffer = Buffer(f"{class_}{number}", 4 * size, 4 * size, shape, class_, "", None, 0, 1)
            lives.append(Life(4 * size, buffer=buffer))
    return Lives(lives, arguments=arguments)


def test_thousands_of_arguments_too_small_to_name_cost_one_look(looks: list[Lives]) -> None:
    assert actions(step([8] * 3_000)) == ()
    assert len(looks) == 1


def test_the_large_one_among_them_is_named(looks: list[Lives]) -> None:
    found = actions(step([8] * 200 + [4096]))
    assert [(action.kind, action.what, action.frees_bytes) for action in found] == [("donate", "p200", 4 * 4096)]
    assert len(looks) == 2
