"""What a roofline takes for granted, in sentences: the bound holds as far as these do."""

from __future__ import annotations

from ...contracts.target_name import TargetName
from ..cost import CostLedger

_NAMED = 5
_COMPLEX = ("c64", "c128")
AS_SCHEDULED = (
    "as scheduled: kernels run one after the other, collectives and copies beside them until something waits for them; "
    "latencies are not counted"
)


def assumptions(target: TargetName | None, cost: CostLedger) -> tuple[str, ...]:
    """Everything the figures rest on; without a target only what concerns the counts."""
    said = []
    if target is not None:
        said += [
            "every resource runs at its published peak all the time, and all of them overlap perfectly",
            _compute(target, cost),
            _memory(target),
            *_wires(target),
        ]
    else:
        said.append("bytes: every kernel reads its operands and writes its results once")
    if cost.conditional:
        said.append("a conditional takes its dearest branch")
    if cost.stated_flops:
        said.append(f"{cost.stated_flops:,} FLOPs are what custom kernels state of themselves")
    if any(dtype in _COMPLEX for dtype in cost.matrix_flops):
        said.append(
            "complex products count as XLA counts them, a multiply-add two; in real numbers it is 8: "
            "they may take four times as long"
        )
    if cost.not_counted:
        names = ", ".join(f"{name} ({count:,})" for name, count in list(cost.not_counted.items())[:_NAMED])
        more = f" and {len(cost.not_counted) - _NAMED} more" if len(cost.not_counted) > _NAMED else ""
        said.append(f"FLOPs of custom calls are not counted: {names}{more}")
    if cost.unknown_loops:
        names = ", ".join(cost.unknown_loops[:_NAMED])
        said.append(f"loops of unknown length count as one round: {names}")
    return tuple(said)


def _compute(target: TargetName, cost: CostLedger) -> str:
    text = "compute: matrix products only; elementwise work has no published peak"
    if any(dtype in ("f32", "f64", *_COMPLEX) for dtype in cost.matrix_flops):
        as_what = "one bf16 pass" if target.platform == "tpu" else "TF32"
        text += f"; f32 products are taken to run as {as_what}"
    return text


def _memory(target: TargetName) -> str:
    text = "HBM: every kernel reads its operands and writes its results once"
    return f"{text}; a GPU's L2 cache may save a part" if target.platform == "cuda" else text


def _wires(target: TargetName) -> list[str]:
    if target.platform == "cuda":
        said = ["NVLink: collectives move the bytes of a ring; nothing is reduced in a switch"]
        if target.groups > 1:
            said.append("network: data crosses between hosts once, then spreads inside; one adapter for each GPU")
        return said
    ring = target.kind.ring
    rings = f"two links where a dimension closes to a ring (multiples of {ring}), else one" if ring else "one link"
    said = [f"ICI: a collective uses the links along the torus dimensions that its devices span: {rings}"]
    if target.groups > 1:
        said.append("DCN: data crosses between slices once, then spreads inside")
        if target.kind.network is None:
            said.append("DCN: no bandwidth is published, so it bounds nothing here")
    return said
