"""The cycle collector is off while a table is built, and as it was afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.uncollected import uncollected


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    enabled = gc.isenabled()
    yield
    (gc.enable if enabled else gc.disable)()


@uncollected
def is_on() -> bool:
    return gc.isenabled()


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


def test_what_is_frozen_stays_frozen() -> None:
    gc.enable()
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        is_on()
        assert gc.get_freeze_count() == frozen > 0
    finally:
        gc.unfreeze()
    is_on()
    assert gc.get_freeze_count() == 0
