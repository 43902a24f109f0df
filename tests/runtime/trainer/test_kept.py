"""What the trainer leaves on disk: checkpoints that are taken up bit for bit, and observations."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contract_lint.plugins.pipeline.checkpoint import check_checkpoint

CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "contract_lint.runtime.trainer:build" } }
optimizer: { name: adamw }
checkpoint:
  layout: ocdbt
  state:
    { step: step, key: rng, tokens: tokens, schedule: schedule, cursor: data, versions: versions, with: contract }
  leaves: { state/tokens: { shape: [], dtype: int64 } }
  observations: { statistics: { every: 2, of: [params, grads] }, batches: {} }
"""


@pytest.mark.slow
def test_a_run_is_taken_up_bit_for_bit_on_any_mesh_and_by_no_other_run(
    child: Callable[..., Any], tmp_path: Path
) -> None:
    found = child("kept")
    try:
        assert (found["first"], found["losses"], found["state"], found["moved"]) == (2, True, True, True)
        assert found["observed"] and found["files"] == [
            *(f"batch-{step:08}.safetensors" for step in (1, 2, 3, 4)),
            "metrics.jsonl",
            *(f"statistics-{step:08}.safetensors" for step in (2, 4)),
        ]
        said = ("the seed was 0", "`warmup` of the schedule was 4", "`batch` of the data was 16", "`dataset` of")
        assert [text for text, start in zip(found["refused"], said, strict=True) if not text.startswith(start)] == []
        contract = tmp_path / "small.contract.yaml"
        contract.write_text(CONTRACT)
        report = check_checkpoint(found["folder"], contract=str(contract))
        # The contract says nothing of the sections that the run was made under, and it did not say its own.
        assert [finding.code for finding in report.findings] == ["CKP615"], report.findings
        config = Path(found["folder"], "observations", "config.json")
        config.write_text(json.dumps(json.loads(config.read_text()) | {"contract": None}))
        assert check_checkpoint(found["folder"], contract=str(contract)).findings == ()
    finally:
        shutil.rmtree(Path(found["folder"]).parent)
