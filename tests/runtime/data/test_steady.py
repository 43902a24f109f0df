"""What an object is and where it stands are told apart by who sets its attributes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from contract_lint.runtime.data.steady import steady


class Stage:
    def __init__(self, seed: int, above: Stage | None = None) -> None:
        self.seed = seed
        self.has_child = False
        if above is not None:
            above.has_child = True


class Loader(Stage):
    def __init__(self, above: Stage | None, size: int) -> None:
        super().__init__(3, above)
        self.set_up(size)
        self.at, self.seen, self.counts = 0, [], {"a": 1}

    def set_up(self, size: int) -> None:
        self.size = size

    @cached_property
    def length(self) -> int:
        return 100

    def of_part(self, size: int) -> None:
        """What a user does before it is iterated over."""
        self.size = size

    def __next__(self) -> Any:
        self._move()
        self.seen.append(self.at)
        self.counts["a"] = self.at
        return self.at + self.length

    def _move(self) -> None:
        self.at += 1


def test_what_iterating_changes_goes_and_the_rest_stays() -> None:
    loader = Loader(None, 4)
    before = dict(steady(loader))
    Loader(loader, 4)
    next(loader)
    assert dict(steady(loader)) == before and set(before) == {"seed", "size"}
    loader.of_part(8)
    assert steady(loader)["size"] == 8


def test_without_a_source_all_attributes_stay() -> None:
    made = type("Made", (), {"__init__": lambda self: setattr(self, "seed", 3)})
    assert dict(steady(made())) == {"seed": 3}
