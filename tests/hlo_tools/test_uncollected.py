"""The cycle collector is off while a table is built, and as it was afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.uncollected import LARGE, uncollected


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    enabled = gc.isenabled()
    yield
    (gc.enable if enabled else gc.disable)()


@uncollected
def is_on() -> bool:
    return gc.isenabled()


@uncollected
def of_lists() -> list[list[int]]:
    return [[] for _ in range(2 * LARGE)]


@pytest.mark.parametrize("before", [True, False])
def test_it_is_off_inside_and_as_before_outside(before: bool) -> None:
    (gc.enable if before else gc.disable)()
    assert not is_on()
    assert gc.isenabled() is before


def test_an_error_turns_it_on_again() -> None:
    gc.enable()
    with pytest.raises(ContractLintError):
        parse_hlo("HloModule m\n\nENTRY e {")
    assert gc.isenabled()


def test_a_large_table_is_old_at_once() -> None:
    gc.enable()
    table = of_lists()
    assert len(gc.get_objects(generation=0)) < LARGE < len(table)


def test_what_is_frozen_stays_frozen() -> None:
    gc.enable()
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        table = of_lists()
        assert gc.get_freeze_count() > frozen / 2  # some may have been freed since
    finally:
        gc.unfreeze()
    assert len(table) == len(of_lists())
    assert gc.get_freeze_count() == 0


def test_a_small_table_does_not_ask_what_is_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that reads many small texts, with a million objects frozen, would do nothing else."""
    asked: list[bool] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: asked.append(True))
    gc.enable()
    is_on()
    assert not asked
    of_lists()
    assert asked
