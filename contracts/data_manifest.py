"""A data manifest: the sha256 of every shard and tokenizer file below one folder, and of the folder as a whole.

A folder's digest is the sha256 of a line for each entry in it, sorted by name: `file` or `folder`, the entry's own
digest, its name. So one changed byte changes one file's digest and those of the folders above it, and nothing else.
Digests are worked out from the list of files; a manifest whose own digests do not follow from it is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NoReturn

from .errors import ContractLintError
from .finding import Location
from .json_nodes import read_json
from .key import format_key
from .suggest import did_you_mean
from .yaml_nodes import Node

MANIFEST_SCHEMA = 1
DEFAULT_NAME = "data.manifest.json"
MAX_FILES = 50_000
MAX_DEPTH = 64
FileRole = Literal["shard", "tokenizer"]
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file. `path` is relative to the folder, with forward slashes; `records` is None where it cannot be told."""

    path: str
    role: FileRole
    bytes: int
    sha256: str
    records: int | None = None
    place: Location | None = None

    @property
    def source(self) -> str:
        """The first folder of its path; `.` for a file that lies in none."""
        return self.path.partition("/")[0] if "/" in self.path else "."

    def as_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "role": self.role,
            "bytes": self.bytes,
            "records": self.records,
            "sha256": self.sha256,
        }


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """What its files say of the ids: how many, and which are special."""

    vocab: int | None = None
    special: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class DataManifest:
    """Files sorted by path, and what follows from them."""

    files: tuple[DataFile, ...]
    tokenizer: Tokenizer | None = None
    path: str | None = None

    @cached_property
    def root(self) -> str:
        """The digest of everything."""
        return _folder_digest([(entry.path.split("/"), entry.sha256) for entry in self.files])

    @cached_property
    def tokenizer_digest(self) -> str | None:
        """The digest of the tokenizer's files alone; None where there are none."""
        parts = [(entry.path.split("/"), entry.sha256) for entry in self.files if entry.role == "tokenizer"]
        return _folder_digest(parts) if parts else None

    @cached_property
    def sources(self) -> dict[str, tuple[DataFile, ...]]:
        """The shards of each source, by name."""
        found: dict[str, list[DataFile]] = {}
        for entry in self.files:
            if entry.role == "shard":
                found.setdefault(entry.source, []).append(entry)
        return {name: tuple(entries) for name, entries in sorted(found.items())}

    def source_digest(self, name: str) -> str:
        """The digest of the shards of one source."""
        return _folder_digest([(entry.path.split("/"), entry.sha256) for entry in self.sources[name]])

    def as_json(self) -> dict[str, Any]:
        tokenizer = None
        if self.tokenizer_digest is not None:
            known = self.tokenizer or Tokenizer()
            tokenizer = {"sha256": self.tokenizer_digest, "vocab": known.vocab, "special": dict(known.special)}
        return {
            "schema_version": MANIFEST_SCHEMA,
            "root": self.root,
            "sources": {
                name: {
                    "sha256": self.source_digest(name),
                    "files": len(entries),
                    "bytes": sum(entry.bytes for entry in entries),
                    "records": total_records(entries),
                }
                for name, entries in self.sources.items()
            },
            "tokenizer": tokenizer,
            "files": [entry.as_json() for entry in self.files],
        }

    def as_text(self) -> str:
        """The file: one line for each entry, so that a review reads which shard changed."""
        data = self.as_json()
        head = {name: value for name, value in data.items() if name != "files"}
        lines = ",\n".join("    " + json.dumps(entry) for entry in data["files"])
        files = f"[\n{lines}\n  ]" if lines else "[]"
        return json.dumps(head, indent=2).removesuffix("\n}") + f',\n  "files": {files}\n}}\n'


def total_records(entries: Iterable[DataFile]) -> int | None:
    """Records of some files; None where one does not tell."""
    counts = [entry.records for entry in entries]
    return None if None in counts else sum(count for count in counts if count is not None)


def _folder_digest(entries: list[tuple[list[str], str]]) -> str:
    lines: list[tuple[str, str, str]] = []
    below: dict[str, list[tuple[list[str], str]]] = {}
    for parts, digest in entries:
        if len(parts) == 1:
            lines.append((parts[0], "file", digest))
        else:
            below.setdefault(parts[0], []).append((parts[1:], digest))
    lines += [(name, "folder", _folder_digest(inner)) for name, inner in below.items()]
    text = "".join(f"{kind} {digest} {name}\n" for name, kind, digest in sorted(lines))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def bad_name(path: str) -> str | None:
    """Why a path may not stand in a manifest; None where it may."""
    if not path:
        return "is empty"
    if path.startswith(("/", "~")) or _DRIVE.match(path):
        return "is not relative to the folder"
    if "\\" in path or not path.isprintable():
        return "holds a backslash or a character that cannot be printed"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "leads out of the folder or round about (`..`, `.` or an empty part)"
    return f"lies deeper than {MAX_DEPTH} folders" if len(parts) > MAX_DEPTH else None


