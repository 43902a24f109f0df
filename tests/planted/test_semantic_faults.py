"""Every planted fault of meaning gives one root finding, the one that names it; the clean trainer gives none.

Two sizes and 2 and 4 microbatches; whatever is planted changes no signature, so that the contract stays the trainer's.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.load import load_contract
from contract_lint.contracts.semantics import SemanticsFacts
from contract_lint.hlo_tools.capture import read_capture
from contract_lint.plugins.pipeline.judged import judged
from contract_lint.runtime.contract import capture_contract

sys.path.insert(0, str(Path(__file__).parent))

from harness import ROOT
from semantic_faults import FAULTS, SemanticFault

SIZES: dict[str, dict[str, Any]] = {
    "small": {"layers": 2, "d_model": 32, "heads": 2, "kv_heads": 1, "d_ff": 64, "vocab": 64, "sequence": 16},
    "large": {"layers": 3, "d_model": 64, "heads": 4, "kv_heads": 2, "d_ff": 96, "vocab": 128, "sequence": 32},
}
CONTRACT = """\
contract: 1
name: meaning
step:
  train:
    entry: mutated_trainer:build
    path: ["."]
    args: {{ preset: tiny, batch: 16, microbatches: {count}, z_loss: 0.01, dropout: 0.2, {sizes} }}
    reference_args: {{ compute: float32, dropout: 0.0 }}
    donate: [state]
targets: [cpu:4]
mesh: {{ axes: {{ data: 2, fsdp: 2 }} }}
accumulation: {{ microbatches: {count}, arg: microbatches, dtype: float32, combine: divide_then_sum }}
objective:
  terms:
    - {{ name: cross_entropy, weight: 1.0, normaliser: global_valid_tokens, metric: token_mean }}
    - {{ name: z_loss, kind: z_loss, weight: 0.01, normaliser: global_valid_tokens, metric: none }}
optimizer:
  name: adamw
  chain:
    - {{ kind: reduce }}
    - {{ kind: clip_by_global_norm, max_norm: 1.0, arg: clip }}
    - {{ kind: scale_by_adam, b1: 0.9, b2: 0.95 }}
    - {{ kind: add_decayed_weights, rate: 0.01, skip: ["scale"] }}
    - {{ kind: scale_by_learning_rate, rate: 3.0e-3 }}
rng: {{ root: {{ seed: 0, arg: seed }}, derivation: fold_in, streams: {{ dropout: [step, microbatch, layer] }} }}
metrics:
  loss: {{ sum: objective, denominator: global_valid_tokens }}
"""
CASES = [pytest.param(size, count, id=f"{size}-{count}") for size in SIZES for count in (2, 4)]


def probed(folder: Path, size: str, count: int, fault: SemanticFault | None) -> tuple[list[Finding], SemanticsFacts]:
    """The root findings on meaning, and what they rest on."""
    source = folder / "mutated_trainer"
    shutil.copytree(ROOT / "runtime" / "trainer", source, ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in fault.edits if fault is not None else ():
        text = (source / name).read_text()
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {name}"
        (source / name).write_text(text.replace(old, new))
    contract = folder / "train.contract.yaml"
    sizes = ", ".join(f"{name}: {value}" for name, value in SIZES[size].items())
    contract.write_text(CONTRACT.format(count=count, sizes=sizes))
    loaded = load_contract(contract, root=folder)
    capture = read_capture(capture_contract(loaded, "cpu:4", semantics=True, cache_dir=folder / "kept"))
    facts = capture.steps["train"].semantics
    assert facts is not None
    found = judged(loaded, [capture], verb="verify", semantics=True).findings
    return [f for f in found if f.is_root and f.status == "new" and f.severity == "error"], facts


@pytest.mark.slow
@pytest.mark.parametrize(("size", "count"), CASES)
def test_the_clean_trainer_keeps_its_promise(tmp_path: Path, size: str, count: int) -> None:
    found, facts = probed(tmp_path, size, count, None)
    assert [finding.message for finding in found] == []
    assert facts.precision == "float64" and [each.microbatches for each in facts.accumulations] == [1, 2, 4, 8]
    assert facts.update is not None and facts.draws is not None and facts.draws.random


@pytest.mark.slow
@pytest.mark.parametrize(("size", "count"), CASES)
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_one_root_finding_that_names_it(tmp_path: Path, fault: SemanticFault, size: str, count: int) -> None:
    found, facts = probed(tmp_path, size, count, fault)
    assert [finding.code for finding in found] == [fault.code], [f"{f.code}: {f.message}" for f in found]
    (finding,) = found
    assert fault.says in finding.message
    assert finding.key is not None and finding.key.startswith(fault.key)
    assert finding.location is not None and finding.location.line is not None
    if fault.equal_loss:
        measured = next(each for each in facts.accumulations if each.microbatches == count)
        terms, tokens = facts.terms, facts.sizes.tokens
        right = (terms["cross_entropy"].sum + 0.01 * terms["z_loss"].sum) / tokens
        assert f"{measured.loss:.4e}" == f"{right:.4e}"


def test_twenty_faults_and_most_of_them_leave_the_loss_alone() -> None:
    assert len(FAULTS) >= 20
    assert sum(fault.equal_loss for fault in FAULTS) >= 5
