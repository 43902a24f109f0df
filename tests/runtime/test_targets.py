"""Target names."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.hardware import DEVICES, DeviceKind
from contract_lint.runtime.request import StepFailure
from contract_lint.runtime.targets import Effort, cuda, target
from contract_lint.runtime.targets.cuda import described


def test_cpu_target() -> None:
    found = target("cpu:8")
    assert (found.name, found.platform, found.device_count, found.executes) == ("cpu:8", "cpu", 8, True)
    assert found.environment()["JAX_PLATFORMS"] == "cpu"


@pytest.mark.parametrize("name", ["cpu", "cpu:", "cpu:0", "cpu:-1", "cpu:2049", "cpu:99999999", "cpu:8 ", "gpu:8", ""])
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(ContractLintError):
        target(name)


@pytest.mark.parametrize(
    ("name", "devices", "wanted", "effort"),
    [
        ("tpu:v5e:4x4", 16, None, "fast"),
        ("tpu:v5p:8x8x4", 256, "full", "full"),
        ("tpu:v5e:16x16:slices=2", 512, None, "fast"),
        ("cuda:h100:32x8", 256, None, "fast"),
        ("cuda:b200:1x8", 8, "full", "full"),
        ("cpu:8", 8, None, "full"),
        ("cpu:8", 8, "fast", "full"),
    ],
)
def test_targets_and_their_efforts(name: str, devices: int, wanted: Effort | None, effort: str) -> None:
    found = target(name, wanted)
    assert (found.name, found.device_count, found.effort) == (name, devices, effort)
    assert found.executes == (found.platform == "cpu")
    assert found.environment()["JAX_PLATFORMS"] == "cpu"


@pytest.mark.parametrize("name", ["tpu:v5e", "tpu:v99:4x4", "tpu:v5e:4x4:slices=0", "cuda:h100:8", "cuda:mi300:1x8"])
def test_accelerators_that_do_not_exist(name: str) -> None:
    with pytest.raises(ContractLintError, match=r"is not a (TPU|CUDA) target: expected"):
        target(name)


@pytest.mark.parametrize(
    "name", ["tpu:v5e:3x5", "tpu:v5e:2x6", "tpu:v6e:32x32", "tpu:v5p:6x6x6", "tpu:v5p:4x4:slices=2"]
)
def test_slices_that_nobody_can_have(name: str) -> None:
    with pytest.raises(
        ContractLintError, match=r"is no slice that there is: slices of \w+ have .*cloud\.google\.com/tpu"
    ):
        target(name)


def test_a_slice_that_this_libtpu_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    from jax.experimental import topologies

    def refuse(**_: object) -> None:
        raise ValueError("no such machine\nand more")

    monkeypatch.setattr(topologies, "get_topology_desc", refuse)
    found = target("tpu:7x:4x4x8")
    with pytest.raises(StepFailure, match=r"libtpu knows no topology for tpu:7x:4x4x8: no such machine\n"):
        found.devices()


@pytest.mark.parametrize("kind", [kind for kind in DEVICES if kind.platform == "cuda"], ids=lambda kind: kind.name)
def test_gpus_are_described_as_the_hardware_table_has_them(kind: DeviceKind) -> None:
    text = described(kind.name)
    assert text is not None and "#" not in text
    fields = dict(re.findall(r"^ +(\w+): (\d+)$", text, re.M))
    assert int(fields["device_memory_size"]) == kind.hbm_bytes
    assert kind.hbm_rate is not None and int(fields["memory_bandwidth"]) == kind.hbm_rate.value
    source = (Path(cuda.__file__).parent / "gpus" / f"{kind.name}.txtpb").read_text()
    assert source.startswith("# ") and "https://" in source


def test_a_gpu_without_description() -> None:
    assert described("mi300") is None


def test_the_parent_side_never_imports_jax() -> None:
    code = (
        "import sys; import contract_lint.runtime.launch, contract_lint.runtime.contract, contract_lint.runtime.cache;"
        "sys.exit('jax' in sys.modules or 'jaxlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
