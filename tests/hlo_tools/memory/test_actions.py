"""What each action is said to free, against the peak after it was applied and compiled again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.hlo_tools.memory import Action, MemoryLedger, memory
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.proto import parse_proto
from contract_lint.runtime.targets.readiness import readiness

CHILD = Path(__file__).parent / "actions_child.py"
WITHIN = 0.2
TPU = {
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-8",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_LOG_DIR": "disabled",
}


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("cpu", tmp_path_factory.mktemp("cpu"))


@pytest.fixture(scope="module")
def tpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = readiness("tpu")
    if not found.ready:
        pytest.skip(f"tpu: {found.missing}")
    return compiled("tpu", tmp_path_factory.mktemp("tpu"))


def compiled(platform: str, folder: Path) -> Path:
    command = [sys.executable, str(CHILD), platform, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | TPU, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def ledger_of(folder: Path) -> MemoryLedger:
    (path,) = (p for p in folder.iterdir() if p.name.endswith("after_optimizations.hlo.pb"))
    data = path.read_bytes()
    return memory(parse_proto(data), parse_hlo(data))


def check(folder: Path, action: str, what: str | None = None) -> None:
    """The action of that kind says what it frees, and it is that much."""
    before, after = ledger_of(folder / action / "before"), ledger_of(folder / action / "after")
    kind = action.partition("-")[0]
    found = [each for each in before.actions if each.kind == kind and what in (None, each.what)]
    assert len(found) == 1, before.actions
    freed = before.peak_bytes - after.peak_bytes
    print(f"{action}: {found[0].frees_bytes:,} said, {freed:,} freed of {before.peak_bytes:,}")
    assert abs(found[0].frees_bytes - freed) <= WITHIN * freed
    assert_covers(found[0], before)


def assert_covers(action: Action, ledger: MemoryLedger) -> None:
    """An action names the buffers it shrinks, and no more bytes than there are."""
    assert action.buffers
    assert 0 < action.frees_bytes <= ledger.peak_bytes


@pytest.mark.slow
@pytest.mark.parametrize("action", ["donate", "recompute", "microbatch", "microbatch-again"])
def test_on_cpu(cpu: Path, action: str) -> None:
    check(cpu, action)


@pytest.mark.slow
@pytest.mark.parametrize(("action", "what"), [("shard", "optimizer slots"), ("shard-parameters", "parameters")])
def test_state_split_on_cpu(cpu: Path, action: str, what: str) -> None:
    check(cpu, action, what)


@pytest.mark.slow
def test_slots_on_the_host_until_an_update_of_its_own_on_cpu(cpu: Path) -> None:
    """The device holds what the gradients need or the slots: the higher peak of the two calls is what is left."""
    before = ledger_of(cpu / "offload-slots" / "before")
    after = max(ledger_of(cpu / action / "after").peak_bytes for action in ("offload-slots", "offload-slots-update"))
    (action,) = (each for each in before.actions if (each.kind, each.what) == ("offload", "optimizer slots"))
    freed = before.peak_bytes - after
    print(f"offload-slots: {action.frees_bytes:,} said, {freed:,} freed of {before.peak_bytes:,}")
    assert abs(action.frees_bytes - freed) <= WITHIN * freed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "what"),
    [
        ("layout", None),
        ("offload", "saved activations"),
        ("recompute", None),
    ],
)
def test_on_tpu(tpu: Path, action: str, what: str | None) -> None:
    check(tpu, action, what)


@pytest.mark.slow
def test_a_step_that_does_all_of_it_is_told_nothing_of_it(cpu: Path) -> None:
    """The twin that recomputes, donates and splits its slots is not told to."""
    kinds = {(each.kind, each.what) for each in ledger_of(cpu / "shard" / "after").actions}
    assert not kinds & {("donate", "state"), ("shard", "optimizer slots")}
    assert "recompute" not in {kind for kind, _ in kinds}
