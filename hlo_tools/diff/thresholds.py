"""Conditions a diff must not meet: `ring_bytes>+1%,peak>+2%,new-collective`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ...contracts.errors import ContractLintError
from ...contracts.suggest import nearest
from . import widened
from .change import Change
from .compare import Diff
from .totals import METRICS

_CONDITION = re.compile(r"([a-z_]+)\s*>\s*(\+?)\s*(\d{1,3}(?:,\d{3}){1,5}|\d{1,18}(?:\.\d{1,9})?)\s*([A-Za-z%]*)")
# Not one of those that reports print inside of a number: `need>16,909,320,192`.
_COMMA = re.compile(r",(?!\d)|(?<!\d),")
_UNITS = {"": 1, "B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_UNITS |= {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_GRAMMAR = "write e.g. ring_bytes>+1%, peak>+64MiB, host_calls>0 or new-collective, joined by commas"
_COLLECTIVES = ("collective", "collective-as-run")


def _grew(*kinds: str) -> Callable[[Change], bool]:
    """Of these kinds and only, or more often, in B; or there in place of something else."""
    return lambda change: change.kind in kinds and bool(change.after) and (change.before == 0 or change.adds)


WORDS: dict[str, tuple[str, Callable[[Change], bool]]] = {
    "changed": ("anything at all", lambda change: True),
    "new-collective": ("a collective more, or one of another kind or over other devices", _grew(*_COLLECTIVES)),
    "new-host-call": ("a callback, infeed, outfeed or host transfer more", _grew("host")),
    "new-copy": ("a copy or transpose more", _grew("copy", "transpose")),
    "lost-donation": (
        "an argument whose memory is no longer reused",
        lambda change: change.kind == "donation" and change.after == 0,
    ),
    "dtype": ("work in another type", lambda change: change.kind == "dtype"),
}
"""Word -> what it means, and which change meets it."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """One condition. `limit` is a fraction of A's figure (`percent`), an increase over it, or a figure of B."""

    text: str
    metric: str | None = None
    limit: Fraction = Fraction(0)
    relative: bool = False
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """A condition that is met, in words with the numbers."""

    threshold: str
    said: str


def parse_thresholds(text: str) -> list[Threshold]:
    """`ring_bytes>+1%,peak>+64MiB,new-collective`. Raises ContractLintError that names the part at fault."""
    found = []
    for part in (piece.strip() for piece in _COMMA.split(text)):
        if not part:
            raise ContractLintError(f"--threshold {_cut(text)!r}: an empty condition", help=_GRAMMAR)
        found.append(_condition(part))
    return found


def _condition(part: str) -> Threshold:
    if part in WORDS:
        return Threshold(part)
    match = _CONDITION.fullmatch(part)
    if match is None:
        word = re.match(r"[a-z_\-]*", part)
        near = nearest(word[0] if word else part, [*METRICS, *WORDS])
        hint = f"did you mean {near!r}? " if near and near != (word and word[0]) else ""
        raise ContractLintError(f"--threshold: {_cut(part)!r} is no condition", help=hint + _GRAMMAR)
    metric, plus, number, unit = match.groups()
    number = number.replace(",", "")
    if metric not in METRICS:
        near = nearest(metric, METRICS)
        known = f"did you mean {near!r}?" if near else f"figures are {', '.join(METRICS)}"
        raise ContractLintError(f"--threshold: no figure is called {metric!r}", help=known)
    if unit == "%":
        if not plus:
            raise ContractLintError(
                f"--threshold: {_cut(part)!r}: per cent of what?", help=f"write {metric}>+{number}%: more than A has"
            )
        return Threshold(part, metric, Fraction(number) / 100, relative=True, percent=True)
    if unit.upper() not in _UNITS:
        raise ContractLintError(
            f"--threshold: {_cut(part)!r}: unknown unit {unit!r}", help="units are %, KiB, MiB, GiB, TiB, K, M, G, T"
        )
    return Threshold(part, metric, Fraction(number) * _UNITS[unit.upper()], relative=bool(plus))


def broken(thresholds: list[Threshold], diff: Diff) -> list[Broken]:
    """The conditions that are met. Raises ContractLintError for a figure or a word that the programs do not tell."""
    found = []
    for threshold in thresholds:
        if threshold.metric is None:
            meets = WORDS[threshold.text][1]
            met = [change for change in diff.changes if meets(change)]
            if met:
                more = f" and {len(met) - 1} more" if len(met) > 1 else ""
                found.append(Broken(threshold.text, f"{met[0].what}{more}"))
            elif threshold.text in diff.unjudged:
                why = diff.unjudged[threshold.text]
                raise ContractLintError(f"--threshold: {threshold.text!r} cannot be judged: {why}", help=widened.HELP)
            continue
        metric = diff.metrics[threshold.metric]
        if metric.before is None or metric.after is None:
            reason = diff.notes[0] if diff.notes else "a program does not tell it"
            raise ContractLintError(f"--threshold: {threshold.text!r} cannot be judged: {reason}")
        allowed = threshold.limit
        if threshold.relative:
            allowed = metric.before * (1 + threshold.limit) if threshold.percent else metric.before + threshold.limit
        if metric.after > allowed:
            found.append(Broken(threshold.text, f"{threshold.metric} {metric.before:,} -> {metric.after:,}"))
    return found


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
