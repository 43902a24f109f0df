"""What a resume needs and a saved step does not hold, in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from contract_lint.contracts.load import load_contract
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.read import read_checkpoint
from contract_lint.linters.checkpoint.warm import missing_for_resume
from safetensors.numpy import save_file

CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "m:build" } }
model: { kind: listed, parameters: { w: [4], b: [2] } }
optimizer: { name: adamw }
checkpoint: { parameters: params, state: { random key: rng, the step: step } }
"""


def test_what_is_promised_and_not_saved_is_named(tmp_path: Path) -> None:
    saved = {f"{at}.w": np.zeros(4, np.float32) for at in ("params", "opt.mu", "opt.nu")}
    saved |= {f"{at}.b": np.zeros(2, np.float32) for at in ("params", "opt.mu")} | {"step": np.int32(1).reshape(1)}
    save_file(saved, tmp_path / "a.safetensors")
    (tmp_path / "contract.yaml").write_text(CONTRACT)
    evidence = CheckpointEvidence(
        read_checkpoint(tmp_path / "a.safetensors"), load_contract(tmp_path / "contract.yaml")
    )
    slot = "optimizer slot nu (1 of 2 parameters)"
    assert missing_for_resume(evidence) == ["random key", slot]
    # Whoever saved in the step's stead did not know the contract's names.
    assert missing_for_resume(evidence, state=False) == [slot]
