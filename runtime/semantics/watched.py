"""Build arguments that notice which of their keys are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_NOTHING = object()


class Watched(dict[str, Any]):
    """A mapping of a configuration, and the mappings in it. To whoever reads it, it is a plain dict.

    Iterating hands out every key and counts as reading none: a loop over names uses no value yet.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__({name: watched(value) for name, value in values.items()})
        self.read: set[str] = set()
        self.missed: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        (self.read if super().__contains__(name) else self.missed).add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        found = super().__contains__(name)
        if isinstance(name, str) and not found:
            self.missed.add(name)
        return found

    def __iter__(self) -> Iterator[str]:
        # With an iterator of its own a dict is unpacked (`**config`) through `__getitem__`.
        return super().__iter__()

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            return default
        return self[name]

    def pop(self, name: str, default: Any = _NOTHING) -> Any:
        value = self.get(name, default)
        if value is _NOTHING:
            raise KeyError(name)
        return super().pop(name, value)

    def values(self) -> Any:
        self.read.update(super().__iter__())
        return super().values()

    def items(self) -> Any:
        self.read.update(super().__iter__())
        return super().items()


def watched(value: Any) -> Any:
    """The value; a mapping as one that is watched."""
    return Watched(value) if isinstance(value, dict) and not isinstance(value, Watched) else value


def unread(values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Keys of watched mappings that nobody read, as `training.num_epoch`; of a mapping nobody read each key in it."""
    for name in dict.keys(values) if isinstance(values, dict) else values:
        value = dict.__getitem__(values, name) if isinstance(values, dict) else values[name]
        place = f"{path}.{name}" if path else name
        if isinstance(value, Watched) and dict.__len__(value):
            yield from unread(value, place)
        elif isinstance(values, Watched) and name not in values.read:
            yield place


def missed(values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Keys that were asked for and are not there."""
    if isinstance(values, Watched):
        yield from (f"{path}.{name}" if path else name for name in sorted(values.missed))
    for name in dict.keys(values) if isinstance(values, dict) else values:
        value = dict.__getitem__(values, name) if isinstance(values, dict) else values[name]
        if isinstance(value, Watched):
            yield from missed(value, f"{path}.{name}" if path else name)
