"""The optimised program has collectives that no known rewrite of the partitioned program explains.

## What it does
Maps the partitioned program's collectives to those of the optimised one by named rewrites (combined, hoisted out of a
loop, promoted to f32, converted before it travels, reduce-scatter written as all-reduce and slice, run in steps inside
TPU slices and between them, ...). Each rewrite is exact; elements that are left over on either side are reported.

## Why is this bad?
The partitioned program says what was asked for, the optimised one says what runs. A remainder is work that the
compiler added, or lost.

## Example
A compiler that turns one all-gather into two because of a layout change leaves a remainder of one all-gather.

## Use instead
Keep the programs with `contract-lint capture CONTRACT --target T -o DIR`. Compare
`contract-lint hlo collectives DIR --stage partitioned` with `--stage optimized`; if the compiler is right, accept the
finding as a deviation.

## References
- https://openxla.org/xla/hlo_passes
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ....contracts.finding import Finding
from ....hlo_tools.canonical import Share
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..match import Group, row_axes
from ..wording import axes_text


def check(evidence: StepEvidence) -> Iterable[Finding]:
    explanation = evidence.explanation
    if explanation is None or evidence.contract.collectives is None:
        return
    sides: dict[Group, list[list[Share]]] = defaultdict(lambda: [[], []])
    left: dict[Group, list[str]] = defaultdict(list)
    for side, (shares, word) in enumerate(((explanation.vanished, "asked for"), (explanation.appeared, "runs"))):
        for share in shares:
            group = share.row.kind, row_axes(share.row)
            sides[group][side].append(share)
            left[group].append(f"{word}: {_share_text(share)}")
    for (kind, axes), (asked, runs) in sides.items():
        elements = sum(share.elements for share in (*asked, *runs))
        yield RULE.finding(
            f"{kind} over {axes_text(axes)}: {_side_text(asked)} of the partitioned program and {_side_text(runs)} of "
            "the optimised one are left over, and no known rewrite explains them",
            subject=f"{kind}:{','.join(axes)}",
            location=evidence.place("collectives"),
            key="collectives",
            expected="a remainder of 0 elements",
            found=f"a remainder of {elements:,} elements",
            evidence=shown(left[kind, axes]),
            help=f"`contract-lint capture {evidence.loaded.path} --target {evidence.target} -o DIR` keeps both; "
            f"`contract-lint hlo collectives DIR --step {evidence.name} --stage partitioned`, then `--stage optimized` "
            "list them with their dtypes and places; accept it as a deviation if the compiler is right",
            details={"kind": kind, "axes": list(axes)},
        )


def _side_text(shares: list[Share]) -> str:
    """`9 executions (229,632 elements, f32)`, or `nothing`."""
    if not shares:
        return "nothing"
    runs, elements = sum(share.executions for share in shares), sum(share.elements for share in shares)
    dtypes = ", ".join(sorted({share.row.dtype for share in shares}))
    return f"{runs:,} execution{'s' if runs != 1 else ''} ({elements:,} elements, {dtypes})"


def _share_text(share: Share) -> str:
    row = share.row
    place = f", at {row.source}" if row.source else ""
    return f"{row.name}: {share.executions:,} x {share.elements // share.executions:,} {row.dtype}{place}"


RULE = Rule(
    code="SHD211", name="unexplained-collective", severity="warning", evidence="program", doc=__doc__ or "", check=check
)
