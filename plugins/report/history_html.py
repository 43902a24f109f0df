"""The metrics of records over time as one offline page: a curve for each, of times the percentiles beside the mean.

Nothing is loaded and nothing runs: curves are SVG, what a point is stands in its title.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from ...contracts.record import Metric
from ..pipeline.record.index import Row
from ..pipeline.record.measured import measured
from .history_text import TIME
from .page import page, text
from .printable import plural
from .record_text import number, short

SHOWN = 60
"""Curves of one page."""
POINTS = 2_000
"""Records of one curve: the newest."""
_WIDTH, _HEIGHT, _LEFT, _TOP, _BELOW = 1200.0, 220.0, 90.0, 12.0, 24.0
_FIGURES = {"mean": "#4c78a8", "p50": "#2f8f4e", "p90": "#b0882a", "p99": "#c4542d"}
_ONE = "#4c78a8"
_STYLE = """
svg { width: 100%; height: auto; display: block; margin: .5rem 0 } svg text { font: 11px system-ui, sans-serif }
.grid { stroke: #8885 } svg .axis { fill: GrayText }
svg .gap { fill: #c4542d; font-size: 18px }
.line { fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke }
circle:hover { stroke: CanvasText; stroke-width: 2 }
.key { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px }
.key { vertical-align: -1px; margin: 0 .4rem 0 1rem }
h3 { font-size: .95rem; margin: 1.4rem 0 0 }
.wide { overflow-x: auto } .wide table { min-width: 66rem }
td.n, th.n { text-align: right; white-space: nowrap }
"""


def history_html(rows: Sequence[Row], patterns: Sequence[str] = ()) -> str:
    """The page; `patterns` choose metrics by name."""
    title = f"{plural(len(rows), 'record')}"
    if rows:
        title += f" from {rows[0].created[:10]} to {rows[-1].created[:10]}"
    parts: list[str] = []
    left = SHOWN
    drawn = False
    for name in dict.fromkeys(row.name for row in rows):
        named = [row for row in rows if row.name == name]
        mine = named[-POINTS:]
        metrics = [each for each in metric_names(mine) if _chosen(each, patterns)]
        shown = metrics[:left]
        left -= len(shown)
        drawn = drawn or bool(metrics)
        parts.append(f"<h2>{text(name)} <span class=dim>{text(_of(len(mine), len(named)))}</span></h2>")
        for metric in shown:
            parts += _curve(metric, [(row, row.metrics[metric]) for row in mine if metric in row.metrics])
        if len(shown) < len(metrics):
            parts.append(f"<p class=dim>{len(metrics) - len(shown):,} more metrics: choose with --metric</p>")
    if rows and not drawn:
        parts.append(f"<p class=dim>no record has a metric{' that --metric names' if patterns else ''}</p>")
    parts += _table(rows)
    return page(title, _STYLE, parts)


def metric_names(rows: Sequence[Row]) -> list[str]:
    """Every metric that a record has, in the order in which they come."""
    return list(dict.fromkeys(name for row in rows for name in measured(row.metrics)))


def fitting(rows: Sequence[Row], patterns: Sequence[str]) -> bool:
    """Whether any metric is chosen."""
    return any(_chosen(name, patterns) for name in metric_names(rows))


def _of(shown: int, count: int) -> str:
    """`8 records`, or how many of them are shown."""
    return plural(count, "record") if shown == count else f"the newest {shown:,} of {plural(count, 'record')}"


def _chosen(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(name, each) for each in patterns)


def _curve(name: str, points: Sequence[tuple[Row, Metric]]) -> Iterator[str]:
    """One metric: its last value, or of a time its mean and percentiles. Where there is none, the line has a gap and
    the record a cross."""
    timed = name.startswith(TIME) and any(metric.count > 1 for _, metric in points)
    figures = _FIGURES if timed else {"last": _ONE}
    series = {each: [(n, row, getattr(m, each)) for n, (row, m) in enumerate(points)] for each in figures}
    values = [value for each in series.values() for _, _, value in each if value is not None]
    yield f"<h3>{text(name)}{_keys(figures) if timed else ''}</h3>"
    gaps = [(n, row) for n, row, value in series["mean" if timed else "last"] if value is None]
    none = "no value is finite" if timed else "the last value is not finite"
    if gaps:
        cross = " (&times;)" if values else ""
        yield f"<p class=dim>in {len(gaps):,} of {plural(len(points), 'record')} {none}{cross}</p>"
    if not values:
        return
    low, high = min(values), max(values)
    if low == high:
        low, high = low - (abs(low) or 1) * 0.05, high + (abs(high) or 1) * 0.05
    made = list(_grid(low, high, points))
    for figure, line in series.items():
        for finite, run in groupby(line, lambda each: each[2] is not None):
            path = " ".join(f"{_x(n, len(points)):.1f},{_y(value, low, high):.1f}" for n, _, value in run if finite)
            if finite:
                made.append(f'<polyline class=line style="stroke:{figures[figure]}" points="{path}"/>')
        for n, row, value in line:
            if value is not None:
                odd = points[n][1].not_finite
                beside = f", {plural(odd, 'value')} not finite" if odd else ""
                told = f"{figure} {number(value)}{beside}, {_told(row)}"
                made.append(
                    f'<circle cx="{_x(n, len(points)):.1f}" cy="{_y(value, low, high):.1f}" r="3.5" '
                    f'style="fill:{figures[figure]}"><title>{text(told)}</title></circle>'
                )
    for n, row in gaps:
        at = f'x="{_x(n, len(points)):.1f}" y="{_HEIGHT - _BELOW + 4:.1f}"'
        made.append(
            f'<text class=gap {at} text-anchor="middle">&times;<title>{none}, {text(_told(row))}</title></text>'
        )
    yield f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img">{"".join(made)}</svg>'


def _told(row: Row) -> str:
    return f"record {short(row.digest)}, {row.created}, {row.verdict or 'no verdict'}"


def _keys(figures: Iterable[str]) -> str:
    return "".join(f'<span class=key style="background:{_FIGURES[each]}"></span>{each}' for each in figures)


def _grid(low: float, high: float, points: Sequence[tuple[Row, Metric]]) -> Iterator[str]:
    right = _WIDTH - 10
    for part in range(5):
        at = low + (high - low) * part / 4
        y = _y(at, low, high)
        yield f'<line class=grid x1="{_LEFT:.0f}" x2="{right:.0f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class=axis x="{_LEFT - 8:.0f}" y="{y + 4:.1f}" text-anchor="end">{text(number(at))}</text>'
    floor = _HEIGHT - 6
    first, last = points[0][0], points[-1][0]
    yield f'<text class=axis x="{_LEFT:.0f}" y="{floor:.0f}">{text(first.created[:16].replace("T", " "))}</text>'
    if len(points) > 1:
        told = text(last.created[:16].replace("T", " "))
        yield f'<text class=axis x="{right:.0f}" y="{floor:.0f}" text-anchor="end">{told}</text>'


def _x(number: int, count: int) -> float:
    room = _WIDTH - 10 - _LEFT - 16
    return _LEFT + 8 + (room * number / (count - 1) if count > 1 else room / 2)


def _y(value: float, low: float, high: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BELOW) * (1 - (value - low) / (high - low))


def _table(rows: Sequence[Row]) -> Iterator[str]:
    if not rows:
        yield "<p>There is no record yet.</p>"
        return
    shown = rows[-SHOWN * 10 :]
    left = f" <span class=dim>{text(_of(len(shown), len(rows)))}</span>" if len(shown) < len(rows) else ""
    yield f"<h2>The records{left}</h2><div class=wide><table>"
    yield "<colgroup><col style='width:9rem'><col style='width:11rem'><col style='width:6rem'>"
    yield "<col><col style='width:6rem'><col><col style='width:26%'></colgroup>"
    yield "<tr><th>record</th><th>made (UTC)</th><th>kind</th><th>name</th><th>verdict</th><th>source</th>"
    yield "<th>conclusion</th></tr>"
    for row in reversed(shown):
        source = f"{(row.source or '-')[:12]}{'+' if (row.source or '').endswith('+') else ''}"
        cells = (short(row.digest), row.created[:16].replace("T", " "), row.kind, row.name, row.verdict or "-", source)
        told = "".join(f"<td>{text(each)}</td>" for each in cells)
        yield f"<tr>{told}<td>{text(row.conclusion or '')}</td></tr>"
    yield "</table></div>"
