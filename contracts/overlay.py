"""`extends`: a contract laid over others. Later keys win, mappings merge, lists and scalars replace."""

from __future__ import annotations

import os
from pathlib import Path

from .find import SUFFIX
from .finding import Finding, Location
from .problems import BROKEN_EXTENDS
from .yaml_nodes import MAX_BYTES, Node, Source, Unreadable, decode, read_yaml

MAX_FILES = 64
MAX_READ = MAX_BYTES + 1
BEGINS = "a contract begins with `contract: 1` at the left margin; `contract-lint init` writes one"


class Reader:
    """Reads files once, collects what is wrong with them, and merges overlays."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.abspath(root))
        self.findings: list[Finding] = []
        self.texts: dict[str, str] = {}
        self.complete = True
        self._merged: dict[Path, Node] = {}
        self._trail: list[Path] = []

    def source(self, path: Path) -> Source:
        """A file by its absolute path, named relative to the root where it lies below it, else as given."""
        absolute = Path(os.path.abspath(path))
        if absolute.is_relative_to(self.root):
            return Source(absolute, absolute.relative_to(self.root).as_posix())
        return Source(absolute, path.as_posix())

    def text(self, source: Source) -> str:
        """The text of a file. Raises Unreadable."""
        try:
            with source.path.open("rb") as file:
                data = file.read(MAX_READ)
        except OSError as error:
            raise Unreadable(Location(source.name), f"cannot be read: {error.strerror or error}") from error
        text = decode(data, source)
        self.texts[source.name] = text
        return text

    def read(self, source: Source) -> Node:
        """The merged tree of a contract and all it extends; an empty mapping where it cannot be read."""
        first_line = Location(source.name, 1, 1)
        self._trail.append(source.path)
        try:
            tree, findings = read_yaml(self.text(source), source)
            if tree is None:
                raise Unreadable(first_line, "the file is empty", BEGINS)
            if not isinstance(tree.value, dict):
                found = "a list" if isinstance(tree.value, list) else "a single value"
                raise Unreadable(tree.place, f"a contract is a mapping of sections, found {found}", BEGINS)
        except Unreadable as error:
            self.complete = False
            self.findings.append(error.finding)
            tree = Node({}, source, first_line)
        else:
            self.findings.extend(findings)
        merged = self._overlay(tree)
        self._trail.pop()
        self._merged[source.path] = merged
        return merged

    def _overlay(self, tree: Node) -> Node:
        assert isinstance(tree.value, dict)
        merged: Node | None = None
        for index, entry in enumerate(self._listed(tree.value.get("extends"))):
            base = self._base(entry, index)
            if base is not None:
                merged = base if merged is None else merge(merged, base)
        if merged is None:
            return tree
        assert isinstance(merged.value, dict)
        inherited = {name: child for name, child in merged.value.items() if name != "extends"}
        return merge(Node(inherited, merged.source, merged.place), tree)

    def _listed(self, extends: Node | None) -> list[Node]:
        if extends is None:
            return []
        if isinstance(extends.value, list):
            return extends.value
        help = f"write a list: `extends: [{extends.value}]`" if isinstance(extends.value, str) else None
        self._broken(extends, "extends", "expected a list of paths", help)
        return []

    def _broken(self, node: Node, key: str, message: str, help: str | None = None) -> None:
        self.complete = False
        found = None if isinstance(node.value, (dict, list)) else str(node.value)
        self.findings.append(
            BROKEN_EXTENDS.at(
                node.location,
                message,
                key=key,
                expected="a list of paths, relative to this file",
                found=found,
                help=help,
            )
        )

    def _base(self, entry: Node, index: int) -> Node | None:
        key = f"extends[{index}]"
        if not isinstance(entry.value, str):
            self._broken(entry, key, "expected the path of a contract")
            return None
        path = Path(entry.value)
        source = self.source(path if path.is_absolute() else entry.source.path.parent / path)
        if source.path in self._trail:
            self._broken(entry, key, f"`{entry.value}` extends this file in turn")
            return None
        if source.path in self._merged:
            return self._merged[source.path]
        if not self._may_be_read(source.path):
            wanted = f"a contract outside of the project is called `*{SUFFIX}`"
            self._broken(entry, key, f"`{entry.value}` is not read: {wanted}")
        elif not os.path.isfile(source.path):
            self._broken(entry, key, f"`{entry.value}` does not exist")
        elif len(self._merged) + len(self._trail) >= MAX_FILES:
            self._broken(entry, key, f"more than {MAX_FILES} files are extended")
        else:
            return self.read(source)
        return None

    def _may_be_read(self, path: Path) -> bool:
        """Whether a file lies below the root, links followed, or is a contract by its name: no other is opened."""
        real = Path(os.path.realpath(path))
        return real.is_relative_to(os.path.realpath(self.root)) or real.name.endswith(SUFFIX)


def merge(below: Node, above: Node) -> Node:
    """Two trees as one: where both have a mapping the keys are merged, else `above` wins. Neither is changed."""
    if not (isinstance(below.value, dict) and isinstance(above.value, dict)):
        return above
    merged = dict(below.value)
    for name, child in above.value.items():
        merged[name] = merge(merged[name], child) if name in merged else child
    return Node(merged, above.source, above.place, above.key, above.tag)
