"""The bound: the longest of compute, memory, links and network, each by hand; nothing without published peaks."""

from __future__ import annotations

import json

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.hardware import device_kind
from contract_lint.contracts.target_name import parse_target
from contract_lint.hlo_tools.collectives import CollectiveLedger, collectives
from contract_lint.hlo_tools.cost import cost
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.roofline import Roofline, roofline
from contract_lint.hlo_tools.roofline.rates import peak_for

# On each of 16 devices: a product of 2 * 1024**3 operations, an all-reduce of 4 MiB over all of them.
PROGRAM = """HloModule step, num_partitions=16

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  x = TYPE[1024,1024] parameter(0)
  y = f32[1024,1024] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[1024,1024] all-reduce(y), channel_id=1, replica_groups=[1,16]<=[16],
    use_global_device_ids=true, to_apply=add
}
"""
MIB = 1 << 20


def bound(target: str | None, dtype: str = "bf16") -> Roofline:
    module = parse_hlo(PROGRAM.replace("TYPE", dtype))
    return roofline(cost(module), collectives(module), parse_target(target) if target else None)


def seconds(found: Roofline) -> dict[str, float]:
    return {resource.name: resource.seconds for resource in found.resources}


def test_v5e() -> None:
    found = bound("tpu:v5e:4x4")
    # Kernels: the product reads 2 * 2 MiB and writes 4, the all-reduce reads and writes 4.
    assert found.cost.hbm_bytes == 16 * MIB
    sent = 2 * 4 * MIB * 15 / 16
    assert seconds(found) == pytest.approx(
        {"compute": 2 * 1024**3 / 197e12, "HBM": 16 * MIB / 819e9, "ICI over ?": sent / (2 * 50e9)}
    )
    assert found.binding is not None and found.binding.name == "ICI over ?"
    assert found.seconds == max(seconds(found).values())


def test_h100_on_two_hosts() -> None:
    found = bound("cuda:h100:2x8")
    inside, between = 2 * 4 * MIB * 7 / 8, 2 * 4 * MIB / 16
    assert seconds(found) == pytest.approx(
        {
            "compute": 2 * 1024**3 / 989.5e12,
            "HBM": 16 * MIB / 3350e9,
            "NVLink over ?": inside / 450e9,
            "network over ?": between / 50e9,
        }
    )
    assert found.capacity_bytes == device_kind("cuda", "h100").hbm_bytes


@pytest.mark.parametrize(("target", "reason"), [("cpu:16", "cpu has no published peak"), (None, "no target is named")])
def test_no_time_without_published_peaks(target: str | None, reason: str) -> None:
    found = bound(target)
    assert found.resources == [] and found.seconds is None and found.mfu is None and found.binding is None
    assert reason in (found.no_bound or "")
    (load,) = found.loads
    assert load.link_bytes == 2 * 4 * MIB * 15 / 16
    assert found.cost.matrix == 2 * 1024**3


def test_tokens_and_utilisation_follow_from_the_bound() -> None:
    found = bound("tpu:v5e:4x4")
    found.tokens, found.model_flops = 4096, 16 * 1024**3
    assert found.seconds is not None
    assert found.tokens_per_second == pytest.approx(4096 / found.seconds)
    assert found.mfu == pytest.approx(1024**3 / 197e12 / found.seconds)
    assert 0 < (found.mfu or 0) < 1


def test_no_use_of_the_hardware_exceeds_the_peak() -> None:
    """With as many model FLOPs as the program multiplies, utilisation is at most one."""
    for target in ("tpu:v4:4x4", "tpu:v5p:4x4", "tpu:7x:2x2x2", "cuda:a100:2x8", "cuda:b200:2x8"):
        for dtype in ("bf16", "f32"):
            found = bound(target, dtype)
            found.model_flops = 16 * found.cost.matrix
            assert found.mfu is not None and found.mfu <= 1, (target, dtype)


@pytest.mark.parametrize(
    ("platform", "kind", "dtype", "rate"),
    [
        ("tpu", "v5e", "bf16", "bf16"),
        ("tpu", "v5e", "f32", "bf16"),
        ("tpu", "v5e", "f8e4m3fn", "bf16"),
        ("tpu", "7x", "f8e5m2", "fp8"),
        ("tpu", "v6e", "s8", "int8"),
        ("cuda", "h100", "f16", "bf16"),
        ("cuda", "h100", "f32", "tf32"),
        ("cuda", "a100", "f8e4m3fn", "bf16"),
        ("cuda", "h100", "f8e4m3fn", "fp8"),
        ("cuda", "h100", "u4", "int8"),
    ],
)
def test_the_fastest_rate_that_operands_can_run_at(platform: str, kind: str, dtype: str, rate: str) -> None:
    found = peak_for(device_kind(platform, kind), dtype)
    assert found is not None and found[0] == rate


def test_a_target_that_is_too_small_is_an_error() -> None:
    with pytest.raises(ContractLintError, match="runs on 16 devices; tpu:v5e:2x2 has 4"):
        bound("tpu:v5e:2x2")
    with pytest.raises(ContractLintError, match="no target has that many"):
        roofline(cost(parse_hlo(PROGRAM.replace("TYPE", "bf16"))), CollectiveLedger("m", 999_999_999, None))


def test_what_it_rests_on_is_said() -> None:
    said = " | ".join(bound("cuda:h100:2x8", "f32").assumptions)
    for part in ("published peak", "TF32", "L2 cache", "one adapter"):
        assert part in said, part
    assert "one bf16 pass" in " | ".join(bound("tpu:v5e:4x4", "f32").assumptions)
    assert all(resource.source.startswith("https://") for resource in bound("tpu:v5e:4x4").resources)


@pytest.mark.parametrize("target", ["tpu:v5e:4x4", None])
def test_products_of_complex_numbers_are_said_to_count_as_xla_counts_them(target: str | None) -> None:
    assert bound(target, "c64").cost.matrix_flops == {"c64": 2 * 1024**3}
    assert any("complex" in each for each in bound(target, "c64").assumptions)
    assert not any("complex" in each for each in bound(target, "f32").assumptions)


def test_json_is_plain_and_complete() -> None:
    data = json.loads(json.dumps(bound("tpu:v5e:4x4").as_json()))
    assert data["binding"] == "ICI over ?" and data["bound_seconds"] > 0
    assert {row["name"] for row in data["resources"]} == {"compute", "HBM", "ICI over ?"}
    assert data["collective_bytes"][0]["network_bytes"] == 0
    assert data["matrix_flops"] == {"bf16": 2 * 1024**3}
