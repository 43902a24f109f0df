"""A contract as written: its file, the files it extends and the values it binds, merged with every origin kept."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .binding import Binding, bind
from .errors import ContractLintError, visible
from .finding import Finding, Location
from .key import Key, parse_key
from .overlay import Reader
from .yaml_nodes import Node, Source, plain


@dataclass
class Document:
    """The merged text of one contract.

    `data` is what the contract says after overlays and bindings, as dicts, lists and scalars. `problems` are the
    findings of reading; `complete` is False where a file could not be read or the text is a base that others complete,
    so an absent key proves nothing.
    `texts` has the text of every file that was read, by printed name.
    """

    root: Node
    source: Source
    problems: list[Finding]
    texts: dict[str, str]
    complete: bool
    bindings: dict[Key, Binding] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The contract's file as findings print it."""
        return self.source.name

    @cached_property
    def data(self) -> dict[str, Any]:
        return plain(self.root)

    def node(self, key: str | Key) -> Node | None:
        """The value at a key, None where there is none. Raises ValueError for a string that is not a key."""
        node: Node | None = self.root
        for part in parse_key(key) if isinstance(key, str) else key:
            node = _child(node, part)
            if node is None:
                return None
        return node

    def place(self, key: str | Key) -> Location:
        """Where the name of a key stands (of a list item: where it starts), in the file that gave the value.

        An absent key has the place of its nearest existing parent, the root that of the file's first line.
        """
        node = self.root
        for part in parse_key(key) if isinstance(key, str) else key:
            child = _child(node, part)
            if child is None:
                break
            node = child
        return node.location

    def value_place(self, key: str | Key) -> Location | None:
        """Where the value of a key starts (and, on one line, ends); None where the key is absent."""
        node = self.node(key)
        return None if node is None else node.place

    def bound_by(self, key: str | Key) -> tuple[str, ...]:
        """Evidence for a finding on a bound value: the reference and the line of the contract that has it."""
        parts = parse_key(key) if isinstance(key, str) else key
        for length in range(len(parts), 0, -1):
            binding = self.bindings.get(parts[:length])
            if binding is not None and binding.found:
                return (f"bound by {binding.reference} at {binding.place}",)
        return ()

    def folder(self, key: str | Key) -> Path:
        """The folder of the file that gave a key: paths in its value are relative to it."""
        node = self.node(key)
        return (node or self.root).source.path.parent


def _child(node: Node | None, part: str | int) -> Node | None:
    if node is None:
        return None
    if isinstance(node.value, dict):
        return node.value.get(part) if isinstance(part, str) else None
    if isinstance(node.value, list) and isinstance(part, int) and 0 <= part < len(node.value):
        return node.value[part]
    return None


def load_document(path: str | Path, root: str | Path | None = None) -> Document:
    """The document of a contract file; `root` (default: the working folder) is what printed paths are relative to.

    Raises ContractLintError where there is no such file. Whatever is wrong inside it is a finding in `problems`.
    """
    reader = Reader(Path(root) if root is not None else Path.cwd())
    source = reader.source(Path(path))
    if not os.path.isfile(source.path):
        kind = "is a folder" if os.path.isdir(source.path) else "does not exist"
        raise ContractLintError(f"{visible(source.name)} {kind}", help="name a contract file (`*.contract.yaml`)")
    merged = reader.read(source)
    bound, bindings = bind(merged, reader)
    return Document(bound, source, reader.findings, reader.texts, reader.complete, bindings)
