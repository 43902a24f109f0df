"""The forecast of the reference trainer: the program's matrix products against the closed form, exactly."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from contract_lint.plugins.pipeline.capture import capture
from contract_lint.plugins.pipeline.tables import ForecastTable
from contract_lint.plugins.pipeline.verify import verify

pytest.importorskip("jax")

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "dense_fsdp" / "train.contract.yaml"
SMALL = "layers: 2, d_model: 64, heads: 4, kv_heads: 2, d_ff: 128, vocab: 256, sequence: 32"
SIGNATURE = "signatures: { tokens: [[16, 32]], targets: [[16, 32]], loss_mask: [[16, 32]] }"
GATED, PLAIN = "mlp: gated, tied: false, remat: full", "mlp: plain, tied: true, remat: none"


def forecast(folder: Path, target: str, options: str, microbatches: int = 2) -> ForecastTable:
    """What `verify` says of the trainer with these options, captured for `target`."""
    (folder / "base.contract.yaml").write_text(EXAMPLE.read_text())
    (folder / "c.contract.yaml").write_text(
        f"""contract: 1
name: variant
extends: [base.contract.yaml]
step:
  train:
    args: {{ preset: tiny, {SMALL}, {options}, microbatches: {microbatches} }}
    {SIGNATURE}
targets: ["{target}"]
model: {{ {SMALL}, {options} }}
accumulation: {{ microbatches: {microbatches} }}
"""
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        capture("c.contract.yaml", out="cap", cache=False)
        (tables,) = verify("c.contract.yaml", capture_dir="cap").tables
        shutil.rmtree("cap")
    assert tables.forecast is not None
    return tables.forecast


def multiplies_exactly_what_is_planned(found: ForecastTable) -> bool:
    done = found.devices * sum(flops for _, flops in found.matrix_flops)
    return done == (found.model_flops or 0) + (found.recomputed_flops or 0)


@pytest.mark.parametrize(("options", "microbatches"), [(GATED, 2), (PLAIN, 1)])
def test_products_are_those_of_the_closed_form(options: str, microbatches: int, tmp_path: Path) -> None:
    """Tolerance 0, loops and all: 6 N and attention for each token, and what rematerialisation repeats."""
    found = forecast(tmp_path, "cpu:8", options, microbatches)
    assert found.tokens == 16 * 32
    assert bool(found.recomputed_flops) == ("remat: full" in options)
    assert multiplies_exactly_what_is_planned(found)
    assert found.not_counted == () and found.unknown_loops == ()
    assert found.no_bound == "a cpu has no published peak" and found.resources == () and found.mfu_max is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "plugin", "resources"),
    [
        ("tpu:v5e:2x4", "libtpu", {"compute", "HBM", "ICI over fsdp", "ICI over data,fsdp"}),
        ("cuda:h100:1x8", "jax_cuda12_plugin", {"compute", "HBM", "NVLink over fsdp", "NVLink over data,fsdp"}),
    ],
)
def test_accelerators_multiply_the_same(target: str, plugin: str, resources: set[str], tmp_path: Path) -> None:
    """Convolutions on TPU, library calls and fusions on CUDA: the same number."""
    if sys.platform != "linux" or find_spec(plugin) is None:
        pytest.skip(f"{plugin} is not installed")
    found = forecast(tmp_path, target, GATED)
    assert multiplies_exactly_what_is_planned(found)
    assert resources <= {row.name for row in found.resources}
    assert found.binding is not None and found.bound_seconds is not None
    assert found.mfu_max is not None and 0 < found.mfu_max < 1
    assert found.tokens_per_second_max == pytest.approx(16 * 32 / found.bound_seconds)
    assert found.capacity_bytes is not None and found.need_bytes is not None
    assert 0 < found.need_bytes < found.capacity_bytes
