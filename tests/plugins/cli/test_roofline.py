"""`hlo roofline` on a dump: with hardware, without, and with a target that is none."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

HLO = """\
HloModule small, num_partitions=4

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = bf16[64,64]{1,0} parameter(0)
  y = f32[64,64]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[64,64]{1,0} all-reduce(y), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true,
    to_apply=add
}
"""


@pytest.fixture
def dump(tmp_path: Path) -> str:
    (tmp_path / "small.txt").write_text(HLO)
    return "small.txt"


def test_hardware_gives_a_bound_by_resource(cli: Run, dump: str) -> None:
    done = cli("hlo", "roofline", dump, "--mesh", "data=2,fsdp=2", "--target", "tpu:v5e:2x2", "--format", "json")
    data = json.loads(done.stdout)
    assert {row["name"] for row in data["resources"]} == {"compute", "HBM", "ICI over fsdp"}
    assert data["matrix_flops"] == {"bf16": 2 * 64**3}
    assert data["collective_bytes"] == [{"axes": ["fsdp"], "link_bytes": 64 * 64 * 4, "network_bytes": 0}]
    text = cli("hlo", "roofline", dump, "--target", "tpu:v5e:2x2", env={"COLUMNS": "80"}).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("small: 524 kFLOP a step on each of 4 devices; at least")


def test_without_hardware_there_is_no_time(cli: Run, dump: str) -> None:
    done = cli("hlo", "roofline", dump)
    assert done.returncode == 0
    assert "no time bound: no target is named" in done.stdout.splitlines()[0]


@pytest.mark.parametrize("target", ["tpu:v99:2x2", "gpu", ""])
def test_a_target_that_is_none_is_one_sentence(target: str, cli: Run, dump: str) -> None:
    done = cli("hlo", "roofline", dump, "--target", target)
    if not target:
        assert "no target is named" in done.stdout
        return
    assert done.returncode == 2
    assert "expected" in done.stderr and "Traceback" not in done.stderr
