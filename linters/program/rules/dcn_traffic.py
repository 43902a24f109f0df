"""More crosses the network between slices or hosts than the contract allows.

## What it does
Finds, by the ids of their devices, the collectives whose groups reach over several slices (TPU) or hosts (GPU), adds up
what one device has to send between them in a step, each byte once (hierarchical collectives), and compares the sum with
`collectives.dcn_max`.

## Why is this bad?
The network between slices is ten to a hundred times slower than the links inside. A mesh that lays the axis of the
weight gathers over it waits for the network in every layer; the program is the same, to the element.

## Example
```yaml
# every weight is gathered across the slices
mesh: { axes: { data: 2, fsdp: 256 }, dcn: { fsdp: 2 } }
collectives: { dcn_max: 64MiB }
```

## Use instead
```yaml
# only gradients cross, once
mesh: { axes: { data: 2, fsdp: 256 }, dcn: { data: 2 } }
```

## References
- https://jax-ml.github.io/scaling-book/sharding/
- https://docs.jax.dev/en/latest/jax.experimental.mesh_utils.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ....contracts.target_name import parse_target
from ....hlo_tools.collectives import Collective
from ....hlo_tools.roofline.fabric import PARTS
from ....hlo_tools.roofline.wires import between_parts
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..match import row_axes
from ..wording import axes_text, frame_apart, name_at, place_at

KEY = "collectives.dcn_max"


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section, ledger = evidence.contract.collectives, evidence.partitioned
    if section is None or section.dcn_max is None or ledger is None:
        return
    target = parse_target(evidence.target)
    crossing = [(row, sent) for row, sent in between_parts(ledger, target) if sent]
    total = int(sum((sent for _, sent in crossing), Fraction()))
    if total <= section.dcn_max:
        return
    lines: dict[str, list[tuple[Collective, Fraction]]] = defaultdict(list)
    for row, sent in crossing:
        lines[row.source or row.name].append((row, sent))
    ordered = sorted(lines.items(), key=lambda item: -sum(sent for _, sent in item[1]))
    rows = [row for row, _ in ordered[0][1]]
    frame = frame_apart(rows, (row for row, _ in crossing if row not in rows))
    parts = PARTS.get(target.platform, "slices")
    axes = sorted({axes_text(row_axes(row)) for row, _ in crossing})
    yield RULE.finding(
        f"{format_bytes(total)} per device and step cross between {parts}, over {', '.join(axes)}; "
        f"the limit is {format_bytes(section.dcn_max)}",
        subject=f"dcn:{name_at(frame, rows[0])}",
        location=place_at(frame) or evidence.place(KEY),
        key=KEY,
        instruction=rows[0].name,
        expected=f"at most {section.dcn_max:,} bytes",
        found=f"{total:,} bytes",
        evidence=shown(
            (
                f"{format_bytes(int(sum(sent for _, sent in found)))}: {found[0][0].kind} over "
                f"{axes_text(row_axes(found[0][0]))}, {sum(row.count for row, _ in found):,} executions, at {source}"
                for source, found in ordered
            ),
            most=10,
        ),
        help=f"lay the axis of the largest over the links inside: let `mesh.dcn` split an axis that only "
        f"gradients cross, or shard over fewer {parts}",
        details={"bytes": total, "axes": axes},
    )


RULE = Rule(
    code="SHD216",
    name="dcn-traffic",
    severity="error",
    evidence="program",
    doc=__doc__ or "",
    check=check,
    compiled=False,
)
