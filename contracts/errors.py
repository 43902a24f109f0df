"""The one error that ends a command with exit code 2: wrong usage or evidence that cannot be read. And the one warning:
evidence that could be read in part.
"""

from __future__ import annotations

from .finding import Location


class ContractLintError(Exception):
    """Says what is wrong, where, and what to do next; the command line prints it and exits with 2."""

    exit_code = 2

    def __init__(self, message: str, location: Location | None = None, help: str | None = None) -> None:
        self.message = message
        self.location = location
        self.help = help
        super().__init__(str(self))

    def __str__(self) -> str:
        place = f"{' '.join(str(self.location).splitlines())}: " if self.location else ""
        advice = f"\n  help: {self.help}" if self.help else ""
        return f"{place}{self.message}{advice}"


def visible(text: str) -> str:
    """A path or name from outside in a sentence: on one line, what cannot be printed as its escape."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


class ContractLintWarning(UserWarning):
    """Says what was read without being understood; the command line prints it and goes on."""
