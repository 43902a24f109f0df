"""A program against itself under other names and in another order: nothing changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.diff import Side, compare
from contract_lint.hlo_tools.memory import MemoryLedger, memory
from contract_lint.hlo_tools.module import HloModule, parse_hlo

from .shuffled import shuffled

CORPUS = os.environ.get("CONTRACT_LINT_CORPUS")
FOLDER = Path(CORPUS or ".") / "corpus"
TEXTS = sorted([*FOLDER.glob("hlo/*.hlo"), *FOLDER.glob("compiled/*.hlo.txt.gz")]) if CORPUS else []
LARGE = {".hlo": 300_000, ".gz": 30_000}
"""Bytes from which on a file takes seconds."""


def cases() -> list:
    return [
        pytest.param(
            path,
            id=path.name.split(".hlo")[0],
            marks=[pytest.mark.slow] if path.stat().st_size > LARGE[path.suffix] else [],
        )
        for path in TEXTS
    ]


def known_memory(module: HloModule) -> MemoryLedger | None:
    try:
        return memory(None, module)
    except ContractLintError:
        return None


@pytest.mark.skipif(not CORPUS, reason="CONTRACT_LINT_CORPUS does not name the shared corpus")
@pytest.mark.parametrize("path", cases())
def test_a_program_is_itself(path: Path) -> None:
    try:
        module = parse_hlo(path.read_bytes())
        compare(Side("a", module), Side("b", module))
        text = shuffled(module, seed=7)
    except ContractLintError as error:
        pytest.skip(f"cannot be read: {error}")
    again = parse_hlo(text)
    found = compare(Side("a", module, memory=known_memory(module)), Side("b", again, memory=known_memory(again)))
    assert found.same, found.changes
    assert found.verdict == "same"
    assert found.changes == []
