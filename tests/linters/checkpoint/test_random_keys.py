"""Random keys that lost a file or a folder: what Orbax does not restore is found, and what it restores is not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint

CHILD = Path(__file__).with_name("keys_child.py")


@pytest.mark.slow
def test_what_orbax_does_not_restore_is_found(tmp_path: Path) -> None:
    pytest.importorskip("orbax.checkpoint")
    done = subprocess.run([sys.executable, str(CHILD), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    restored: dict[str, bool] = json.loads((tmp_path / "lost.json").read_text())
    assert len(restored) > 20 and {*restored.values()} == {True, False}
    found: dict[str, bool] = {}
    for lost in restored:
        shutil.copytree(tmp_path / "keys", tmp_path / "damaged")
        gone = tmp_path / "damaged" / lost
        (shutil.rmtree if gone.is_dir() else Path.unlink)(gone)
        found[lost] = judge_checkpoint(CheckpointEvidence(read_checkpoint(tmp_path / "damaged"))) == []
        shutil.rmtree(tmp_path / "damaged")
    assert found == restored
