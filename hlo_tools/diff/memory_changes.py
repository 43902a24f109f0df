"""Memory at the peak: how much more or less, of which class, and which buffers are responsible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...contracts.model import format_bytes
from ..memory import Buffer, MemoryLedger
from .change import Change
from .lines import Lines
from .place import Place

_NAMED = 6
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Held:
    """Buffers of one shape, class and place: how many bytes of them live at the peak of A and of B."""

    name: str
    shape: str
    class_: str
    source_a: str | None
    source_b: str | None
    scope: str
    before: int
    after: int

    @property
    def delta(self) -> int:
        return self.after - self.before

    @property
    def text(self) -> str:
        where = self.source_b if self.delta > 0 else self.source_a
        at = f" at {where}" if where else f" in {self.scope}" if self.scope else ""
        sign = "+" if self.delta > 0 else "-"
        return f"{sign}{format_bytes(abs(self.delta))} {self.what}{at}"

    @property
    def what(self) -> str:
        """The buffer's name and shape; of a tuple with many elements as much as a line holds."""
        text = f"{self.name} {self.shape}"
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def held(a: MemoryLedger, b: MemoryLedger, lines: Lines) -> list[Held]:
    """The buffers live at the peak that differ in bytes, largest difference first."""
    counts: dict[tuple[str, str, str, str], list[int]] = {}
    samples: dict[tuple[str, str, str, str], Buffer] = {}
    for side, ledger in enumerate((a, b)):
        for buffer in ledger.buffers:
            place = Place(buffer.source)
            source = (lines.in_a(place) if side else place).source or ""
            # An argument's scope is its name; elsewhere versions differ in what they call a scope.
            scope = buffer.scope if not source else ""
            key = (buffer.shape.split("{")[0], buffer.class_, source, scope)
            counts.setdefault(key, [0, 0])[side] += buffer.bytes
            samples.setdefault(key, buffer)
            if side and counts[key][1] > counts[key][0]:
                samples[key] = buffer
    made = [
        Held(
            samples[key].name,
            samples[key].shape,
            key[1],
            key[2] or None,
            lines.in_b(key[2] or None),
            samples[key].scope,
            before,
            after,
        )
        for key, (before, after) in counts.items()
        if before != after
    ]
    return sorted(made, key=lambda each: (-abs(each.delta), each.name))


def changes(a: MemoryLedger, b: MemoryLedger, lines: Lines) -> Iterator[Change]:
    """The peak with the buffers responsible, then each class whose bytes at the peak differ."""
    found = held(a, b, lines)
    if a.peak_bytes != b.peak_bytes:
        grown = b.peak_bytes > a.peak_bytes
        top = next((each for each in found if (each.delta > 0) == grown), None)
        why = f"; most is {top.what}" if top else ""
        yield Change(
            kind="peak",
            what=f"peak memory {_arrow(a.peak_bytes, b.peak_bytes)}{why}",
            before=a.peak_bytes,
            after=b.peak_bytes,
            unit="bytes",
            source_a=top.source_a if top else None,
            source_b=top.source_b if top else None,
            scope=top.scope if top else "",
            weight=abs(b.peak_bytes - a.peak_bytes),
            root=False,
            details=[each.text for each in found[:_NAMED]],
        )
    if a.temp_bytes != b.temp_bytes:
        yield Change(
            kind="memory",
            what=f"temporary memory {a.temp_bytes:,} B -> {b.temp_bytes:,} B",
            subject="temporary memory",
            before=a.temp_bytes,
            after=b.temp_bytes,
            unit="bytes",
            weight=abs(b.temp_bytes - a.temp_bytes),
            root=False,
        )
    mine, theirs = a.by_class, b.by_class
    for name in dict.fromkeys((*mine, *theirs)):
        before, after = mine.get(name, 0), theirs.get(name, 0)
        if before == after:
            continue
        top = [each for each in found if each.class_ == name]
        yield Change(
            kind="memory",
            what=f"{name.replace('_', ' ')} at the peak {_arrow(before, after)}",
            subject=f"{name.replace('_', ' ')} at the peak",
            before=before,
            after=after,
            unit="bytes",
            source_a=top[0].source_a if top else None,
            source_b=top[0].source_b if top else None,
            scope=top[0].scope if top else "",
            weight=abs(after - before),
            root=False,
            details=[each.text for each in top[:_NAMED]],
        )


def _arrow(before: int, after: int) -> str:
    return f"{format_bytes(before)} -> {format_bytes(after)}"
