"""The data manifest that a contract names (`data.dataset.manifest`). No file that the manifest lists is opened."""

from __future__ import annotations

import posixpath
from pathlib import Path

from .data_manifest import DataManifest, read_manifest
from .errors import ContractLintError
from .finding import Location
from .load import LoadedContract

MANIFEST_KEY = ("data", "dataset", "manifest")
BUILD_HELP = "`contract-lint batch manifest build DIR --output FILE` writes one; its path is relative to the contract"


def promised_manifest(loaded: LoadedContract) -> DataManifest | None:
    """The manifest, found relative to the file that names it; None where none is named.

    Raises ContractLintError where there is no such file or it is something else, and as `read_manifest`.
    """
    document = loaded.document
    node = document.node(MANIFEST_KEY)
    if node is None or not isinstance(node.value, str) or not node.value:
        return None
    shown = posixpath.normpath(posixpath.join(posixpath.dirname(document.place(MANIFEST_KEY).path), node.value))
    path = document.folder(MANIFEST_KEY) / node.value
    try:
        there = path.is_file()
    except ValueError:  # a name that no file can have
        there = False
    if not there:
        raise ContractLintError("no such file", Location(shown), BUILD_HELP)
    try:
        return read_manifest(path, shown)
    except ContractLintError as error:
        if _may_be_one(path):
            raise
        # A contract from outside may name any file: what stands in it is not shown.
        raise ContractLintError("it is no data manifest", Location(shown), BUILD_HELP) from error


def _may_be_one(path: Path) -> bool:
    """Whether a file begins as manifests do."""
    try:
        with path.open("rb") as file:
            start = file.read(1024)
    except OSError:
        return True
    return b'"schema_version"' in start and b'"root"' in start
