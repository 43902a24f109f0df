"""The peak that the text alone gives, against the trace of XLA's heap simulator, on accelerators."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "planted"))

from contract_lint.hlo_tools.memory import memory
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.runtime.targets.readiness import readiness
from existence import TARGETS
from on_targets import clean

EXAMPLES = (
    *("dense_fsdp", "plain_flax", "shard_map_dp", "linen_trainstate", "equinox_optax"),
    *("accumulate", "offload", "remat"),
)
WITHIN = {"tpu": 0.05, "cuda": 0.03}
"""The largest error of the peak, as a part of it."""

IN_EVERY_RUN = {("accumulate", "cuda"), ("accumulate", "tpu")}
CASES = [
    pytest.param(example, place, marks=[] if (example, place) in IN_EVERY_RUN else [pytest.mark.slow])
    for example in EXAMPLES
    for place in ("tpu", "slices", "cuda", "hosts")
]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clean")


@pytest.mark.parametrize(("example", "place"), CASES)
def test_peak_of_a_step(shared: Path, example: str, place: str) -> None:
    platform = TARGETS[place].partition(":")[0]
    found = readiness(platform)
    if not found.ready:
        pytest.skip(f"{TARGETS[place]}: {found.missing}")
    _, capture = clean(shared, example, place)
    step = capture.steps["train"]
    assert step.optimized is not None
    traced, read = memory(step.proto), memory(None, parse_hlo(step.optimized.text))
    assert (traced.method, read.method) == ("heap-trace", "liveness")
    error = read.peak_bytes / traced.peak_bytes - 1
    print(f"{example} on {TARGETS[place]}: {read.peak_bytes:,} for {traced.peak_bytes:,} bytes ({error:+.2%})")
    assert abs(error) <= WITHIN[platform]
    assert read.argument_bytes == traced.argument_bytes
