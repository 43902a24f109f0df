"""Whether TensorStore opens an array by its metadata, and whether we read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.linters.checkpoint.folder import Folder
from contract_lint.linters.checkpoint.zarr import NAMES, read_zarr

_BASE = {"driver": "memory", "path": "a/"}


def opened(metadata: Mapping[str, Any], version: int) -> tuple[bool, bool]:
    """By TensorStore, and by us."""
    tensorstore = pytest.importorskip("tensorstore")
    text = json.dumps(metadata).encode()
    context = tensorstore.Context()
    tensorstore.KvStore.open(_BASE, context=context).result()[NAMES[version]] = text
    driver = "zarr" if version == 2 else "zarr3"
    try:
        tensorstore.open({"driver": driver, "kvstore": _BASE}, context=context, read=True).result()
        opens = True
    except ValueError:
        opens = False
    try:
        read_zarr(Folder(Path("."), "step"), f"a/{NAMES[version]}", text, version)
    except ContractLintError:
        return opens, False
    return opens, True
