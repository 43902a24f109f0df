"""Targets that a command was asked for and could not look at: each is named with its reason, and stops no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NotChecked:
    """One target that nothing is known of: why, where, and what to do about it."""

    target: str
    message: str
    location: Location | None = None
    help: str | None = None

    @classmethod
    def because(cls, target: str, error: ContractLintError) -> NotChecked:
        """The target and the error that stopped it."""
        return cls(target, error.message, error.location, error.help)


def of_each(
    targets: Sequence[str], attempt: Callable[[str], T], say: Callable[[str], None] | None = None
) -> tuple[list[T], list[NotChecked]]:
    """What `attempt` gives for each target that it works for, and the others.

    Raises ContractLintError where it works for none: that of the one target, or one that lists all.
    """
    done: list[T] = []
    missing: list[NotChecked] = []
    for target in targets:
        try:
            done.append(attempt(target))
        except ContractLintError as error:
            if len(targets) == 1:
                raise
            missing.append(NotChecked.because(target, error))
            if say is not None:
                say(f"{target}: {error.message.splitlines()[0]}; going on with the other targets")
    if missing and not done:
        raise stopped(missing)
    return done, missing


def stopped(missing: Iterable[NotChecked]) -> ContractLintError:
    """The error that ends a command with them: a reason that several targets share stands there once."""
    sharing: dict[tuple[str, Location | None, str | None], list[str]] = {}
    for each in missing:
        sharing.setdefault((each.message, each.location, each.help), []).append(each.target)
    reasons = [(", ".join(names), *why) for why, names in sharing.items()]
    if len(reasons) == 1:
        names, message, location, help = reasons[0]
        return ContractLintError(f"{names}: {message}", location, help)
    texts = [f"{names}: {ContractLintError(message, place, help)}" for names, message, place, help in reasons]
    count = sum(map(len, sharing.values()))
    return ContractLintError("\n".join([f"{count} targets were not captured:", *texts]))
