"""Errors of readers that know a text but not where it stands, given the place of the instruction it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..contracts.errors import ContractLintError
from ..contracts.finding import Location
from .instruction import Instruction


@contextmanager
def at(instruction: Instruction) -> Iterator[None]:
    """An error without a line that is raised inside gets this instruction's name and place; others pass unchanged."""
    try:
        yield
    except ContractLintError as error:
        if error.location is not None and error.location.line is not None:
            raise
        place = instruction.location or Location(instruction.module.path)
        message = f"instruction {instruction.name!r}: {error.message}"
        raise ContractLintError(message, place if place.path or place.line else None, error.help) from None
