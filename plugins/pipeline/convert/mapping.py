"""Which array gets which name: a file of rules, each with a path and what becomes of it.

    rules:
      - { from: "model/layers/*/q_proj/weight", to: "params/layers_*/wq" }
      - { from: "opt_state/**", drop: true }

`*` stands for anything within one part of a path, `**` for anything; the nth star of `to` is what the nth of `from`
stood for. The first rule that fits counts. Arrays are never transposed: `transpose: none` may be written, nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ....contracts.data_manifest import bad_name
from ....contracts.errors import ContractLintError
from ....contracts.finding import Location
from ....contracts.suggest import did_you_mean, nearest
from ....contracts.yaml_nodes import Node, Source, Unreadable, decode, read_yaml
from ....linters.cut import in_a_line

MAX_BYTES = 8 * 1024 * 1024
_STAR = re.compile(r"\*\*|\*")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class MappingRule:
    """One rule; `to` is None where what fits is left out."""

    source: str
    to: str | None
    place: Location

    def name(self, path: str) -> re.Match[str] | None:
        """Whether a path fits."""
        return _pattern(self.source).fullmatch(path)

    def turned(self) -> MappingRule:
        """The rule for the way back."""
        if self.to is None:
            raise ContractLintError(
                "a rule that drops has no way back", self.place, "give the way back a mapping of its own"
            )
        return MappingRule(self.to, self.source, self.place)


@dataclass(frozen=True, slots=True)
class Mapped:
    """Source path -> target path, in the order of the sources; and the paths that rules leave out."""

    names: Mapping[str, str]
    dropped: tuple[str, ...]


def read_mapping(path: str, *, reverse: bool = False) -> tuple[MappingRule, ...]:
    """The rules of a file, `reverse`: from `to` to `from`. Raises ContractLintError, with line and column."""
    source = Source(Path(path), Path(path).as_posix())
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ContractLintError(f"cannot be read: {error.strerror or error}", Location(source.name)) from error
    if len(data) > MAX_BYTES:
        raise ContractLintError(f"has more than {MAX_BYTES:,} bytes", Location(source.name))
    try:
        root, problems = read_yaml(decode(data, source), source)
    except Unreadable as error:
        found = error.finding
        raise ContractLintError(found.message, found.location, found.help) from error
    for problem in problems:
        raise ContractLintError(problem.message, problem.location, problem.help)
    if root is None:
        raise ContractLintError("is empty", Location(source.name), "begin with `rules:`")
    listed = _entries(root, ("rules",)).get("rules")
    if listed is None or not isinstance(listed.value, list) or not listed.value:
        raise ContractLintError("`rules` is no list of rules", (listed or root).place)
    rules = tuple(_rule(node) for node in listed.value)
    return tuple(rule.turned() for rule in rules) if reverse else rules


def mapped(
    paths: Collection[str],
    rules: tuple[MappingRule, ...] | None,
    shown: str,
    item: str = "",
    without: Iterable[str] = (),
) -> Mapped:
    """The name of every array. Without rules each keeps its own. `item`: what paths may be written without; `without`:
    what has no array, and which rules may drop all the same.

    Raises ContractLintError for arrays that no rule names, for a rule that fits none, for two arrays of one name, for a
    name below another, and for one that leads out of the folder.
    """
    names: dict[str, str] = {}
    dropped: list[str] = []
    unmapped: list[str] = []
    used: set[MappingRule] = set()
    for path in paths:
        found = next(_fits(path, rules, item), None) if rules is not None else None
        if rules is None:
            names[path] = path
        elif found is None:
            unmapped.append(path)
        else:
            rule, match = found
            used.add(rule)
            if rule.to is None:
                dropped.append(path)
            else:
                parts = iter(match.groups())
                names[path] = _STAR.sub(lambda _, parts=parts: next(parts), rule.to)
    if unmapped:
        count = f"{len(unmapped):,} array{'s' * (len(unmapped) != 1)} no rule names: "
        help = "name them, or leave them out with `{ from: PATTERN, drop: true }`"
        raise ContractLintError(count + in_a_line(unmapped, _SHOWN), Location(shown), help)
    used.update(rule for path in without for rule, _ in _fits(path, rules or (), item) if rule.to is None)
    for rule in rules or ():
        if rule not in used:
            said = f"no array of {shown} fits `{rule.source}`"
            raise ContractLintError(said, rule.place, _instead(rule, paths, item))
    _apart(names, shown)
    return Mapped(names, tuple(dropped))


def _fits(path: str, rules: tuple[MappingRule, ...], item: str) -> Iterator[tuple[MappingRule, re.Match[str]]]:
    """The rules that fit a path, or the path without the name of the one item."""
    short = path.removeprefix(item)
    for rule in rules:
        match = rule.name(path) or (rule.name(short) if short != path else None)
        if match is not None:
            yield rule, match


def _instead(rule: MappingRule, paths: Collection[str], item: str) -> str:
    """What to do about a rule that no array is left for."""
    if any(True for path in paths for _ in _fits(path, (rule,), item)):
        return "rules before it take all that it fits: put it before them"
    known = {part for path in paths for part in path.split("/")}
    near = [each if "*" in each or each in known else nearest(each, known) or each for each in rule.source.split("/")]
    meant = replace(rule, source="/".join(near))
    if any(True for path in paths for _ in _fits(path, (meant,), item)):
        return f"did you mean `{meant.source}`?"
    return "take the rule out"


def _apart(names: Mapping[str, str], shown: str) -> None:
    sources: dict[str, str] = {}
    for source, name in names.items():
        reason = bad_name(name)
        if reason is not None:
            raise ContractLintError(
                f"{source or 'the leaf with an empty name'} would be called `{name}`, which {reason}", Location(shown)
            )
        if name in sources:
            said = f"{sources[name]} and {source} would both be called {name}"
            raise ContractLintError(said, Location(shown), "give them names of their own")
        sources[name] = source
    for name in sources:
        parts = name.split("/")
        for count in range(1, len(parts)):
            above = "/".join(parts[:count])
            if above in sources:
                said = f"{above} is an array, and {name} would lie below it"
                raise ContractLintError(said, Location(shown), "give one of them another name")


def _rule(node: Node) -> MappingRule:
    entries = _entries(node, ("from", "to", "drop", "transpose"))
    source, to = _text(node, entries, "from"), entries.get("to")
    transpose, drop = entries.get("transpose"), entries.get("drop")
    if source is None:
        raise ContractLintError("has no `from`", node.place)
    if transpose is not None and transpose.value not in ("none", None):
        help = "arrays keep their order of dimensions: transpose them where they are used"
        raise ContractLintError("`transpose` may only be `none`", transpose.place, help)
    if drop is not None and drop.value is not True:
        raise ContractLintError("`drop` may only be `true`", drop.place)
    if (to is None) == (drop is None):
        raise ContractLintError("a rule has either `to` or `drop: true`", node.place)
    target = _text(node, entries, "to")
    if target is not None and _STAR.findall(target) != _STAR.findall(source):
        said = f"`{target}` has other stars than `{source}`, or in another order"
        raise ContractLintError(said, node.place, "each star of `to` is what that of `from` stands for")
    return MappingRule(source, target, node.place)


def _entries(node: Node, names: tuple[str, ...]) -> dict[str, Node]:
    if not isinstance(node.value, dict):
        raise ContractLintError(f"a mapping with {in_a_line(names, 4)} is expected here", node.place)
    for name, child in node.value.items():
        if name not in names:
            raise ContractLintError(f"unknown key `{name[:80]}`", child.location, did_you_mean(name, names))
    return node.value


def _text(node: Node, entries: Mapping[str, Node], name: str) -> str | None:
    found = entries.get(name)
    if found is None:
        return None
    if not isinstance(found.value, str) or not found.value:
        raise ContractLintError(f"`{name}` is no path", found.place)
    return found.value


def _pattern(text: str) -> re.Pattern[str]:
    parts = [re.escape(part) for part in _STAR.split(text)]
    stars = ["(.*?)" if star == "**" else "([^/]*?)" for star in _STAR.findall(text)]
    return re.compile("".join(a + b for a, b in zip(parts, [*stars, ""], strict=True)), re.DOTALL)
