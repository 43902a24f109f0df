"""What every view of a memory ledger says in words: the verdict, the sums, how the peak was found."""

from __future__ import annotations

from ...contracts.model import format_bytes
from ...hlo_tools.memory import Action, MemoryLedger
from .cells import peak_label
from .printable import one_line

NO_LINE = "(no line: arguments, constants)"
NO_SCOPE = "(no scope)"
_ALL_AT_ONCE = "No heap trace: all temporaries are taken as live at once."
_OF_METHOD = {
    "liveness": "Worked out from the schedule by XLA's rules.",
    "buffer-assignment": _ALL_AT_ONCE,
    "compiled-stats": _ALL_AT_ONCE,
}


def headline(ledger: MemoryLedger) -> str:
    """One sentence: what must fit, the peak, what it is made of, and what would free most of it."""
    first = f"{one_line(ledger.module)}: needs {format_bytes(ledger.need_bytes)} on each device"
    if ledger.refused:
        first = f"{one_line(ledger.module)} was refused by the compiler: it needs {format_bytes(ledger.need_bytes)}"
        first += " on each device"
    first += f", {format_bytes(ledger.peak_bytes)} {peak_label(ledger.peak_bytes, ledger.need_bytes)}"
    if ledger.buffers:
        name, size = next(iter(ledger.by_class.items()))
        first += f"; most is {class_name(name)} ({format_bytes(size)})"
    return f"{first}; {said(ledger.actions[0])}" if ledger.actions else first


def said(action: Action) -> str:
    """`recompute in the backward pass: ... (frees 1.50 GiB)`."""
    return f"{one_line(action.text)} (frees {format_bytes(action.frees_bytes)})"


def sums(ledger: MemoryLedger) -> list[tuple[str, str]]:
    """(what, bytes) of all that must fit together."""
    rows = [("arguments", format_bytes(ledger.argument_bytes))]
    if ledger.state_bytes is not None:
        rows.append(("  of which state", format_bytes(ledger.state_bytes)))
    rows.append(("outputs not aliased", format_bytes(max(0, ledger.output_bytes - ledger.alias_bytes))))
    # Only a compiled program's own statistics tell the size of its code, and those of a CPU program say 0.
    code = format_bytes(ledger.code_bytes) if ledger.code_bytes else "not known"
    rows += [("temporaries", format_bytes(ledger.temp_bytes)), ("code", code)]
    return rows


def apart(ledger: MemoryLedger) -> list[str]:
    """One line for each other memory space, which never adds to the device's own."""
    return [
        f"apart from it, {space.name}: {format_bytes(space.peak_bytes)} live at its own peak"
        for space in ledger.spaces
        if space.number
    ]


def note(ledger: MemoryLedger) -> str | None:
    """What has to be said of a peak that is not exact."""
    return _OF_METHOD.get(ledger.method)


def peak_place(ledger: MemoryLedger) -> str:
    """Where on the schedule the peak is."""
    return f"peak at {one_line(ledger.peak_instruction or '?')}, step {ledger.peak_index} of the schedule"


def class_name(name: str) -> str:
    return name.replace("_", " ")
