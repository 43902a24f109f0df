"""A memory ledger as one offline page: what to do, what the peak is made of, live bytes in time, every buffer.

Nothing is loaded and nothing runs: boxes and curves are SVG, what they are is in their titles. Every string from
outside is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...contracts.model import format_bytes
from ...hlo_tools.memory import Buffer, MemoryLedger
from .memory_words import NO_SCOPE, apart, class_name, headline, note, peak_place, sums
from .page import page, text
from .printable import plural
from .treemap import Box, squarified

SHOWN = 400
"""Rows and boxes of one kind: the page stays small however many buffers there are."""
MAP = Box(0, 0, 1200, 560)
CURVE = Box(0, 0, 1200, 240)
_HEADER, _BORDER, _GLYPH = 20.0, 1.5, 6.6
_STYLE = """
table.narrow { width: auto } td.n, th.n { text-align: right; white-space: nowrap }
table.narrow td.n { min-width: 7rem }
svg { width: 100%; height: auto; display: block; margin: .5rem 0 } svg text { font: 11px system-ui, sans-serif }
svg .h { font-weight: 600; font-size: 12px; fill: #fff } svg .l { fill: light-dark(#111, #fff) }
svg rect.leaf { stroke: light-dark(#fff, #1a1a1a); stroke-width: 1 } svg rect.leaf:hover { stroke: CanvasText }
.area { fill: #4c78a8; fill-opacity: .35; stroke: #4c78a8; stroke-width: 1.5; vector-effect: non-scaling-stroke }
.grid { stroke: #8885 } .peak { stroke: #d33a2c; stroke-dasharray: 4 3 } svg .axis { fill: GrayText }
.bar, .life { background: #8883; height: .55rem; position: relative; border-radius: 2px; margin-top: .4rem }
.bar i, .life i { position: absolute; top: 0; bottom: 0; background: #4c78a8; border-radius: 2px; min-width: 2px }
.key { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; vertical-align: -1px }
.key { margin-right: .4rem }
details { margin: .1rem 0 } summary { cursor: pointer }
"""
_COLORS = {
    "parameter": "#4c78a8",
    "optimizer_slot": "#8656a3",
    "input": "#9d755d",
    "argument": "#b59a83",
    "gradient": "#c4542d",
    "activation_saved": "#2f8f4e",
    "activation_temporary": "#2e8b8b",
    "collective": "#b0882a",
    "layout_copy": "#c0507f",
    "padding": "#7a7a7a",
    "kernel_scratch": "#6b6ecf",
    "constant": "#5f7d3a",
    "output": "#3a6ea5",
    "unknown": "#d33a2c",
}
_SHADES = (0.55, 0.42, 0.62, 0.48)


def memory_html(ledger: MemoryLedger) -> str:
    """The page."""
    parts = [*_sums(ledger), *_actions(ledger)]
    if ledger.buffers:
        parts += _classes(ledger)
        parts += ["<h2>At the peak: class, scope, line</h2>", _treemap(ledger)]
        parts += [f"<h2>Live bytes over the schedule</h2><p class=dim>{text(peak_place(ledger))}</p>", _curve(ledger)]
        parts += _buffers(ledger)
    return page(headline(ledger), _STYLE, parts)


def _sums(ledger: MemoryLedger) -> Iterator[str]:
    yield "<table class=narrow>"
    yield f"<tr><th>Must fit</th><th class=n>{text(format_bytes(ledger.need_bytes))}</th></tr>"
    for name, size in sums(ledger):
        yield f"<tr><td>{text(name)}</td><td class=n>{text(size)}</td></tr>"
    yield "</table>"
    for line in (*apart(ledger), note(ledger)):
        if line:
            yield f"<p class=dim>{text(line)}</p>"


def _actions(ledger: MemoryLedger) -> Iterator[str]:
    if not ledger.actions:
        return
    most = ledger.actions[0].frees_bytes
    yield "<h2>What would shrink it</h2>"
    yield "<table><colgroup><col><col style='width:8rem'><col style='width:14rem'></colgroup>"
    yield "<tr><th>do this alone</th><th class=n>peak falls by</th><th></th></tr>"
    for action in ledger.actions:
        touched = f"{plural(len(action.buffers), 'buffer')}, {format_bytes(action.bytes)}"
        yield (
            f"<tr><td>{text(action.text)} <span class=dim>{text(touched)}</span></td>"
            f"<td class=n>{text(format_bytes(action.frees_bytes))}</td>"
            f"<td>{_bar(0, action.frees_bytes / most)}</td></tr>"
        )
    yield "</table>"


def _bar(begin: float, end: float, name: str = "bar") -> str:
    return f'<div class={name}><i style="left:{100 * begin:.1f}%;width:{100 * (end - begin):.1f}%"></i></div>'


def _classes(ledger: MemoryLedger) -> Iterator[str]:
    yield "<h2>By class</h2><table class=narrow>"
    for name, size in ledger.by_class.items():
        share = f"{100 * size / (ledger.peak_bytes or 1):.1f} %"
        key = f'<span class=key style="background:{_COLORS.get(name, "#888")}"></span>'
        yield (
            f"<tr><td>{key}{text(class_name(name))}</td>"
            f"<td class=n>{text(format_bytes(size))}</td><td class=n>{share}</td></tr>"
        )
    yield "</table>"
    wasted = sum(buffer.bytes - buffer.unpadded_bytes for buffer in ledger.buffers)
    if wasted:
        yield f"<p class=dim>{text(format_bytes(wasted))} of the peak are padding of tiles.</p>"


def _treemap(ledger: MemoryLedger) -> str:
    """Boxes in boxes: classes, in them scopes or arguments, in them source lines."""
    made: list[str] = []
    classes: dict[str, dict[str, dict[str, int]]] = {}
    for buffer in ledger.buffers[: 4 * SHOWN]:
        lines = classes.setdefault(buffer.class_, {}).setdefault(buffer.scope or NO_SCOPE, {})
        place = buffer.source or buffer.name
        lines[place] = lines.get(place, 0) + buffer.bytes
    sized = sorted(((sum(map(_sum, scopes.values())), name) for name, scopes in classes.items()), reverse=True)
    for (size, name), box in zip(sized, squarified([size for size, _ in sized], MAP), strict=True):
        color = _COLORS.get(name, "#888")
        title = f"{class_name(name)}: {format_bytes(size)}"
        made.append(f"<g>{_rect(box, color, 1, title)}{_label(box, title, 'h')}")
        inner = box.inset(_BORDER, _HEADER if box.height > 2 * _HEADER else _BORDER)
        made += _scopes(classes[name], inner, class_name(name))
        made.append("</g>")
    return f'<svg viewBox="0 0 {MAP.width:.0f} {MAP.height:.0f}" role="img">{"".join(made)}</svg>'


def _scopes(scopes: dict[str, dict[str, int]], box: Box, class_: str) -> Iterator[str]:
    sized = sorted(((_sum(lines), scope) for scope, lines in scopes.items()), reverse=True)
    for (_, scope), at in zip(sized, squarified([size for size, _ in sized], box), strict=True):
        lines = sorted(((size, line) for line, size in scopes[scope].items()), reverse=True)
        for number, ((size, line), leaf) in enumerate(
            zip(lines, squarified([size for size, _ in lines], at), strict=True)
        ):
            if leaf.width * leaf.height < 1:
                continue
            title = f"{class_} / {scope} / {line}: {format_bytes(size)}"
            shade = _SHADES[number % len(_SHADES)]
            words = f"{_tail(scope)} {format_bytes(size)}"
            yield _rect(leaf, "light-dark(#fff, #000)", shade, title, "leaf") + _label(leaf, words, "l")


def _rect(box: Box, color: str, opacity: float, title: str, name: str = "") -> str:
    place = f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    return (
        f'<rect class="{name}" {place} style="fill:{color};fill-opacity:{opacity}"><title>{text(title)}</title></rect>'
    )


def _label(box: Box, words: str, name: str) -> str:
    """The words where they fit in a box, cut to its width."""
    room = int((box.width - 8) / _GLYPH)
    if room < 4 or box.height < 14:
        return ""
    shown = words if len(words) <= room else f"{words[: room - 1]}…"
    return f'<text class={name} x="{box.x + 4:.1f}" y="{box.y + 13:.1f}" pointer-events="none">{text(shown)}</text>'


def _tail(scope: str) -> str:
    return scope if len(scope) <= 48 else f"…{scope[-47:]}"


def _curve(ledger: MemoryLedger) -> str:
    """Live bytes as steps: of each column the largest."""
    last = max(ledger.timeline[-1][0], 1)
    top = max(ledger.peak_bytes, 1)
    left, width, height = 70.0, CURVE.width - 80.0, CURVE.height - 30.0
    columns = _columns(ledger.timeline, min(last + 1, int(width)))
    made = []
    for part in range(5):
        y = 10 + height * (1 - part / 4)
        made.append(f'<line class=grid x1="{left:.0f}" x2="{left + width:.0f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        size = text(format_bytes(top * part // 4))
        made.append(f'<text class=axis x="{left - 6:.0f}" y="{y + 4:.1f}" text-anchor="end">{size}</text>')
    step = width / len(columns)
    points = []
    for number, live in enumerate(columns):
        y = 10 + height * (1 - live / top)
        points += [f"{left + number * step:.1f},{y:.1f}", f"{left + (number + 1) * step:.1f},{y:.1f}"]
    floor = 10 + height
    made.append(f'<path class=area d="M{left:.0f},{floor:.1f} L{" ".join(points)} L{left + width:.1f},{floor:.1f} Z"/>')
    if ledger.peak_index is not None:
        x = left + width * (ledger.peak_index + 0.5) / (last + 1)
        title = f"<title>{text(peak_place(ledger))}</title>"
        made.append(f'<line class=peak x1="{x:.1f}" x2="{x:.1f}" y1="10" y2="{floor:.1f}">{title}</line>')
    made.append(f'<text class=axis x="{left:.0f}" y="{floor + 16:.1f}">0</text>')
    made.append(f'<text class=axis x="{left + width:.0f}" y="{floor + 16:.1f}" text-anchor="end">step {last:,}</text>')
    return f'<svg viewBox="0 0 {CURVE.width:.0f} {CURVE.height:.0f}" role="img">{"".join(made)}</svg>'


def _columns(points: Sequence[tuple[int, int]], count: int) -> list[int]:
    """The largest value in each of `count` parts of the curve, which keeps a value until the next point."""
    end = points[-1][0] + 1
    columns = [0] * max(count, 1)
    for position, (index, value) in enumerate(points):
        until = points[position + 1][0] if position + 1 < len(points) else end
        for column in range(index * len(columns) // end, max(until - 1, index) * len(columns) // end + 1):
            columns[column] = max(columns[column], value)
    return columns


def _buffers(ledger: MemoryLedger) -> Iterator[str]:
    yield f"<h2>{plural(len(ledger.buffers), 'buffer')} live at the peak</h2>"
    yield "<table><colgroup><col style='width:26%'><col style='width:9rem'><col style='width:6.5rem'>"
    yield "<col style='width:6.5rem'><col><col style='width:7rem'></colgroup>"
    yield "<tr><th>buffer</th><th>class</th><th class=n>bytes</th><th class=n>padding</th><th>shape, line</th>"
    yield "<th>life</th></tr>"
    last = max(ledger.timeline[-1][0] if ledger.timeline else 0, 1)
    helps: dict[str, list[str]] = {}
    for action in ledger.actions:
        for name in action.buffers:
            helps.setdefault(name, []).append(f"{action.text} (frees {format_bytes(action.frees_bytes)} in all)")
    for buffer in ledger.buffers[:SHOWN]:
        yield _buffer(buffer, helps.get(buffer.name, []), last)
    yield "</table>"
    if len(ledger.buffers) > SHOWN:
        left = plural(len(ledger.buffers) - SHOWN, "smaller buffer")
        yield f"<p class=dim>{left} not shown; --format json has all.</p>"


def _buffer(buffer: Buffer, helps: Sequence[str], last: int) -> str:
    name = buffer.scope if buffer.source is None and buffer.first == 0 and buffer.scope else buffer.name
    what = f"<code>{text(name)}</code>"
    if helps:
        listed = "".join(f"<div class=d>{text(each)}</div>" for each in helps)
        what = f"<details><summary>{what}</summary>{listed}</details>"
    wasted = buffer.bytes - buffer.unpadded_bytes
    place = f"<br><span class=dim>{text(buffer.source)}</span>" if buffer.source else ""
    return (
        f"<tr><td>{what}</td><td>{text(class_name(buffer.class_))}</td><td class=n>{format_bytes(buffer.bytes)}</td>"
        f"<td class=n>{format_bytes(wasted) if wasted else '-'}</td><td><code>{text(buffer.shape)}</code>{place}</td>"
        f"<td>{_bar(buffer.first / (last + 1), (min(buffer.last, last) + 1) / (last + 1), 'life')}</td></tr>"
    )


def _sum(lines: dict[str, int]) -> int:
    return sum(lines.values())
