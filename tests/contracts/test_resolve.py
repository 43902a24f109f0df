"""Derived values and the formulas they come from."""

from __future__ import annotations

from pathlib import Path

from contract_lint.contracts.load import load_contract

TEXT = """\
contract: 1
name: n
config: { c: c.yaml }
step: { train: { entry: m:build } }
targets: [cpu:8]
mesh: { axes: { data: 2, fsdp: 4 } }
model: { kind: dense, layers: { from: c#layers }, d_model: 16, heads: 4, kv_heads: 2, d_ff: 32, vocab: 64, sequence: 8 }
dtypes: { compute: float32 }
accumulation: { microbatches: 2 }
batch: { size: 32, axes: [data, fsdp] }
optimizer: {}
parameters: { logical_axes: { embed: fsdp } }
"""


def rows(folder: Path, text: str) -> dict[str, tuple[object, str]]:
    (folder / "c.yaml").write_text("layers: 3\n")
    path = folder / "t.contract.yaml"
    path.write_text(text)
    return {row.key: (row.value, row.formula) for row in load_contract(path, root=folder).resolved()}


def test_values_and_formulas(tmp_path: Path) -> None:
    found = rows(tmp_path, TEXT)
    assert found["model.layers"] == (3, "c#layers (c.yaml:1:1)")
    assert found["dtypes.master"] == ("float32", "default")
    assert found["model.mlp"] == ("gated", "default")
    assert found["model.head_dim"] == (4, "d_model / heads = 16 / 4")
    assert found["batch.tokens"] == (256, "batch.size * model.sequence = 32 * 8")
    assert found["batch.microbatch"] == (16, "batch.size / accumulation.microbatches = 32 / 2")
    assert found['mesh.devices["cpu:8"]'] == (8, "data 2 * fsdp 4")
    assert found['batch.per_device["cpu:8"]'] == (4, "batch.size / (data * fsdp) = 32 / 8")
    # Per layer: wq and wo 16*16, wk and wv 16*8, three MLP matrices 16*32, two norms of 16; then embedding, head, norm.
    parameters = 3 * (2 * 256 + 2 * 128 + 3 * 512 + 2 * 16) + 2 * 64 * 16 + 16
    assert found["model.parameter_count"][0] == parameters
    # Everything is split four ways over fsdp: float32 parameters and two moments, and two int32 counters.
    assert found['memory.state_bytes["cpu:8"]'][0] == 3 * parameters * 4 // 4 + 8


def test_what_cannot_be_derived_is_left_out(tmp_path: Path) -> None:
    found = rows(tmp_path, TEXT.replace("heads: 4", "heads: 5").replace("axes: [data, fsdp] }", "axes: [dta] }"))
    assert "model.head_dim" not in found and "model.parameter_count" not in found
    assert 'memory.state_bytes["cpu:8"]' not in found and 'batch.per_device["cpu:8"]' not in found


def test_an_invalid_contract_has_none(tmp_path: Path) -> None:
    assert rows(tmp_path, TEXT.replace("contract: 1", "contract: 2")) == {}
