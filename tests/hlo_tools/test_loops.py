import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.loops import Run, executions
from contract_lint.hlo_tools.module import HloModule, parse_hlo
from contract_lint.hlo_tools.trip_counts import trip_count


def loop(
    condition: str = "ROOT r = pred[] compare(i, n), direction=LT",
    body: str = "next = s32[] add(i, one)",
    start: int = 0,
    limit: int = 10,
    config: str = "",
    before: str = "",
) -> HloModule:
    return parse_hlo(f"""
{before}
body {{
  t = (s32[], f32[4], s32[]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[4] get-tuple-element(t), index=1
  bound = s32[] get-tuple-element(t), index=2
  one = s32[] constant(1)
  two = s32[] constant(2)
  {body}
  ROOT out = (s32[], f32[4], s32[]) tuple(next, x, bound)
}}
cond {{
  t = (s32[], f32[4], s32[]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  bound = s32[] get-tuple-element(t), index=2
  n = s32[] constant({limit})
  {condition}
}}
ENTRY main {{
  x = f32[4] parameter(0)
  zero = s32[] constant({start})
  top = s32[] constant(7)
  copied = s32[] copy(zero)
  init = (s32[], f32[4], s32[]) tuple(copied, x, top)
  ROOT w = (s32[], f32[4], s32[]) while(init), condition=cond, body=body{config}
}}
""")


WRAPPED = """
%wrapped_compare_computation {
  p0 = s32[] parameter(0)
  p1 = s32[] parameter(1)
  ROOT c = pred[] compare(p0, p1), direction=LT
}
%wrapped_add {
  q0 = s32[] parameter(0)
  k = s32[] constant(2)
  ROOT a = s32[] add(k, q0)
}
"""


@pytest.mark.parametrize(
    ("module", "trips"),
    [
        (loop(), 10),
        (loop(start=3), 7),
        (loop(start=12), 0),
        (loop("ROOT r = pred[] compare(i, n), direction=LE"), 11),
        (loop("ROOT r = pred[] compare(n, i), direction=GT"), 10),
        (loop("ROOT r = pred[] compare(i, n), direction=NE"), 10),
        (loop("ROOT r = pred[] compare(i, bound), direction=LT"), 7),
        (loop("one = s32[] constant(1)\n  ip = s32[] add(i, one)\n  ROOT r = pred[] compare(ip, n), direction=LT"), 9),
        (loop(body="next = s32[] add(two, i)"), 5),
        (loop(body="next = s32[] add(i, two)", limit=9), 5),
        (loop(body="next = s32[] subtract(i, one)", start=10, limit=0), 0),
        (
            loop("ROOT r = pred[] compare(i, n), direction=GT", "next = s32[] subtract(i, two)", start=9, limit=0),
            5,
        ),
        (loop(config=', backend_config={"known_trip_count":{"n":"42"}}'), 42),
        (loop(config=', backend_config="{\\"known_trip_count\\":{\\"n\\":43}}"'), 43),
        (
            loop(
                "ROOT r = pred[] fusion(i, n), kind=kLoop, calls=wrapped_compare_computation",
                "next = s32[] fusion(i), kind=kLoop, calls=wrapped_add",
                before=WRAPPED,
            ),
            5,
        ),
        (loop("ROOT r = pred[] call(i, n), to_apply=wrapped_compare_computation", before=WRAPPED), 10),
        (loop(body="next = s32[] multiply(i, two)"), None),
        (loop(body="next = s32[] add(i, bound)"), None),
        (loop("ROOT r = pred[] compare(i, n), direction=GT"), 0),
        (loop("ROOT r = pred[] constant(true)"), None),
    ],
)
def test_trip_counts(module: HloModule, trips: int | None) -> None:
    assert trip_count(module.entry.root) == trips


