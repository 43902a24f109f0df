"""Keys of an OCDBT database and where their values lie, from its manifest and B+tree nodes; values are not read.

https://google.github.io/tensorstore/kvstore/ocdbt/index.html; TensorStore decodes the nodes, one at a time. What a node
points to is compared with the files that were found before it is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from .facts import Hole
from .folder import MAX_METADATA, Folder
from .metadata import quoted
from .stored import Extent

MANIFEST = "manifest.ocdbt"
_NEEDS = "pip install 'jax-contract-lint[data]'"
MAX_HEIGHT = 32


def read_ocdbt(folder: Folder, below: str, files: Mapping[str, int]) -> tuple[dict[str, Extent], tuple[Hole, ...]]:
    """Key -> where its value lies, and what is cut or damaged of the index. `below`: the folder of the manifest.

    Raises ContractLintError for an index that leads out of the folder or back to itself, one of a kind that is not
    read, and where TensorStore is missing.
    """
    start = f"{below}/" if below else ""
    manifest = f"{start}{MANIFEST}"
    if files[manifest] > MAX_METADATA:
        raise folder.refused(manifest, "is too large for a manifest")
    tree = _Tree(folder, below, manifest, files)
    dumped = tree.dumped(None)
    if dumped is None:
        return {}, tuple(tree.holes)
    versions = dumped.get("versions")
    if not versions:
        raise folder.refused(
            manifest, "names no version", "numbered manifests are not read; save with Orbax's defaults"
        )
    root = versions[-1].get("root", {})
    if root.get("statistics", {}).get("num_keys"):
        tree.node(root["location"], b"", 0)
    return tree.found, tuple(tree.holes)


class _Tree:
    def __init__(self, folder: Folder, below: str, manifest: str, files: Mapping[str, int]) -> None:
        self.folder, self.start, self.manifest, self.files = folder, f"{below}/" if below else "", manifest, files
        self.found: dict[str, Extent] = {}
        self.holes: list[Hole] = []
        self._seen: set[str] = set()
        try:
            import tensorstore
        except ImportError as error:
            raise ContractLintError("the package tensorstore is missing", Location(folder.shown), _NEEDS) from error
        self._tensorstore = tensorstore
        path = f"{(folder.path / below).resolve()}/"
        self._base = tensorstore.KvStore.open({"driver": "file", "path": path}).result()

    def dumped(self, node: str | None) -> dict[str, Any] | None:
        """The manifest, or a node; None where it cannot be decoded, which is a hole."""
        try:
            return self._tensorstore.ocdbt.dump(self._base, node).result()
        except (ValueError, KeyError, OSError, RuntimeError, NotImplementedError):
            where = self.manifest if node is None else self._extent(node).file
            what = (
                "the manifest of its index cannot be decoded"
                if node is None
                else "a node of its index cannot be decoded"
            )
            self.holes.append(Hole("damaged", "", f"{what}: {where}", where))
            return None

    def node(self, location: str, prefix: bytes, height: int) -> None:
        """Every key below one node."""
        extent = self._extent(location)
        if location in self._seen or height > MAX_HEIGHT:
            raise self.folder.refused(extent.file, "the index leads back to itself", "save the step again")
        self._seen.add(location)
        missing = extent.missing(self.files)
        if extent.length > MAX_METADATA:
            raise self.folder.refused(extent.file, f"holds a node of {extent.length:,} B: no node is that large")
        if missing is not None:
            self.holes.append(Hole("cut", "", f"a part of the index is gone: {missing}", extent.file))
            return
        dumped = self.dumped(location)
        for entry in dumped["entries"] if dumped is not None else ():
            key = prefix + entry["key"]
            if "location" in entry:
                # Below, keys are written without what all of them begin with.
                self.node(entry["location"], prefix + entry["subtree_common_prefix"], height + 1)
            elif "inline_value" in entry:
                value = entry["inline_value"]
                self.found[_text(key)] = Extent("", 0, len(value), value)
            else:
                self.found[_text(key)] = self._extent(entry["indirect_value"])

    def _extent(self, location: str) -> Extent:
        """`value:ocdbt.process_0/:d/3b54...:0:928`: folder and file, percent-encoded, offset, length."""
        try:
            _, base, file, offset, length = location.split(":")
            path = unquote(base) + unquote(file)
            extent = Extent(self.start + path, int(offset), int(length))
        except ValueError as error:
            raise self.folder.refused(self.manifest, "the index holds a place that cannot be read") from error
        if path.startswith("/") or ".." in path.split("/"):
            raise self.folder.refused(self.manifest, f"the index leads out of the checkpoint: {quoted(path)}")
        return extent


def _text(key: bytes) -> str:
    return key.decode("utf-8", "backslashreplace")
