"""Promises and conditionals: a step takes one branch, and no branch may hold what nobody planned."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.linters.judge import judge

from .small_captures import CUDA, GIB, PARTITIONED, capture, contract

PROMISE = "{ kind: all-reduce, axes: data, count: 1, elements: 8 }"
HEAD, ENTRY = PARTITIONED.split("ENTRY")
BRANCHES = """ENTRY main {
  p = f32[8] parameter(0)
  q = pred[] parameter(1)
  ROOT c = f32[8] conditional(q, p, p), true_computation=dear, false_computation=cheap
}
"""


def branch(name: str, size: int, kind: str = "all-reduce") -> str:
    pairs = "source_target_pairs={{0,1},{1,0}}" if kind == "collective-permute" else "replica_groups={{0,1}}"
    more = "" if kind == "collective-permute" else ", use_global_device_ids=true, to_apply=add"
    return (
        f"{name} {{\n  p = f32[8] parameter(0)\n  s = f32[{size}] slice(p), slice={{[0:{size}]}}\n"
        f"  r = f32[{size}] {kind}(s), channel_id=1, {pairs}{more}\n"
        f"  ROOT o = f32[8] pad(r, r), padding=0_{8 - size}\n}}\n"
    )


def codes(folder: Path, cheap: str) -> list[str]:
    loaded = contract(folder, CUDA, more=f"mesh: {{ axes: {{ data: 2 }} }}\ncollectives: {{ expect: [{PROMISE}] }}\n")
    text = HEAD + branch("dear", 8) + cheap + BRANCHES
    findings = judge(loaded, [capture(folder / "c", CUDA, GIB, partitioned=text)])
    return sorted(finding.code for finding in findings if finding.code in ("SHD201", "SHD202", "SHD203", "SHD204"))


@pytest.mark.parametrize(
    ("cheap", "found"),
    [
        (branch("cheap", 8), []),
        (branch("cheap", 2), []),
        (branch("cheap", 2, "collective-permute"), ["SHD204"]),
    ],
    ids=["as dear", "cheaper", "of another kind"],
)
def test_one_branch_is_promised(tmp_path: Path, cheap: str, found: list[str]) -> None:
    assert codes(tmp_path, cheap) == found
