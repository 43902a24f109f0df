"""The time of a step as scheduled, by hand: what runs beside what, what is waited for, what the time is spent on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from contract_lint.contracts.target_name import parse_target
from contract_lint.hlo_tools import roofline as rooflines
from contract_lint.hlo_tools.collectives import collectives
from contract_lint.hlo_tools.cost import cost
from contract_lint.hlo_tools.module import parse_hlo

TARGET = "tpu:v5e:4x4"
FLOPS, MEMORY, LINKS = 197e12, 819e9, 2 * 50e9
N = 4096
W = f"bf16[{N},{N}]"
SIZE = 2 * N * N
PRODUCT = 2 * N**3 / FLOPS
GATHER = "dimensions={0}, channel_id=1, replica_groups=[1,16]<=[16], use_global_device_ids=true"
SENT = SIZE * 15 / 16 / LINKS
ICI = "ICI over ?"


def path(entry: str, others: str = "", scheduled: bool = True) -> rooflines.Path:
    head = "HloModule step, num_partitions=16" + (", is_scheduled=true" if scheduled else "")
    module = parse_hlo(
        f"{head}\n{others}\nENTRY main {{\n  x = {W} parameter(0)\n"
        f"  p = bf16[{N // 16},{N}] parameter(1)\n{entry}\n}}\n"
    )
    found = rooflines.roofline(cost(module), collectives(module), parse_target(TARGET), module=module).path
    assert found is not None
    assert sum(found.by_resource().values()) == pytest.approx(found.seconds)
    assert sum(spent for _, spent, _ in found.by_scope()) == pytest.approx(found.seconds)
    return found


def dot(name: str, left: str, right: str) -> str:
    return f"  {name} = {W} dot({left}, {right}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"


def copy(name: str, of: str) -> str:
    return f"  {name} = {W} negate({of})\n"


def test_kernels_run_one_after_the_other() -> None:
    found = path(dot("y", "x", "x") + copy("ROOT z", "y"))
    moved = 2 * SIZE / MEMORY
    assert found.by_resource() == pytest.approx({"compute": PRODUCT, "HBM": moved})
    assert [(each.name, each.bound, each.count) for each in found.operations] == [("y", "compute", 1), ("z", "HBM", 1)]


WAITED = f"  g = {W} all-gather(p), {GATHER}\n"
STARTED = f"  s = (bf16[{N // 16},{N}], {W}) all-gather-start(p), {GATHER}\n"
DONE = f"  g = {W} all-gather-done(s)\n"


def test_a_collective_that_is_waited_for() -> None:
    found = path(dot("y", "x", "x") + WAITED + dot("ROOT z", "y", "g"))
    assert found.by_resource() == pytest.approx({"compute": 2 * PRODUCT, ICI: SENT})


def test_a_collective_beside_a_product_costs_what_is_left_of_it() -> None:
    found = path(STARTED + dot("y", "x", "x") + DONE + dot("ROOT z", "y", "g"))
    assert SENT < PRODUCT and found.by_resource() == pytest.approx({"compute": 2 * PRODUCT})
    slow = STARTED + copy("y", "x") + DONE + dot("ROOT z", "y", "g")
    # The shard is read and the whole is written, then the copy reads and writes.
    beside = (SIZE / 16 + SIZE + 2 * SIZE) / MEMORY
    assert beside < SENT
    assert path(slow).by_resource() == pytest.approx({"compute": PRODUCT, "HBM": beside, ICI: SENT - beside})


def test_two_collectives_share_their_links() -> None:
    again = STARTED.replace(" s =", " s2 =").replace("channel_id=1", "channel_id=2")
    both = STARTED + again + DONE + DONE.replace(" g =", " g2 =").replace("(s)", "(s2)") + dot("ROOT z", "g", "g2")
    assert path(both).by_resource() == pytest.approx({"compute": PRODUCT, ICI: 2 * SENT})


def test_a_copy_beside_a_product() -> None:
    """It takes device memory, not the product's units."""
    entry = (
        f"  s = ({W}, {W}, u32[]) copy-start(x)\n"
        + dot("y", "x", "x")
        + f"  c = {W} copy-done(s)\n"
        + dot("ROOT z", "y", "c")
    )
    assert 5 * SIZE / MEMORY < PRODUCT
    assert path(entry).by_resource() == pytest.approx({"compute": 2 * PRODUCT})


CARRY = f"(s32[], {W})"
LOOP = f"""body {{
  c = {CARRY} parameter(0)
  i = s32[] get-tuple-element(c), index=0
  w = {W} get-tuple-element(c), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
{dot("y", "w", "w")}
  ROOT out = {CARRY} tuple(j, y)
}}
condition {{
  c = {CARRY} parameter(0)
  i = s32[] get-tuple-element(c), index=0
  n = s32[] constant(12)
  ROOT less = pred[] compare(i, n), direction=LT
}}
"""


def test_a_loop_takes_its_rounds() -> None:
    entry = f"  i = s32[] constant(0)\n  c = {CARRY} tuple(i, x)\n"
    entry += f"  ROOT r = {CARRY} while(c), condition=condition, body=body"
    found = path(entry, LOOP)
    assert found.seconds == pytest.approx(12 * PRODUCT, rel=1e-4)  # and a counter
    assert (found.operations[0].name, found.operations[0].count) == ("y", 12)


def test_a_conditional_takes_its_dearest_branch() -> None:
    branches = f"cheap {{\n  a = {W} parameter(0)\n  ROOT n = {W} negate(a)\n}}\n"
    branches += f"dear {{\n  a = {W} parameter(0)\n{dot('ROOT d', 'a', 'a')}}}\n"
    entry = (
        "  t = pred[] parameter(2)\n"
        f"  ROOT r = {W} conditional(t, x, x), true_computation=cheap, false_computation=dear"
    )
    found = path(entry, branches)
    assert [(each.name, each.count) for each in found.operations] == [("d", 1)]
    assert found.seconds == pytest.approx(PRODUCT)


def test_without_a_schedule_there_is_no_order() -> None:
    with pytest.raises(AssertionError):
        path(dot("ROOT y", "x", "x"), scheduled=False)


@pytest.mark.skipif("CONTRACT_LINT_CORPUS" not in os.environ, reason="CONTRACT_LINT_CORPUS does not name the corpus")
@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("train_1b.tpu_v5e256", "tpu:v5e:16x16"),
        ("train_1b.cuda_h100x256", "cuda:h100:32x8"),
        pytest.param("train_7b.tpu7x256", "tpu:7x:8x4x4", marks=pytest.mark.slow),
        pytest.param("train_7b.tpu_v6e256", "tpu:v6e:16x16", marks=pytest.mark.slow),
        ("fsdp_scan_2slices", "tpu:v5e:2x4:slices=2"),
        ("moe.tpu", "tpu:v5e:2x4"),
    ],
)
def test_it_is_never_below_what_one_resource_needs(name: str, target: str) -> None:
    (file,) = Path(os.environ["CONTRACT_LINT_CORPUS"], "corpus/compiled").glob(f"{name}*")
    module = parse_hlo(file.read_bytes())
    found = rooflines.roofline(cost(module), collectives(module), parse_target(target), module=module)
    assert found.path is not None
    for resource in found.resources:
        assert found.path.seconds >= resource.seconds * (1 - 1e-9), resource.name
    assert sum(found.path.by_resource().values()) == pytest.approx(found.path.seconds)
