"""When collectives run, when their results are read and what runs meanwhile, however an asynchronous one is spelled."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.hlo_tools.collectives import collectives
from contract_lint.hlo_tools.in_flight import InFlight
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.runtime.targets.readiness import readiness

G = "replica_groups={{0,1,2,3}}, use_global_device_ids=true, channel_id=1"
W = "f32[64,64]"
FLOPS = 2 * 64**3
ADD = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b)\n}\n"


def dot(name: str, left: str, right: str, root: str = "") -> str:
    return f"{root}{name} = {W} dot({left}, {right}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"


def schedule(entry: list[str], others: str = "", scheduled: bool = True) -> list[InFlight | None]:
    head = "HloModule m, num_partitions=4" + (", is_scheduled=true" if scheduled else "")
    text = f"{head}\n{ADD}{others}\nENTRY main {{\n  " + "\n  ".join(entry) + "\n}\n"
    return collectives(parse_hlo(text)).schedule()


def only(entry: list[str], others: str = "") -> InFlight:
    (found,) = schedule(entry, others)
    assert found is not None
    return found


X = [f"x = {W} parameter(0)", "p = f32[16,64] parameter(1)"]
TAIL = [
    "t = (f32[64,64]) tuple(d)",
    "e = f32[64,64] get-tuple-element(t), index=0",
    dot("first", "e", "y"),
    dot("z", "y", "d", root="ROOT "),
]
PAIR = [
    *X,
    f"s = (f32[16,64], {W}) all-gather-start(p), dimensions={{0}}, {G}",
    f"n = {W} negate(x)",
    dot("y", "x", "n"),
    f"d = {W} all-gather-done(s)",
    *TAIL,
]


def test_a_pair() -> None:
    found = only(PAIR)
    assert (found.computation, found.start, found.done) == ("main", 2, 5)
    assert (found.first_use, found.last_use) == (8, 9)  # a tuple that is taken apart again reads nothing
    assert (found.meanwhile, found.products, found.flops) == (2, ("y",), FLOPS)


def test_one_that_is_waited_for() -> None:
    entry = [*X, f"d = {W} all-gather(p), dimensions={{0}}, {G}", f"n = {W} negate(x)", dot("y", "x", "n"), *TAIL]
    found = only(entry)
    assert (found.start, found.done, found.first_use, found.last_use) == (2, 2, 7, 8)
    assert (found.meanwhile, found.products, found.flops) == (0, (), 0)


def test_a_wrapped_collective() -> None:
    others = f"wrapped {{\n  q = f32[16,64] parameter(0)\n  ROOT g = {W} all-gather(q), dimensions={{0}}, {G}\n}}\n"
    start = f"s = ((f32[16,64]), {W}, u32[]) async-start(p), calls=wrapped"
    entry = [*X, start, *PAIR[3:5], f"u = ((f32[16,64]), {W}, u32[]) async-update(s)", f"d = {W} async-done(u)", *TAIL]
    found = only(entry, others)
    assert (found.start, found.done, found.products) == (2, 6, ("y",))
    assert (found.first_use, found.last_use) == (9, 10)


def test_a_call_beside_the_rest() -> None:
    """TPU's SparseCore runs collectives in a computation of its own; what it reads may be written by no operand."""
    others = f"called {{\n  q = f32[16,64] parameter(0)\n  ROOT g = {W} all-gather(q), dimensions={{0}}, {G}\n}}\n"
    start = f's = ((f32[16,64]), {W}, u32[]) call-start(p), async_execution_thread="sparsecore", to_apply=called'
    entry = [*X, start, *PAIR[3:5], f"d = {W} call-done(s)", *TAIL]
    found = only(entry, others)
    assert (found.start, found.done, found.products) == (2, 5, ("y",))
    text = (
        f"HloModule m, num_partitions=4, is_scheduled=true\n{others}\nENTRY main {{\n  " + "\n  ".join(entry) + "\n}\n"
    )
    (row,) = collectives(parse_hlo(text)).rows
    assert row.async_


def fused(name: str, call: str) -> str:
    gather = f'g = {W} all-gather(q), dimensions={{0}}, {G}, frontend_attributes={{chain_id="3"}}'
    return f"{name} {{\n  q = f32[16,64] parameter(0)\n  {gather}\n  ROOT c = {W} custom-call(g){call}\n}}\n"


def test_a_chain_of_fusions() -> None:
    """TPU: the collective is printed in the fusion that starts it, in one that it runs beside and in the one that
    ends it."""
    beside = fused("beside", "").replace(
        f"ROOT c = {W} custom-call(g)", "h = f32[64,64] negate(g)\n  " + dot("c", "h", "h", root="ROOT ")
    )
    ends = ', custom_call_target="AsyncCollectiveDone"'
    others = fused("start", ends.replace("Done", "Start")) + beside + fused("end", ends)
    entry = [
        *X,
        f"s = {W} fusion(p), kind=kCustom, calls=start",
        f"y = {W} fusion(p), kind=kOutput, calls=beside",
        f"d = {W} fusion(p), kind=kCustom, calls=end",
        *TAIL,
    ]
    found = only(entry, others)
    assert (found.start, found.done, found.first_use) == (2, 4, 7)
    assert (found.products, found.flops) == (("y",), FLOPS)