NESTED = """
leaf {
  a = f32[] parameter(0)
  ROOT b = f32[] negate(a)
}
inner {
  t = (s32[], f32[]) parameter(0)
  v = f32[] get-tuple-element(t), index=1
  c1 = f32[] call(v), to_apply=leaf
  c2 = f32[] call(c1), to_apply=leaf
  i = s32[] get-tuple-element(t), index=0
  ROOT o = (s32[], f32[]) tuple(i, c2)
}
inner_cond {
  t = (s32[], f32[]) parameter(0)
  ROOT p = pred[] constant(true)
}
outer {
  t = (s32[], f32[]) parameter(0)
  w = (s32[], f32[]) while(t), condition=inner_cond, body=inner, backend_config={"known_trip_count":{"n":"4"}}
  ROOT u = (s32[], f32[]) while(w), condition=inner_cond, body=unknown_body
}
unknown_body {
  t = (s32[], f32[]) parameter(0)
  v = f32[] get-tuple-element(t), index=1
  i = s32[] get-tuple-element(t), index=0
  c = f32[] call(v), to_apply=leaf
  ROOT o = (s32[], f32[]) tuple(i, c)
}
left {
  a = f32[] parameter(0)
  ROOT c = f32[] call(a), to_apply=leaf
}
right {
  ROOT a = f32[] parameter(0)
}
ENTRY main {
  s = (s32[], f32[]) parameter(0)
  q = pred[] parameter(1)
  x = f32[] parameter(2)
  w = (s32[], f32[]) while(s), condition=inner_cond, body=outer, backend_config={"known_trip_count":{"n":"3"}}
  ROOT k = f32[] conditional(q, x, x), true_computation=left, false_computation=right
}
"""


def test_executions_multiply_loops_and_sum_call_sites() -> None:
    found = executions(parse_hlo(NESTED))
    assert found.of("main") == Run(1, 1, 0, 1, 1)
    assert found.of("outer") == Run(3, 3, 1, 3, 3)
    assert found.of("inner") == Run(12, 12, 2, 12, 12)
    assert found.of("unknown_body") == Run(3, 3, 2, 3, 3, ("u",))
    assert (found.of("left").count, found.of("left").count_min) == (1, 0)
    most, least = 12 * 2 + 3 + 1, 12 * 2 + 3
    assert found.of("leaf") == Run(most, least, 2, most, least, ("u",))
    assert found.of("nowhere").count == 0
    assert found.unknown_loops == ["u"]
    assert found.trip_counts == {"w": 3, "u": None}


def test_a_cost_decides_which_branch_counts() -> None:
    found = executions(parse_hlo(NESTED), cost={"leaf": 5})
    assert (found.of("left").dearest, found.of("right").dearest) == (1, 0)
    assert (found.of("left").cheapest, found.of("right").cheapest) == (0, 1)
    assert (found.of("left").count, found.of("left").count_min) == (1, 0)


SHARED = """leaf {
  a = f32[] parameter(0)
  ROOT b = f32[] negate(a)
}
once {
  a = f32[] parameter(0)
  ROOT c = f32[] call(a), to_apply=leaf
}
twice {
  a = f32[] parameter(0)
  c = f32[] call(a), to_apply=leaf
  ROOT d = f32[] call(c), to_apply=leaf
}
never {
  ROOT a = f32[] parameter(0)
}
ENTRY main {
  q = s32[] parameter(0)
  x = f32[] parameter(1)
  y = f32[] call(x), to_apply=leaf
  ROOT k = f32[] conditional(q, y, y, y), branch_computations={%s}
}
"""


@pytest.mark.parametrize(
    ("branches", "most", "least"),
    [("once, twice, twice", 3, 2), ("once, never, twice", 3, 1), ("never, never, never", 1, 1)],
)
@pytest.mark.parametrize("cost", [None, {"leaf": 1}])
def test_branches_that_share_a_computation_do_not_add_up(
    branches: str, most: int, least: int, cost: dict[str, int] | None
) -> None:
    run = executions(parse_hlo(SHARED % branches), cost).of("leaf")
    assert (run.count, run.count_min, run.dearest, run.cheapest) == (most, least, most, least)


def test_computations_that_call_each_other_are_refused() -> None:
    module = parse_hlo(
        "a {\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=b\n}\n"
        "b {\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=a\n}\n"
        "ENTRY e {\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=a\n}\n"
    )
    for cost in (None, {}, {"a": 1}):
        with pytest.raises(ContractLintError, match="circle") as raised:
            executions(module, cost)
        assert raised.value.location is not None and raised.value.location.line == 1


def test_computations_printed_below_their_caller_are_followed() -> None:
    module = parse_hlo(
        "a {\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=b\n}\n"
        "b {\n  ROOT p = f32[] parameter(0)\n}\n"
        "ENTRY e {\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=a\n}\n"
    )
    assert executions(module, {"b": 1}).of("b").count == 1


def test_a_deep_chain_of_calls_needs_no_recursion() -> None:
    chain = "\n".join(
        f"c{i} {{\n  p = f32[] parameter(0)\n  ROOT r = f32[] call(p), to_apply=c{i - 1}\n}}" for i in range(1, 3000)
    )
    module = parse_hlo(f"c0 {{\n  ROOT p = f32[] parameter(0)\n}}\n{chain}\n")
    assert executions(module).of("c0").count == 1
    assert executions(module, cost={"c0": 1}).of("c0").count == 1
