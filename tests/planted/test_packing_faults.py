"""Every planted fault of packing and shifting gives one root finding, the one that names it; the clean trainer none.

What the batch shows is judged without running anything; what only the step does, by `batch check --probe`, at two
sizes with 2 and 4 microbatches.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.plugins.pipeline.batch import check_batch
from contract_lint.plugins.pipeline.probe import probing

sys.path.insert(0, str(Path(__file__).parent))

from harness import ROOT
from packing_faults import FAULTS, PackingFault

SIZES: dict[str, dict[str, Any]] = {
    "small": {"layers": 2, "d_model": 32, "heads": 2, "kv_heads": 1, "d_ff": 64, "vocab": 64, "sequence": 32},
    "large": {"layers": 3, "d_model": 64, "heads": 4, "kv_heads": 2, "d_ff": 96, "vocab": 128, "sequence": 64},
}
ROWS = 16
CONTRACT = """\
contract: 1
name: packed
step:
  train:
    entry: mutated_trainer:build
    path: ["."]
    args: {{ preset: tiny, packed: true, batch: 16, microbatches: {count}, {sizes} }}
    donate: [state]
targets: [cpu:4]
mesh: {{ axes: {{ data: 2, fsdp: 2 }} }}
batch: {{ size: 16, axes: [data, fsdp] }}
data:
  fields:
    tokens: {{ dtype: int32 }}
    targets: {{ dtype: int32 }}
    loss_mask: {{ dtype: float32, range: [0, 1] }}
    segment_ids: {{ dtype: int32 }}
    positions: {{ dtype: int32 }}
  tokenizer: {{ vocab: {vocab} }}
  packing: {{ kind: segments, positions: segment }}
  attention: {{ scope: segment, causal: true }}
  shift: batch
"""
CASES = [pytest.param("small", 2, id="small-2"), pytest.param("large", 4, id="large-4")]


def checked(folder: Path, size: str, count: int, edits: Iterable[tuple[str, str, str]], probe: bool) -> list[Finding]:
    """The root findings on the packed batch of a trainer with these edits."""
    source = folder / "mutated_trainer"
    shutil.copytree(ROOT / "runtime" / "trainer", source, ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in edits:
        text = (source / name).read_text()
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {name}"
        (source / name).write_text(text.replace(old, new))
    chosen = SIZES[size]
    np.savez(folder / "batch.npz", **packed(source / "data.py", chosen["vocab"], chosen["sequence"]))
    contract = folder / "train.contract.yaml"
    sizes = ", ".join(f"{name}: {value}" for name, value in chosen.items())
    contract.write_text(CONTRACT.format(count=count, sizes=sizes, vocab=chosen["vocab"]))
    run = probing() if probe else None
    found = check_batch([folder / "batch.npz"], contract=contract, probe=run).findings
    return [finding for finding in found if finding.is_root and finding.status == "new"]


def packed(path: Path, vocab: int, sequence: int) -> dict[str, np.ndarray]:
    """The first batch that a copy of the trainer's data module packs."""
    spec = importlib.util.spec_from_file_location("mutated_data", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    try:
        spec.loader.exec_module(module)
        return module.Language(vocab).packed(0, ROWS, sequence)
    finally:
        del sys.modules[spec.name]


def assert_one(found: list[Finding], fault: PackingFault) -> None:
    assert [finding.code for finding in found] == [fault.code], [f"{f.code}: {f.message}" for f in found]
    assert fault.says in found[0].message


@pytest.mark.parametrize("size", SIZES)
def test_the_clean_batch_keeps_its_promise(tmp_path: Path, size: str) -> None:
    assert [finding.message for finding in checked(tmp_path, size, 2, (), probe=False)] == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if not fault.probe], ids=str)
def test_a_faulty_batch_is_one_root_finding(tmp_path: Path, fault: PackingFault, size: str) -> None:
    assert_one(checked(tmp_path, size, 2, fault.edits, probe=False), fault)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.probe], ids=str)
def test_a_batch_does_not_show_what_the_step_does_with_it(tmp_path: Path, fault: PackingFault) -> None:
    assert checked(tmp_path, "small", 2, fault.edits, probe=False) == []


@pytest.mark.slow
@pytest.mark.parametrize(("size", "count"), CASES)
def test_the_clean_step_keeps_its_promise(tmp_path: Path, size: str, count: int) -> None:
    assert [finding.message for finding in checked(tmp_path, size, count, (), probe=True)] == []


@pytest.mark.slow
@pytest.mark.parametrize(("size", "count"), CASES)
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.probe], ids=str)
def test_a_faulty_step_is_one_root_finding(tmp_path: Path, fault: PackingFault, size: str, count: int) -> None:
    assert_one(checked(tmp_path, size, count, fault.edits, probe=True), fault)
