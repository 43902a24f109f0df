"""The optimised program has collectives that no known rewrite of the partitioned program explains.

## What it does
Maps the partitioned program's collectives to those of the optimised one by named rewrites (combined, hoisted out of a
loop, promoted to f32, reduce-scatter written as all-reduce and slice, ...). Each rewrite is exact; elements that are
left over on either side are reported.

## Why is this bad?
The partitioned program says what was asked for, the optimised one says what runs. A remainder is work that the
compiler added, or lost.

## Example
A compiler that turns one all-gather into two because of a layout change leaves a remainder of one all-gather.

## Use instead
Compare both ledgers with `contract-lint hlo collectives`; if the compiler is right, accept the finding as a
deviation.

## References
- https://openxla.org/xla/hlo_passes
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ....contracts.finding import Finding
from ....hlo_tools.canonical import Share
from ...evidence import StepEvidence
from ...rule import Rule
from ..match import Group, row_axes
from ..wording import axes_text

MAX_EVIDENCE = 20


def check(evidence: StepEvidence) -> Iterable[Finding]:
    explanation = evidence.explanation
    if explanation is None or evidence.contract.collectives is None:
        return
    changes: dict[Group, list[int]] = defaultdict(lambda: [0, 0])
    left: dict[Group, list[str]] = defaultdict(list)
    for side, sign, word in ((explanation.vanished, -1, "asked for"), (explanation.appeared, 1, "runs")):
        for share in side:
            group = share.row.kind, row_axes(share.row)
            change = changes[group]
            change[0] += sign * share.executions
            change[1] += sign * share.elements
            left[group].append(f"{word}: {_share_text(share)}")
    for (kind, axes), (executions, elements) in changes.items():
        yield RULE.finding(
            f"{kind} over {axes_text(axes)} differs by {executions:+,} executions and {elements:+,} elements between "
            "the partitioned and the optimised program, and no known rewrite explains it",
            subject=f"{kind}:{','.join(axes)}",
            location=evidence.place("collectives"),
            key="collectives",
            expected="a remainder of 0 elements",
            found=f"{elements:+,} elements",
            evidence=tuple(left[kind, axes][:MAX_EVIDENCE]),
            help="compare both with `contract-lint hlo collectives`; accept it as a deviation if the compiler is right",
            details={"kind": kind, "axes": list(axes)},
        )


def _share_text(share: Share) -> str:
    row = share.row
    place = f", at {row.source}" if row.source else ""
    return f"{row.name}: {share.executions:,} x {share.elements // share.executions:,} {row.dtype}{place}"


RULE = Rule(
    code="SHD211", name="unexplained-collective", severity="warning", evidence="program", doc=__doc__ or "", check=check
)
