"""Small HLO texts: a loop around a body, on four devices."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.hlo_tools.collectives import CollectiveLedger, collectives
from contract_lint.hlo_tools.module import parse_hlo

MESH = MeshFact(axes={"data": 2, "fsdp": 2})

ADD = """
%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}
"""


def module_of(entry: str, result: str = "f32[8]", argument: str = "f32[8]") -> str:
    """An entry computation that reads `%x` and whose last line is the root."""
    return f"HloModule test, num_partitions=4\n{ADD}\nENTRY %main (x: {argument}) -> {result} {{\n{entry}\n}}\n"


def loop_of(body: str, trips: int = 3, carry: str = "f32[4], f32[8]", before: str = "") -> str:
    """Body lines see the carry `%c` = (s32[], carry...) and end in ROOT; the entry passes zeros and `%x`."""
    types = f"s32[], {carry}"
    return f"""HloModule test, num_partitions=4
{ADD}
%body (c: ({types})) -> ({types}) {{
  %c = ({types}) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
{body}
}}
%condition (c: ({types})) -> pred[] {{
  %c = ({types}) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %n = s32[] constant({trips})
  ROOT %less = pred[] compare(%i, %n), direction=LT
}}
ENTRY %main (x: f32[4], y: f32[8]) -> ({types}) {{
  %x = f32[4] parameter(0)
  %y = f32[8] parameter(1)
  %zero = s32[] constant(0)
{before}
  %init = ({types}) tuple(%zero, %x, %y)
  ROOT %loop = ({types}) while(%init), condition=%condition, body=%body
}}
"""


@pytest.fixture(scope="session")
def ledger() -> Callable[[str], CollectiveLedger]:
    return lambda text: collectives(parse_hlo(text), MESH)


@pytest.fixture(scope="session")
def module() -> Callable[..., str]:
    return module_of


@pytest.fixture(scope="session")
def loop() -> Callable[..., str]:
    return loop_of
