"""Batches as arrays, and what the rules say of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.load import load_contract
from contract_lint.contracts.model import DataSection
from contract_lint.contracts.probe import ProbeFacts
from contract_lint.linters.batch.batch import Batch
from contract_lint.linters.batch.evidence import BatchEvidence
from contract_lint.linters.batch.judge import judge_batch

HEAD = "contract: 1\nname: batches\nstep: { train: { entry: my_pkg.train:build } }\n"
Judge = Callable[..., list[Finding]]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """`judge("data: {...}", tokens=..., ...)`: the findings on a batch under a contract of these sections,
    and with what a step did with it (`probe`)."""

    def judged(contract: str = "", probe: ProbeFacts | None = None, **arrays: Any) -> list[Finding]:
        loaded, data = None, DataSection()
        if contract:
            path = tmp_path / "batches.contract.yaml"
            path.write_text(HEAD + contract)
            loaded = load_contract(path, root=tmp_path)
            assert loaded.contract is not None, loaded.findings
            data = loaded.contract.data or data
        batch = Batch("batch.npz", {name: np.asarray(array) for name, array in arrays.items()}, data)
        return judge_batch(BatchEvidence(batch, loaded, probe))

    return judged
