"""Where a change comes from: the traced program, the lowering, or the compiler; told by comparing each stage's text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Where = Literal["in your code", "in the lowering or the versions", "in the compiler", "nowhere"]

_LOCATION = re.compile(r"\s*loc\((?:#?loc\d*|[^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)|^#loc.*$", re.MULTILINE)
_MLIR_NAME = re.compile(r"%[A-Za-z_]*\d*(?:#\d+)?(?::\d+)?|@[A-Za-z_][\w.$-]*")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_PLACE = re.compile(r"(?:/[^\s\"':;,()]*)?/[^\s\"':;,()]+\.py:\d+(?::\d+)?|\bat [^\s\"':;,()]+\.py:\d+")
# What stands after `= ` is a primitive, however short.
_JAXPR_NAME = re.compile(r"(?<![\w.=\"'/])(?<!= )[a-z]{1,3}_?(?=[\s:,;)\]]|$)")
_DIRECTIVE = re.compile(r"name=\S+|source_info=\S+")
_OPERATION = re.compile(r"(?:stablehlo|mhlo|chlo|sdy|func)\.[a-z_]+")
_PRIMITIVE = re.compile(r"=\s+([a-z_][a-z0-9_]*)")
_NAMED = 8
_LONGEST_LINE = 2_000


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: the texts are equal apart from names and places, or these operations are more (+) or fewer (-)."""

    name: str
    equal: bool
    differences: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Placement:
    """The first stage that differs says where the change was made; `made_by` lists what else differs between captures:
    versions, target, effort, flags."""

    where: Where
    stages: list[Stage]
    made_by: list[str]

    @property
    def sentence(self) -> str:
        """`in your code: the traced program differs (+1 all_gather)`; empty where nothing differs."""
        first = next((stage for stage in self.stages if not stage.equal), None)
        if first is None:
            return "" if self.where == "nowhere" else f"{self.where}: traced and lowered programs are equal"
        what = f" ({', '.join(first.differences[:_NAMED])})" if first.differences else ""
        return f"{self.where}: the {first.name} differs{what}"

    def as_json(self) -> dict[str, Any]:
        return {
            "where": self.where,
            "stages": [{"stage": s.name, "equal": s.equal, "differences": s.differences} for s in self.stages],
            "made_by": self.made_by,
        }


def placed(
    jaxprs: tuple[str | None, str | None],
    lowered: tuple[str | None, str | None],
    same_program: bool,
    made_by: Iterable[str],
) -> Placement | None:
    """The placement of the difference between two captures; None where a stage is missing on one side."""
    stages = []
    for name, texts, cleaned, names, word in (
        ("traced program", jaxprs, _jaxpr_lines, _JAXPR_NAME, _PRIMITIVE),
        ("lowered program", lowered, _stablehlo_lines, _MLIR_NAME, _OPERATION),
    ):
        a, b = texts
        if a is None or b is None:
            return None
        before, after = list(cleaned(a)), list(cleaned(b))
        if _numbered(before, names) == _numbered(after, names):
            stages.append(Stage(name, True))
        else:
            gone, come = (Counter(names.sub("_", line) for line in lines) for lines in (before, after))
            stages.append(Stage(name, False, _differences(gone, come, word)))
    where: Where = "nowhere" if same_program else "in the compiler"
    if not stages[0].equal:
        where = "in your code"
    elif not stages[1].equal:
        where = "in the lowering or the versions"
    return Placement(where, stages, list(made_by))


def _differences(before: Counter[str], after: Counter[str], word: re.Pattern[str]) -> list[str]:
    """`+1 all_gather`, `-2 mul`: operations by name; those whose number stayed are counted as changed."""
    gone, come = Counter[str](), Counter[str]()
    for found, lines in ((gone, before - after), (come, after - before)):
        for line, count in lines.items():
            match = word.search(line)
            if match is not None:
                found[match[1] if word.groups else match[0]] += count
    said = []
    for name in dict.fromkeys((*come, *gone)):
        change = come[name] - gone[name]
        if change:
            said.append((abs(change), f"{change:+d} {name}"))
    both = sum(min(come[name], gone[name]) for name in come)
    ranked = [text for _, text in sorted(said, key=lambda item: -item[0])]
    return [*ranked[:_NAMED], *([f"{both} changed"] if both else [])]


def _numbered(lines: list[str], names: re.Pattern[str]) -> list[str]:
    """The lines with every name replaced by a number, in the order in which the names appear."""
    numbers: dict[str, str] = {}
    return [names.sub(lambda name: numbers.setdefault(name[0], f"_{len(numbers)}"), line) for line in lines]


def _stablehlo_lines(text: str) -> Iterable[str]:
    """Operations without locations."""
    for line in text.splitlines():
        kept = "" if line.startswith("#loc") else _LOCATION.sub("", line[:_LONGEST_LINE]).strip()
        if kept:
            yield kept


def _jaxpr_lines(text: str) -> Iterable[str]:
    """Equations without places and addresses."""
    for line in text.splitlines():
        kept = _ADDRESS.sub("0x", _PLACE.sub("", _DIRECTIVE.sub("", line[:_LONGEST_LINE]))).strip()
        if kept:
            yield " ".join(kept.split())
