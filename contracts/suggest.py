"""Did you mean: the known name nearest to one that is not known."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_LENGTH = 80
MAX_CANDIDATES = 2000
_CODE = re.compile(r"[A-Z]{3}([0-9]{3}|[A-Z]?)", re.IGNORECASE)
"""A whole code, or a family: what is like it is something else."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, or None where none is near. Case and `-`/`_` are ignored first."""
    candidates = [candidate for candidate in known if len(candidate) <= MAX_LENGTH][:MAX_CANDIDATES]
    folded = {_fold(candidate): candidate for candidate in reversed(candidates)}
    if _fold(name) in folded:
        return folded[_fold(name)]
    from difflib import get_close_matches  # for a mistake only

    close = get_close_matches(_fold(name[:MAX_LENGTH]), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def instead_of(wanted: str, codes: Iterable[str], names: Iterable[str], whole: bool = False) -> str:
    """A help line for what is no rule: the nearest name. A code that looks alike says nothing about what was meant.

    With `whole`, prefixes of codes are not allowed where `wanted` stands.
    """
    with_it = sorted(code for code in codes if wanted and code.startswith(wanted.upper()))
    if wanted.upper() in with_it:
        return f"did you mean `{wanted.upper()}`?"
    if whole and with_it:
        return f"name a whole rule, such as {with_it[0]}: a comment takes no prefix"
    near = None if _CODE.fullmatch(wanted) else nearest(wanted, {*codes, *names})
    return f"did you mean `{near}`?" if near else "`contract-lint rules` lists them"


def _fold(name: str) -> str:
    return name.lower().replace("-", "_")


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A help line: the nearest known name, else all of them where they are few; None where nothing is known."""
    candidates = sorted(set(known))
    near = nearest(name, candidates)
    if near is not None:
        return f"did you mean `{near}`?"
    if not candidates:
        return None
    listed = ", ".join(candidates[:12])
    return f"known: {listed}, ..." if len(candidates) > 12 else f"known: {listed}"
