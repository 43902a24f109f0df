"""The hardware table: every figure has its source, and rates per chip become rates per device."""

from __future__ import annotations

import pytest
from contract_lint.contracts.hardware import (
    DEVICES,
    GB,
    TERA,
    DeviceKind,
    Figure,
    device_kind,
    kinds,
    no_such_slice,
)
from contract_lint.contracts.hardware.slices import CUBES, FLAT
from contract_lint.contracts.hardware.smallest import smallest_target
from contract_lint.contracts.target_name import parse_target


def figures(device: DeviceKind) -> list[Figure]:
    single = (device.hbm_rate, device.link, device.network)
    return [*(peak.figure for peak in device.peaks), *(figure for figure in single if figure is not None)]


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_every_figure_has_a_published_source(device: DeviceKind) -> None:
    found = figures(device)
    assert bool(found) == (device.platform != "cpu")
    assert all(figure.value > 0 and figure.source.startswith("https://") for figure in found)


@pytest.mark.parametrize("platform", ["tpu", "cuda"])
def test_every_accelerator_has_what_a_roofline_needs(platform: str) -> None:
    for name in kinds(platform):
        kind = device_kind(platform, name)
        assert kind.peak("bf16") and kind.hbm_rate and kind.link and kind.hbm_bytes, name
        assert (kind.ring > 0) == (platform == "tpu"), name


def test_figures_as_their_vendors_print_them() -> None:
    """400 GB/s in both directions over the four ports of a v5e chip are 50 GB/s one way of one link."""
    v5e, h100 = device_kind("tpu", "v5e"), device_kind("cuda", "h100")
    assert v5e.peak("bf16") is not None and v5e.share(v5e.peak("bf16")) == 197 * TERA
    assert v5e.link is not None and v5e.link.value == 50 * GB
    assert v5e.network is not None and v5e.network.value == 6.4e12 / 8 / 256
    assert h100.link is not None and h100.link.value == 450 * GB
    assert h100.network is not None and h100.network.value == 50 * GB


def test_two_devices_of_a_chip_have_half_of_it_each() -> None:
    kind = device_kind("tpu", "7x")
    peak = kind.peak("fp8")
    assert kind.devices_per_chip == 2 and peak is not None and kind.share(peak) == 2307 * TERA
    assert kind.peak("tf32") is None


def test_what_a_program_gets_is_what_its_compiler_says() -> None:
    """Every TPU has such a figure; a GPU's compiler says nothing, so its published memory counts."""
    for name in kinds("tpu"):
        kind = device_kind("tpu", name)
        assert kind.given is not None and "libtpu" in kind.program_source, name
        assert kind.program_bytes == round(kind.given.value)
    for name in kinds("cuda"):
        kind = device_kind("cuda", name)
        assert (kind.program_bytes, kind.program_source) == (kind.hbm_bytes, kind.source)


def test_faster_types_are_never_slower() -> None:
    for device in DEVICES:
        peaks = {peak.rate: peak.figure.value for peak in device.peaks}
        assert all(value >= peaks["bf16"] for rate, value in peaks.items() if rate in ("fp8", "int8")), device.name
        assert all(value < peaks["bf16"] for rate, value in peaks.items() if rate in ("tf32", "f32")), device.name


def test_every_tpu_has_its_slices() -> None:
    assert {*FLAT, *CUBES} == set(kinds("tpu"))
    assert not set(FLAT) & set(CUBES)


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        *((kind, shape) for kind, shapes in FLAT.items() for shape in shapes),
        *(("v5e", shape) for shape in ((4, 2), (16, 8))),
        *(("v5p", shape) for shape in ((2, 2, 1), (2, 4, 4), (4, 4, 4), (12, 12, 24), (16, 16, 24), (8, 8, 4))),
        ("v4", (16, 16, 16)),
        ("h100", (3, 5)),
    ],
)
def test_published_slices(kind: str, sizes: tuple[int, ...]) -> None:
    assert no_such_slice(kind, sizes) is None


@pytest.mark.parametrize(
    ("kind", "sizes", "reason"),
    [
        ("v5e", (2, 6), "slices of v5e have 1x1, 2x2, 2x4, 4x4, 4x8, 8x8, 8x16, 16x16 chips"),
        ("v6e", (16, 32), "16x16 chips"),
        ("v2", (32, 32), "slices of v2 have 2x2,"),
        ("v4", (4, 4), "three dimensions"),
        ("v5p", (2, 2, 3), "1, 2 or 4 chips in each dimension, or multiples of 4 in all"),
        ("v5p", (2, 4, 8), "multiples of 4 in all"),
        ("v4", (16, 16, 20), "5,120 chips are more than the 4,096 of a whole pod of v4"),
        ("7x", (6, 6, 6), "tpu/docs/tpu7x"),
    ],
)
def test_slices_that_there_are_not(kind: str, sizes: tuple[int, ...], reason: str) -> None:
    found = no_such_slice(kind, sizes)
    assert found is not None and reason in found


@pytest.mark.parametrize("device", [each for each in DEVICES if each.platform != "cpu"], ids=lambda device: device.name)
@pytest.mark.parametrize("devices", [1, 2, 3, 8, 12, 256, 1000, 20_000])
def test_the_smallest_target_holds_the_program_and_can_be_had(device: DeviceKind, devices: int) -> None:
    parsed = parse_target(smallest_target(device, devices))
    assert parsed.devices >= devices
    if device.platform == "tpu":
        assert no_such_slice(device.name, parsed.sizes) is None
    if devices in (8, 256):
        assert parsed.devices == devices


def test_smallest_targets_by_hand() -> None:
    def smallest(platform: str, kind: str, devices: int) -> str:
        return smallest_target(device_kind(platform, kind), devices)

    assert smallest("tpu", "v5e", 256) == "tpu:v5e:16x16"
    assert smallest("tpu", "v5e", 512) == "tpu:v5e:16x16:slices=2"
    assert smallest("tpu", "7x", 256) == "tpu:7x:4x4x8"  # two devices of each chip
    assert smallest("cuda", "h100", 4) == "cuda:h100:1x4"
    assert smallest("cuda", "h100", 256) == "cuda:h100:32x8"
