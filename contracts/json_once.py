"""JSON whose objects name each key once, for readers that want no places: Python's own takes the last of two."""

from __future__ import annotations

from typing import Any


class TwiceError(ValueError):
    """A `key` that stands twice in one object."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key[:80]!r} stands there twice")
        self.key = key


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of its pairs, as `json.loads` asks for it. Raises TwiceError for the first key that is there again."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen = set[str]()
        for name, _ in pairs:
            if name in seen:
                raise TwiceError(name)
            seen.add(name)
    return found