def read_manifest(path: str | Path, shown: str | None = None) -> DataManifest:
    """The manifest in a file. No file that it names is opened.

    Raises ContractLintError, with line and column, for what is no manifest, for a name that leads out of the folder,
    for one that stands twice, and where a digest does not follow from the files.
    """
    root = read_json(path, shown)
    reader = _Reader(root)
    if reader.whole(root, "schema_version") != MANIFEST_SCHEMA:
        reader.fail(root, "schema_version", f"is not {MANIFEST_SCHEMA}, the version that is known here")
    reader.only(root, ("schema_version", "root", "sources", "tokenizer", "files"))
    listed = reader.child(root, "files").value
    if not isinstance(listed, list):
        reader.fail(root, "files", "is no list")
    if len(listed) > MAX_FILES:
        reader.fail(root, "files", f"lists more than {MAX_FILES:,} files")
    files = [_file(reader, node) for node in listed]
    seen: dict[str, DataFile] = {}
    for entry in files:
        if entry.path in seen:
            first = seen[entry.path].place
            raise ContractLintError(
                f"`{entry.path}` is already listed in line {first.line if first else 0}", entry.place
            )
        seen[entry.path] = entry
    for entry in files:
        parts = entry.path.split("/")
        above = next((up for n in range(1, len(parts)) if (up := "/".join(parts[:n])) in seen), None)
        if above is not None:
            raise ContractLintError(f"`{above}` is a file, and `{entry.path}` lies below it", entry.place)
    manifest = DataManifest(
        tuple(sorted(files, key=lambda entry: entry.path)),
        _tokenizer(reader, reader.child(root, "tokenizer")),
        root.source.name,
    )
    _consistent(reader, root, manifest)
    return manifest


def _file(reader: _Reader, node: Node) -> DataFile:
    reader.only(node, ("path", "role", "bytes", "records", "sha256"))
    path, role = reader.text(node, "path"), reader.text(node, "role")
    reason = bad_name(path)
    if reason is not None:
        reader.fail(node, "path", f"`{path[:120]}` {reason}")
    if role not in ("shard", "tokenizer"):
        reader.fail(node, "role", f"is `{role[:40]}`, and must be `shard` or `tokenizer`")
    digest = reader.text(node, "sha256")
    if not _DIGEST.fullmatch(digest):
        reader.fail(node, "sha256", "is not `sha256:` and 64 hexadecimal digits")
    records = None if reader.child(node, "records").value is None else reader.whole(node, "records")
    place = reader.child(node, "path").place
    return DataFile(path, role, reader.whole(node, "bytes"), digest, records, place)


def _tokenizer(reader: _Reader, node: Node) -> Tokenizer | None:
    if node.value is None:
        return None
    reader.only(node, ("sha256", "vocab", "special"))
    vocab = None if reader.child(node, "vocab").value is None else reader.whole(node, "vocab")
    special = reader.child(node, "special")
    names = list(reader.mapping(special))
    return Tokenizer(vocab, {name: reader.whole(special, name) for name in names})


def _consistent(reader: _Reader, root: Node, manifest: DataManifest) -> None:
    """Raises where the manifest says another digest or count than its own list of files gives."""
    wanted = manifest.as_json()
    for name in ("root", "sources", "tokenizer"):
        _same(reader, root, name, wanted[name])


def _same(reader: _Reader, holder: Node, name: str, wanted: Any) -> None:
    node = reader.child(holder, name)
    if isinstance(wanted, dict) and isinstance(node.value, dict):
        reader.only(node, wanted)
        for each, value in wanted.items():
            _same(reader, node, each, value)
    elif type(node.value) is not type(wanted) or node.value != wanted:
        said = f"is {str(node.value)[:90]}, and from its files follows {str(wanted)[:90]}"
        reader.fail(holder, name, f"{said}: it was edited or cut")


class _Reader:
    """Typed access to JSON nodes; whatever is not as it should be raises ContractLintError with its place."""

    def __init__(self, root: Node) -> None:
        self.name = root.source.name

    def mapping(self, node: Node) -> dict[str, Node]:
        if not isinstance(node.value, dict):
            raise ContractLintError("a mapping is expected here: is this a data manifest?", node.location)
        return node.value

    def child(self, node: Node, name: str) -> Node:
        found = self.mapping(node).get(name)
        if found is None:
            help = "`contract-lint batch manifest build DIR` writes one"
            raise ContractLintError(f"has no key `{format_key((name,))}`", node.place, help)
        return found

    def text(self, node: Node, name: str) -> str:
        value = self.child(node, name).value
        return value if isinstance(value, str) else self.fail(node, name, "is no text")

    def whole(self, node: Node, name: str) -> int:
        value = self.child(node, name).value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63:
            return value
        self.fail(node, name, "is no whole number of at least 0")

    def only(self, node: Node, names: Iterable[str]) -> None:
        for name, child in self.mapping(node).items():
            if name not in names:
                raise ContractLintError(f"unknown key `{name[:80]}`", child.location, did_you_mean(name, names))

    def fail(self, node: Node, name: str, said: str) -> NoReturn:
        raise ContractLintError(f"`{name[:80]}` {said}", self.mapping(node)[name].place)
