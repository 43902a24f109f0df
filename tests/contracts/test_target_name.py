"""Target names and the devices they stand for."""

from __future__ import annotations

import pytest
from contract_lint.contracts.hardware import DEVICES, GIB, kinds
from contract_lint.contracts.hardware.hosts import MOST_GPUS
from contract_lint.contracts.target_name import no_such_machine, parse_target


@pytest.mark.parametrize(
    ("text", "devices", "memory"),
    [
        ("cpu:8", 8, None),
        ("cpu:2048", 2048, None),
        ("tpu:v5e:16x16", 256, 16 * GIB),
        ("tpu:v5p:8x8x4", 256, 95 * GIB),
        ("tpu:7x:8x4x4", 256, 96 * GIB),
        ("cuda:h100:32x8", 256, 80 * GIB),
        ("tpu:v5e:16x16:slices=2", 512, 16 * GIB),
    ],
)
def test_names(text: str, devices: int, memory: int | None) -> None:
    target = parse_target(text)
    assert (target.devices, target.kind.hbm_bytes, target.text) == (devices, memory, text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "cpu", "cpu:", "cpu:0", "cpu:8:1", "cpu:-1", "cpu:٣", "cpu:9999999", "gpu:8"),
        *("tpu:v5e", "tpu:v5e:", "tpu:v5e:4x", "tpu:v99:4x4", "tpu:v5e:1x1x1x1x1", "cuda:h100:0x8"),
        *("cpu:2049", "tpu:v5e:4x4:slices=1"),
        *("tpu:v5e:4x4:slices=0", "tpu:v5e:4x4:slices", "tpu:v5e:4x4:2", "cuda:h100:8", "cuda:h100:1x8:slices=2"),
    ],
)
def test_what_is_no_target(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_target(text)


def test_what_the_network_joins() -> None:
    groups = {text: parse_target(text).groups for text in ("tpu:v5e:4x4:slices=3", "tpu:v4:2x2x1", "cuda:h100:32x8")}
    assert groups == {"tpu:v5e:4x4:slices=3": 3, "tpu:v4:2x2x1": 1, "cuda:h100:32x8": 32}


def test_every_device_has_a_source() -> None:
    assert all(device.source for device in DEVICES)
    assert all(device.source.startswith("https://") for device in DEVICES if device.hbm_bytes is not None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "cuda:h100:1x16",
            "a host has up to 8 h100 (https://docs.nvidia.com/dgx/dgxh100-user-guide/); write more hosts,",
        ),
        ("cuda:h100:2x12", "as in cuda:h100:2x8"),
        ("cuda:a100:1x16", None),
        ("cuda:b200:4x8", None),
        ("tpu:v5e:3x5", "slices of v5e have 1x1"),
        ("tpu:v5e:4x4:slices=2", None),
        ("cuda:h100:999999x8", "7,999,992 devices are more than any machine has"),
        ("cuda:h100:32768x8", None),
        ("cpu:8", None),
    ],
)
def test_machines_that_there_are(text: str, reason: str | None) -> None:
    found = no_such_machine(parse_target(text))
    assert found is None if reason is None else reason in (found or "")


def test_every_gpu_has_a_host() -> None:
    assert set(MOST_GPUS) == set(kinds("cuda"))
