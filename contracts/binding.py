"""`config`: values of the contract that come from the project's own YAML, `{from: "base#model.num_layers"}`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from .finding import Location
from .key import Key, format_key
from .overlay import Reader
from .problems import BROKEN_CONFIG, UNRESOLVED_BINDING
from .suggest import did_you_mean
from .yaml_nodes import MAX_NODES, Node, Unreadable, read_yaml

UNBOUND_SECTIONS = ("config", "extends")


@dataclass(frozen=True, slots=True)
class Binding:
    """One bound value: the reference as written, where the contract names it, and whether it was found."""

    reference: str
    place: Location
    found: bool


def bind(root: Node, reader: Reader) -> tuple[Node, dict[Key, Binding]]:
    """The tree with every `{from: ...}` replaced by what it names, and the bindings by key.

    What cannot be found stays as it is and is a finding of the reader. The tree given is not changed.
    """
    binder = _Binder(_configs(root, reader), reader)
    assert isinstance(root.value, dict)
    sections = {
        name: child if name in UNBOUND_SECTIONS else binder.bind(child, (name,)) for name, child in root.value.items()
    }
    return Node(sections, root.source, root.place, root.key, root.tag), binder.bindings


def _configs(root: Node, reader: Reader) -> dict[str, Node | None]:
    """The tree of each configuration file by its alias; None for one that cannot be read (a finding)."""
    assert isinstance(root.value, dict)
    section = root.value.get("config")
    configs: dict[str, Node | None] = {}
    for alias, entry in section.value.items() if section is not None and isinstance(section.value, dict) else ():
        configs[alias] = None
        if not isinstance(entry.value, str):
            continue
        source = reader.source(entry.source.path.parent / Path(entry.value))
        key = format_key(("config", alias))
        if not os.path.isfile(source.path):
            reader.findings.append(
                BROKEN_CONFIG.at(
                    entry.location,
                    f"configuration file `{entry.value}` does not exist",
                    key=key,
                    found=entry.value,
                    help="paths are relative to the file that names them",
                )
            )
            continue
        try:
            tree, _ = read_yaml(reader.text(source), source, strict=False)
        except Unreadable as error:
            reader.findings.append(
                BROKEN_CONFIG.at(
                    entry.location,
                    f"configuration file `{entry.value}` cannot be read: {error.finding.message}",
                    key=key,
                    found=str(error.finding.location),
                    help=error.finding.help,
                )
            )
            continue
        configs[alias] = tree if tree is not None else Node({}, source, Location(source.name, 1, 1))
    return configs


class _Binder:
    def __init__(self, configs: dict[str, Node | None], reader: Reader) -> None:
        self.configs = configs
        self.reader = reader
        self.bindings: dict[Key, Binding] = {}
        self.values = 0

    def bind(self, node: Node, key: Key) -> Node:
        """One subtree with its bindings replaced; recursion is bounded by the depth a tree can have."""
        if isinstance(node.value, list):
            items = [self.bind(child, (*key, index)) for index, child in enumerate(node.value)]
            return Node(items, node.source, node.place, node.key, node.tag)
        if not isinstance(node.value, dict):
            return node
        reference = node.value["from"].value if set(node.value) == {"from"} else None
        if isinstance(reference, str):
            return self._replace(node, reference, key)
        children = {name: self.bind(child, (*key, name)) for name, child in node.value.items()}
        return Node(children, node.source, node.place, node.key, node.tag)

    def _replace(self, node: Node, reference: str, key: Key) -> Node:
        self.bindings[key] = Binding(reference, node.location, found=False)
        alias, _, dotted = reference.partition("#")
        problem, help_line = "", None
        if not alias or not dotted:
            problem = "expected `alias#key.of.the.file`"
        elif alias not in self.configs:
            problem, help_line = f"`{alias}` is not in `config`", did_you_mean(alias, self.configs)
        else:
            tree = self.configs[alias]
            if tree is None:
                return node
            found, missing, siblings = _look_up(tree, dotted)
            if found is None:
                problem = f"{tree.source.name} has no key `{missing}`"
                help_line = did_you_mean(missing.rpartition(".")[2], siblings)
            elif found.tag is not None:
                problem = f"the value of `{dotted}` in {tree.source.name} has a tag"
            elif self.values + found.size > MAX_NODES:
                problem = f"more than {MAX_NODES:,} values are bound"
            else:
                self.values += found.size
                self.bindings[key] = Binding(reference, node.location, found=True)
                return found
        self.reader.findings.append(
            UNRESOLVED_BINDING.at(node.location, problem, key=format_key(key), found=reference, help=help_line)
        )
        return node


def _look_up(tree: Node, dotted: str) -> tuple[Node | None, str, list[str]]:
    """The value of a dotted key; else the part of it that is missing and the names beside it.

    A name that itself has dots is found too: at each level the longest name that fits is taken.
    """
    parts = dotted.split(".")
    node, done = tree, 0
    while done < len(parts):
        taken = 0
        if isinstance(node.value, dict):
            longest = max((name.count(".") + 1 for name in node.value), default=1)
            for end in range(min(len(parts), done + longest), done, -1):
                child = node.value.get(".".join(parts[done:end]))
                if child is not None:
                    node, taken = child, end - done
                    break
        elif (
            isinstance(node.value, list)
            and re.fullmatch("[0-9]{1,6}", parts[done])
            and int(parts[done]) < len(node.value)
        ):
            node, taken = node.value[int(parts[done])], 1
        if not taken:
            names = list(node.value) if isinstance(node.value, dict) else []
            return None, ".".join(parts[: done + 1]), names
        done += taken
    return node, "", []
