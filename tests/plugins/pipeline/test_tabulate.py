"""What stands below the table of collectives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.contracts.model import AllowedCollective
from contract_lint.hlo_tools.canonical import explain
from contract_lint.hlo_tools.collectives import collectives
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.linters.evidence import StepEvidence
from contract_lint.linters.program.match import Promise
from contract_lint.plugins.pipeline.tabulate import _plan_note, _rewrites, _verdict

LOOP = """\
HloModule loop, num_partitions=2

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

body {
  p = (f32[]) parameter(0)
  x = f32[] get-tuple-element(p), index=0
  r = f32[] all-reduce(x), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=add
  ROOT out = (f32[]) tuple(r)
}

condition {
  p = (f32[]) parameter(0)
  x = f32[] get-tuple-element(p), index=0
  limit = f32[] constant(8)
  ROOT less = pred[] compare(x, limit), direction=LT
}

ENTRY main {
  x = f32[] parameter(0)
  start = (f32[]) tuple(x)
  ROOT w = (f32[]) while(start), condition=condition, body=body%s
}
"""
KNOWN = ', backend_config={"known_trip_count":{"n":"5"}}'


@pytest.mark.parametrize(("config", "told"), [("", True), (KNOWN, False)])
def test_counts_that_are_only_a_lower_bound_are_told(config: str, told: bool) -> None:
    evidence: Any = SimpleNamespace(
        contract=SimpleNamespace(collectives=None), partitioned=collectives(parse_hlo(LOOP % config))
    )
    note = _plan_note(cast(StepEvidence, evidence))
    assert note == ("collectives in a loop of unknown length are counted for one round: w" if told else None)


GATHER = """\
HloModule gather, num_partitions=2

ENTRY main {
  x = TYPE[4] parameter(0)
  y = f32[8] parameter(1)
  g = TYPE[8] all-gather(x), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, dimensions={0}
  ROOT r = f32[] dot(g, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
}
"""


def test_what_travels_narrowed_is_told_with_its_dtype() -> None:
    asked, runs = (collectives(parse_hlo(GATHER.replace("TYPE", dtype))) for dtype in ("f32", "bf16"))
    evidence: Any = SimpleNamespace(explanation=explain(asked, runs))
    said = "as run: narrowed (1 execution, in bf16); remainder 0 elements"
    assert _rewrites(cast(StepEvidence, evidence)) == (said,)


PROMISES = {
    "as promised": (Promise(1, 8, "k"), "ok"),
    "another count": (Promise(2, 16, "k"), "differs"),
    "fewer than run": (Promise(0, 0, "k"), "differs"),
    "another size": (Promise(1, 4, "k"), "differs"),
    "no promise": (None, "unplanned"),
}


@pytest.mark.parametrize("name", PROMISES)
def test_a_row_is_judged_by_its_own_numbers(name: str) -> None:
    promise, verdict = PROMISES[name]
    ledger = collectives(parse_hlo(GATHER.replace("TYPE", "f32")), MeshFact(axes={"data": 2}))
    here, elsewhere = ("all-gather", ("data",)), ("all-reduce", ("data",))
    section = SimpleNamespace(allow=[])
    evidence: Any = SimpleNamespace(contract=SimpleNamespace(collectives=section), partitioned=ledger)
    step = cast(StepEvidence, evidence)
    expected = {elsewhere: Promise(3, 24, "k")} | ({here: promise} if promise else {})
    assert _verdict(here, expected, step) == verdict
    assert _verdict(elsewhere, expected, step) == "missing"
    assert _verdict(("all-to-all", ("data",)), expected, step) == "rewritten"
    assert _verdict(here, None, step) == "-"
    if promise is None:
        section.allow = [AllowedCollective(kind="all-gather", axes="data", elements_max=8, reason="small")]
        assert _verdict(here, expected, step) == "allowed"
