"""The optimised program has collectives that no known rewrite of the partitioned program explains.

## What it does
Maps the partitioned program's collectives to those of the optimised one by named rewrites (combined, hoisted out of a
loop, promoted to f32, reduce-scatter written as all-reduce and slice, ...). Each rewrite is exact; elements that are left
over on either side are reported.

## Why is this bad?
The partitioned program says what was asked for, the optimised one says what runs. A remainder is work that the compiler
added, or lost.

## Example
A compiler that turns one all-gather into two because of a layout change leaves a remainder of one all-gather.

## Use instead
Compare both ledgers with `contract-lint hlo collectives`; if the compiler is right, accept the finding as a deviation.

## References
- https://openxla.org/xla/hlo_passes
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....hlo_tools.canonical import explain
from ...evidence import StepEvidence
from ...rule import Rule
from ..wording import axes_text


def check(evidence: StepEvidence) -> Iterable[Finding]:
    if evidence.partitioned is None or evidence.optimized is None or evidence.contract.collectives is None:
        return
    for row in explain(evidence.partitioned, evidence.optimized).remainder:
        yield RULE.finding(
            f"{row.kind} over {axes_text(row.axes)} differs by {row.elements:+,} elements between the partitioned and the "
            "optimised program, and no known rewrite explains it",
            subject=f"{row.kind}:{','.join(row.axes)}",
            location=evidence.place("collectives"),
            key="collectives",
            expected="a remainder of 0 elements",
            found=f"{row.elements:+,} elements",
            help="compare both with `contract-lint hlo collectives`; accept it as a deviation if the compiler is right",
            details={"kind": row.kind, "axes": list(row.axes)},
        )


RULE = Rule(code="SHD211", name="unexplained-collective", severity="warning", evidence="program", doc=__doc__ or "", check=check)
