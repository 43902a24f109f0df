"""What a device gives a program, in words: the published memory and what the compiler keeps of it."""

from __future__ import annotations

from ..contracts.hardware import DeviceKind
from ..contracts.model import format_bytes


def capacity_text(kind: DeviceKind) -> str:
    """`16.00 GiB are published at ...; a program gets 15.75 GiB of it (out-of-memory message of libtpu ...)`."""
    if kind.hbm_bytes is None:
        return kind.source
    published = f"{format_bytes(kind.hbm_bytes)} are published at {kind.source}"
    if kind.given is None:
        return published
    return f"{published}; a program gets {format_bytes(round(kind.given.value))} ({kind.given.source})"
