"""The roofline of one step: the least time that each resource of the target needs for it. A bound, never a prediction.

The step takes at least as long as its busiest resource (Williams, Waterman and Patterson, Roofline, 2009): matrix units
at their peak, device memory, the links of each mesh axis, the network between slices or hosts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ...contracts.errors import ContractLintError
from ...contracts.hardware import Figure
from ...contracts.target_name import TargetName
from ..collectives import CollectiveLedger
from ..cost import CostLedger
from ..mesh_axes import Axes
from ..module import HloModule
from .assumptions import AS_SCHEDULED, assumptions
from .path import Path, path
from .rates import peak_for
from .wires import NAMES, Load, Wires, axes_text, wires

SCHEMA_VERSION = 1
MAX_DEVICES = 1 << 22
Unit = Literal["FLOP", "byte"]


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of a device: what a step asks of it, what it does a second, and the seconds that takes at least."""

    name: str
    amount: int
    unit: Unit
    rate: float | None
    seconds: float
    source: str
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("name", "amount", "unit", "rate", "seconds", "source", "note")}


@dataclass(frozen=True, slots=True)
class AxisLoad:
    """Bytes one device sends in a step over one set of mesh axes; `link` inside a slice or host, `network` between."""

    axes: Axes
    link_bytes: int
    network_bytes: int

    def as_json(self) -> dict[str, Any]:
        axes = list(self.axes) if isinstance(self.axes, tuple) else self.axes
        return {"axes": axes, "link_bytes": self.link_bytes, "network_bytes": self.network_bytes}


@dataclass(slots=True)
class Roofline:
    """What one step asks of one device, and the bound on its time by resource.

    `resources` is empty where the target has no published peak (`no_bound` says why); then nothing is bounded.
    `mfu_max` is model FLOPs over what all devices could do at their bf16 peak in the bound's time (PaLM, 2204.02311).
    """

    cost: CostLedger
    target: str | None
    devices: int
    loads: list[AxisLoad] = field(default_factory=list)
    link_name: str = "links"
    network_name: str = "network"
    resources: list[Resource] = field(default_factory=list)
    no_bound: str | None = None
    need_bytes: int | None = None
    capacity_bytes: int | None = None
    capacity_source: str | None = None
    tokens: int | None = None
    model_flops: int | None = None
    model_formula: str | None = None
    recomputed_flops: int | None = None
    peak: Figure | None = None
    peak_per_device: float | None = None
    path: Path | None = None
    """The step as scheduled."""
    assumptions: tuple[str, ...] = ()
    made_for: str | None = None
    """The platform the program was compiled for, where it is not the one it is bounded on."""

    @property
    def binding(self) -> Resource | None:
        """The resource that needs longest."""
        return max(self.resources, key=lambda resource: resource.seconds, default=None)

    @property
    def seconds(self) -> float | None:
        """The least time of one step; None where nothing is bounded."""
        return self.binding.seconds if self.binding is not None and self.binding.seconds else None

    @property
    def tokens_per_second(self) -> float | None:
        """At most this many, over all devices."""
        return self.tokens / self.seconds if self.tokens is not None and self.seconds else None

    @property
    def mfu(self) -> float | None:
        """Model FLOPs utilisation: at most this part of the peak."""
        if self.model_flops is None or not self.seconds or not self.peak_per_device:
            return None
        return self.model_flops / (self.devices * self.peak_per_device * self.seconds)

    def as_json(self) -> dict[str, Any]:
        cost = self.cost
        return {
            "schema_version": SCHEMA_VERSION,
            "module": cost.module,
            "target": self.target,
            "devices": self.devices,
            "flops": cost.flops,
            "matrix_flops": cost.matrix_flops,
            "vector_flops": cost.vector_flops,
            "transcendentals": cost.transcendentals,
            "stated_flops": cost.stated_flops,
            "hbm_bytes": cost.hbm_bytes,
            "host_bytes": cost.host_bytes,
            "link": self.link_name,
            "network": self.network_name,
            "collective_bytes": [load.as_json() for load in self.loads],
            "resources": [resource.as_json() for resource in self.resources],
            "bound_seconds": self.seconds,
            "binding": self.binding.name if self.binding is not None else None,
            "no_bound": self.no_bound,
            "scheduled": self.path.as_json() if self.path is not None else None,
            "hbm_need_bytes": self.need_bytes,
            "hbm_capacity_bytes": self.capacity_bytes,
            "hbm_capacity_source": self.capacity_source,
            "tokens": self.tokens,
            "tokens_per_second_max": self.tokens_per_second,
            "model_flops": self.model_flops,
            "model_formula": self.model_formula,
            "recomputed_flops": self.recomputed_flops,
            "mfu_max": self.mfu,
            "assumptions": list(self.assumptions),
            "not_counted": cost.not_counted,
            "unknown_loops": cost.unknown_loops,
            "products": [product.as_json() for product in cost.products],
        }