def test_between_slices() -> None:
    """What is received is there where the `recv` of the same meeting is done, not where the `send` is."""
    to = (
        'is_host_transfer=true, frontend_attributes={_xla_host_transfer_handler_name="xla_megascale_runtime",'
        '_xla_host_transfer_rendezvous="all-gather.1_0",_xla_megascale_target="{0,1}x{0:3}",'
        '_xla_megascale_transfer_type="ALL_GATHER"}'
    )
    entry = [
        *X,
        "k = token[] after-all()",
        f"s = (f32[16,64], u32[], token[]) send(p, k), channel_id=5, {to}",
        f"r = ({W}, u32[], token[]) recv(k), channel_id=6, {to}",
        "sd = token[] send-done(s), channel_id=5",
        f"n = {W} negate(x)",
        dot("y", "x", "n"),
        f"rd = ({W}, token[]) recv-done(r), channel_id=6",
        f"d = {W} get-tuple-element(rd), index=0",
        *TAIL,
    ]
    found = only(entry)
    assert (found.start, found.done, found.products, found.last_use) == (3, 8, ("y",), 13)


def test_a_result_that_leaves_is_used_at_the_end() -> None:
    found = only([*X, f"n = {W} negate(x)", f"ROOT d = {W} all-gather(p), dimensions={{0}}, {G}"])
    assert (found.first_use, found.last_use) == (3, 3)
    unread = only([*X, f"d = {W} all-gather(p), dimensions={{0}}, {G}", f"ROOT n = {W} negate(x)"])
    assert (unread.first_use, unread.last_use) == (None, None)


def test_a_loop_is_work_with_all_its_rounds() -> None:
    carry = f"(s32[], {W})"
    others = f"""body {{
  c = {carry} parameter(0)
  i = s32[] get-tuple-element(c), index=0
  w = {W} get-tuple-element(c), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  {dot("y", "w", "w")}
  ROOT out = {carry} tuple(j, y)
}}
condition {{
  c = {carry} parameter(0)
  i = s32[] get-tuple-element(c), index=0
  n = s32[] constant(7)
  ROOT less = pred[] compare(i, n), direction=LT
}}
"""
    entry = [
        *X,
        "i = s32[] constant(0)",
        f"c = {carry} tuple(i, x)",
        PAIR[2],
        f"l = {carry} while(c), condition=condition, body=body",
        f"y = {W} get-tuple-element(l), index=1",
        PAIR[5],
        *TAIL,
    ]
    found = only(entry, others)
    assert (found.products, found.flops) == (("l",), 7 * FLOPS)


def test_a_program_without_schedule_says_nothing() -> None:
    assert schedule(PAIR, scheduled=False) == [None]


def test_the_ledger_tells_it() -> None:
    text = "HloModule m, num_partitions=4, is_scheduled=true\nENTRY main {\n  " + "\n  ".join(PAIR) + "\n}\n"
    (row,) = collectives(parse_hlo(text)).as_json()["collectives"]
    assert (row["async"], row["loop_depth"], row["count"], row["count_min"]) == (True, 0, 1, 1)
    assert row["schedule"] == {
        "computation": "main",
        "start": 2,
        "done": 5,
        "first_use": 8,
        "last_use": 9,
        "meanwhile": {"instructions": 2, "flops": FLOPS, "products": ["y"]},
    }


def test_branches_are_counted_as_most_and_least() -> None:
    branch = f"{{\n  q = {W} parameter(0)\n  ROOT g = {W} all-reduce(q), {G}, to_apply=add\n}}\n"
    others = f"with {branch}without {{\n  q = {W} parameter(0)\n  ROOT n = {W} negate(q)\n}}\n"
    entry = [
        f"x = {W} parameter(0)",
        "c = pred[] parameter(1)",
        f"ROOT r = {W} conditional(c, x, x), true_computation=with, false_computation=without",
    ]
    text = f"HloModule m, num_partitions=4, is_scheduled=true\n{ADD}{others}\nENTRY main {{\n  " + "\n  ".join(entry)
    (row,) = collectives(parse_hlo(text + "\n}\n")).as_json()["collectives"]
    assert (row["count"], row["count_min"]) == (1, 0)
    assert (row["schedule"]["computation"], row["schedule"]["start"]) == ("with", 1)


@pytest.mark.slow
def test_programs_of_tpu() -> None:
    """A gather that needs nothing of the product before it runs beside it; a sum that the next product reads waits."""
    if not (found := readiness("tpu")).ready:
        pytest.skip(f"tpu: {found.missing}")
    child = Path(__file__).with_name("in_flight_child.py")
    texts = json.loads(subprocess.run([sys.executable, child], capture_output=True, check=True).stdout)
    rows = {name: collectives(parse_hlo(text)) for name, text in texts.items()}
    (gather,), (hidden,) = rows["hidden"].rows, rows["hidden"].schedule()
    assert (gather.kind, gather.async_) == ("all-gather", True)
    assert hidden is not None and len(hidden.products) == 1 and hidden.start < hidden.done
    assert hidden.flops == 2 * 4096**3
    (total,), (waited,) = rows["waited"].rows, rows["waited"].schedule()
    assert (total.kind, total.async_) == ("all-reduce", False)
    assert waited is not None and (waited.meanwhile, waited.start) == (0, waited.done)
