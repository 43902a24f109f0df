"""Ledgers as Markdown tables, for comments and notes: totals first, rows behind a fold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...contracts.model import format_bytes
from ...hlo_tools.memory import MemoryLedger
from ...hlo_tools.tensors import TensorLedger
from .cells import bytes_or_dash, peak_label
from .markdown import escape
from .printable import plural

SHOWN_ROWS = 100


def memory_markdown(ledger: MemoryLedger) -> str:
    """What must fit and its parts, the classes live at the peak, and the largest buffers."""
    sums = [
        ("must fit", ledger.need_bytes),
        ("arguments", ledger.argument_bytes),
        ("outputs not aliased", max(0, ledger.output_bytes - ledger.alias_bytes)),
        ("temporaries", ledger.temp_bytes),
        ("code", ledger.code_bytes),
        (peak_label(ledger.peak_bytes, ledger.need_bytes), ledger.peak_bytes),
    ]
    sums += [("state", ledger.state_bytes)] if ledger.state_bytes is not None else []
    actions = [(escape(action.text), format_bytes(action.frees_bytes)) for action in ledger.actions]
    buffers = [
        (escape(b.name), format_bytes(b.bytes), escape(b.shape), b.class_, escape(b.scope), escape(b.source or ""))
        for b in ledger.buffers
    ]
    parts = [
        f"### Memory of {escape(ledger.module)} on one device ({ledger.method})",
        table(("what", "bytes"), [(name, format_bytes(size)) for name, size in sums]),
        table(("class at the peak", "bytes"), [(escape(n), format_bytes(size)) for n, size in ledger.by_class.items()]),
        *([table(("each of these alone would shrink it", "peak falls by"), actions)] if actions else []),
        folded(plural(len(buffers), "live buffer"), ("name", "bytes", "shape", "class", "scope", "source"), buffers),
    ]
    return "\n\n".join(parts) + "\n"


def tensors_markdown(ledger: TensorLedger) -> str:
    """Totals by class, then every tensor."""
    rows = [
        (
            escape(row.path),
            row.class_,
            shape(row.global_shape),
            shape(row.local_shape),
            row.dtype,
            escape(placement(row.spec)),
            bytes_or_dash(row.bytes),
        )
        for row in ledger.rows
    ]
    totals = [(name, format_bytes(size)) for name, size in ledger.totals().items()]
    parts = [
        f"### Tensors of {escape(ledger.module)}",
        table(("class", "bytes per device"), totals),
        folded(plural(len(rows), "tensor"), ("path", "class", "global", "local", "dtype", "placement", "bytes"), rows),
    ]
    return "\n\n".join(parts) + "\n"


def shape(dims: Sequence[int] | None) -> str:
    """`4x128`, `scalar`, or `-` where unknown."""
    return "-" if dims is None else "x".join(map(str, dims)) or "scalar"


def placement(spec: Sequence[Sequence[str]] | None) -> str:
    """`(fsdp, -, data+tp)`: the mesh axes of each dimension."""
    return "-" if spec is None else f"({', '.join('+'.join(names) or '-' for names in spec)})"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; cells are escaped already."""
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def folded(summary: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table behind a fold, cut at SHOWN_ROWS with the number left out."""
    more = (
        f"\n\n_{plural(len(rows) - SHOWN_ROWS, 'more row')}; `--format json` has all._"
        if len(rows) > SHOWN_ROWS
        else ""
    )
    return f"<details><summary>{summary}</summary>\n\n{table(columns, rows[:SHOWN_ROWS])}{more}\n\n</details>"