def roofline(
    cost: CostLedger,
    ledger: CollectiveLedger,
    target: TargetName | None = None,
    need_bytes: int | None = None,
    module: HloModule | None = None,
) -> Roofline:
    """The roofline of one step on `target`; without one, or on cpu, what it asks for and no time. With the `module`
    also its time as scheduled; `ledger` is then what it prints.

    Raises ContractLintError where the program runs on more devices than the target has.
    """
    if target is not None and ledger.devices > target.devices:
        raise ContractLintError(
            f"{ledger.module!r} runs on {ledger.devices:,} devices; {target.text} has {target.devices:,}",
            help="name the target that it was compiled for",
        )
    if ledger.devices > MAX_DEVICES:
        raise ContractLintError(f"{ledger.module!r} runs on {ledger.devices:,} devices; no target has that many")
    found = Roofline(cost, target.text if target is not None else None, ledger.devices, need_bytes=need_bytes)
    if target is None or target.platform == "cpu":
        found.loads = _unplaced(ledger)
        found.no_bound = "no target is named" if target is None else "a cpu has no published peak"
        found.assumptions = assumptions(None, cost)
        return found
    kind = target.kind
    found.link_name, found.network_name = NAMES[target.platform]
    found.capacity_bytes, found.capacity_source = kind.program_bytes, kind.program_source
    found.peak = kind.peak("bf16")
    found.peak_per_device = kind.share(found.peak) if found.peak is not None else None
    carried = wires(ledger, target)
    found.loads = [AxisLoad(load.axes, round(load.link_bytes), round(load.network_bytes)) for load in carried.loads]
    found.resources = [*_compute(cost, target), *_memory(cost, target), *_links(carried, target, found)]
    found.resources += _network(carried.loads, target, found)
    found.path = path(module, ledger, target) if module is not None else None
    found.assumptions = (*assumptions(target, cost), *((AS_SCHEDULED,) if found.path is not None else ()))
    return found


def _unplaced(ledger: CollectiveLedger) -> list[AxisLoad]:
    """Ring bytes by axes, where nothing is known of the wires."""
    sent: dict[Axes, int] = {}
    for total in ledger.totals():
        sent[total.axes] = sent.get(total.axes, 0) + total.ring_bytes
    return [AxisLoad(axes, size, 0) for axes, size in sent.items() if size]


def _compute(cost: CostLedger, target: TargetName) -> list[Resource]:
    """Matrix products, each at the fastest peak its operands can run at; all of them share the matrix units."""
    parts = []
    for dtype, flops in cost.matrix_flops.items():
        peak = peak_for(target.kind, dtype)
        if flops and peak is not None:
            parts.append((peak[0], flops, flops / target.kind.share(peak[1]), peak[1]))
    if not parts:
        return []
    amount = sum(flops for _, flops, _, _ in parts)
    seconds = sum(seconds for _, _, seconds, _ in parts)
    rates = " and ".join(dict.fromkeys(rate for rate, _, _, _ in parts))
    figure = max(parts, key=lambda part: part[2])[3]
    note = f"{rates} peak" + (f", {figure.note}" if figure.note else "")
    return [Resource("compute", amount, "FLOP", amount / seconds, seconds, figure.source, note)]


def _memory(cost: CostLedger, target: TargetName) -> list[Resource]:
    figure = target.kind.hbm_rate
    if figure is None or not cost.hbm_bytes:
        return []
    rate = target.kind.share(figure)
    return [Resource("HBM", cost.hbm_bytes, "byte", rate, cost.hbm_bytes / rate, figure.source, figure.note)]


def _links(carried: Wires, target: TargetName, found: Roofline) -> list[Resource]:
    figure = target.kind.link
    if figure is None:
        return []
    rows = [load for load in carried.loads if load.link_bytes and load.link_seconds]
    resources = [
        Resource(
            f"{found.link_name} over {axes_text(load.axes)}",
            round(load.link_bytes),
            "byte",
            float(load.link_bytes) / load.link_seconds if load.link_seconds else None,
            load.link_seconds or 0.0,
            figure.source,
            figure.note,
        )
        for load in rows
    ]
    together = carried.together_seconds or 0.0
    if len(rows) > 1 and together > 0:
        amount = round(sum(load.link_bytes for load in rows))
        note = "collectives over different axes share links"
        resources.append(
            Resource(f"{found.link_name} over all axes", amount, "byte", None, together, figure.source, note)
        )
    return resources


def _network(loads: list[Load], target: TargetName, found: Roofline) -> list[Resource]:
    """One adapter carries every axis: the rows of one resource add up."""
    figure = target.kind.network
    crossing = [load for load in loads if load.network_bytes]
    if figure is None or not crossing:
        return []
    amount = sum(load.network_bytes for load in crossing)
    rate = target.kind.share(figure)
    axes = ", ".join(axes_text(load.axes) for load in crossing)
    name = f"{found.network_name} over {axes}"
    return [Resource(name, round(amount), "byte", rate, float(amount) / rate, figure.source, figure.note)]
