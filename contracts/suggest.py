"""Did you mean: the known name nearest to one that is not known."""

from __future__ import annotations

from collections.abc import Iterable

MAX_LENGTH = 80
MAX_CANDIDATES = 2000


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, or None where none is near. Case and `-`/`_` are ignored first."""
    candidates = [candidate for candidate in known if len(candidate) <= MAX_LENGTH][:MAX_CANDIDATES]
    folded = {_fold(candidate): candidate for candidate in reversed(candidates)}
    if _fold(name) in folded:
        return folded[_fold(name)]
    from difflib import get_close_matches  # for a mistake only

    close = get_close_matches(_fold(name[:MAX_LENGTH]), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


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
