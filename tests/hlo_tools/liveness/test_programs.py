"""The peak from text alone against arguments and the trace of XLA's heap simulator, of programs compiled with dumps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.hlo_tools.memory import memory
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.proto import parse_proto
from contract_lint.runtime.targets.readiness import readiness

CHILD = Path(__file__).parent / "programs_child.py"
WITHIN = {"cpu": 0.02, "tpu": 0.05, "cuda": 0.03}
"""The largest error of the peak, as a part of it."""
USED = ("sort_pairs", "ranks", "table_step", "binned", "chosen", "patched", "rotated", "spectrum")
"""The rules of liveness were looked at with these. With the following they were not."""
UNSEEN = ("split_step", "accumulated", "beam", "top_rows", "means", "staged", "nested", "median")
SLOW_TO_COMPILE = {("tpu", "sort_pairs"), ("tpu", "spectrum"), ("tpu", "chosen")}
IN_EVERY_RUN = ("sort_pairs", "ranks", "binned", "split_step", "top_rows", "staged")
CASES = [
    ("cpu", IN_EVERY_RUN),
    *(pytest.param(each, (*USED, *UNSEEN), marks=pytest.mark.slow) for each in ("cpu", "cuda", "tpu")),
]


@pytest.mark.parametrize(("platform", "programs"), CASES)
def test_the_peak_from_text_is_that_of_the_heap_simulator(
    platform: str, programs: tuple[str, ...], tmp_path: Path
) -> None:
    found = readiness(platform)
    if not found.ready:
        pytest.skip(f"{platform}: {found.missing}")
    names = [name for name in programs if (platform, name) not in SLOW_TO_COMPILE]
    command = [sys.executable, str(CHILD), platform, str(tmp_path), *names]
    environment = {**os.environ, "ALLOW_MULTIPLE_LIBTPU_LOAD": "true"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    errors = {}
    for name in names:
        (proto,) = (tmp_path / name).glob("*after_optimizations.hlo.pb")
        traced = memory(parse_proto(proto.read_bytes()))
        read = memory(None, parse_hlo(proto.with_name(proto.name.removesuffix(".hlo.pb") + ".txt").read_bytes()))
        assert read.method == "liveness" and traced.method in ("heap-trace", "buffer-assignment")
        assert read.argument_bytes == traced.argument_bytes, name
        errors[name] = read.peak_bytes / traced.peak_bytes - 1
        print(f"{platform} {name}: {read.peak_bytes:,} / {traced.peak_bytes:,} bytes ({errors[name]:+.2%})")
    assert {name: error for name, error in errors.items() if abs(error) > WITHIN[platform]} == {}
