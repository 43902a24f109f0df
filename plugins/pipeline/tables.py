"""The facts a report shows beside its findings, as plain rows: plan against program, memory, tensors, run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Axes = tuple[str, ...] | str | None
"""Mesh axes of a collective: names, `irregular`, or None where unknown."""

CollectiveVerdict = Literal["ok", "allowed", "rewritten", "differs", "unplanned", "missing", "-"]
"""`rewritten`: only the optimised module has it, by a named rewrite of planned ones; `-`: nothing is promised."""

Standing = Literal["run", "estimate", "refused"]

TermVerdict = Literal["ok", "differs", "unexplained", "hidden"]
"""`unexplained`: the step's gradient is no sum of the promised terms; `hidden`: a term of no weight, or one
that rounding hides, has no ratio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveRow:
    """All collectives of one kind over one set of axes in one step, loops multiplied.

    `elements` and bytes are per device and step; `partitioned_*` is the canonical module after SPMD partitioning, which
    the plan is compared with; `optimized_*` is what runs. None: there is no such module or no plan.
    """

    kind: str
    axes: Axes
    plan_count: int | None = None
    plan_elements: int | None = None
    partitioned_count: int | None = None
    partitioned_elements: int | None = None
    partitioned_ring_bytes: int | None = None
    optimized_count: int | None = None
    optimized_elements: int | None = None
    optimized_ring_bytes: int | None = None
    verdict: CollectiveVerdict = "ok"
    formula: str | None = None

    @property
    def agrees(self) -> bool:
        """Whether plan and partitioned program have the same numbers; allowed rows besides make them differ."""
        same_elements = self.plan_elements in (None, self.partitioned_elements)
        return self.plan_count == self.partitioned_count and same_elements


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTable:
    """Device memory of one step in bytes per device; `hbm` is the promise, `state_plan_bytes` the closed form.

    `standing` says what the figures are of: `run`, the program as it runs; `estimate`, a fast compile for a TPU, which
    a full one may exceed; `refused`, a program that the compiler gave up for its size.
    """

    need_bytes: int
    peak_bytes: int | None
    argument_bytes: int
    output_bytes: int
    alias_bytes: int
    temp_bytes: int
    code_bytes: int
    state_bytes: int | None
    state_plan_bytes: int | None
    hbm_bytes: int | None
    by_class: tuple[tuple[str, int, int | None], ...] = ()
    """Class, bytes live at the peak, and its limit in the contract or None."""
    state_stored_bytes: int | None = None
    """The state filled up to the tiles it is stored in."""
    standing: Standing = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorRow:
    """The tensors of one class: how many, bytes per device, and bytes of those that every device holds whole."""

    cls: str
    count: int
    bytes: int
    replicated_bytes: int
    plan_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """One value compared with the one-device run: `ratio` is the difference over its bound; at most 1 is clean."""

    role: str
    path: str
    ratio: float | None
    error: float | None
    bound: float | None
    floor: float | None
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """What happened while the step ran."""

    steps: int
    compiles: tuple[str, ...]
    compiles_promised: int | None
    transfers: tuple[str, ...]
    losses: tuple[float, ...]
    comparisons: tuple[ComparisonRow, ...]
    not_compared: tuple[tuple[str, str], ...]

    @property
    def worst(self) -> float | None:
        """The largest ratio over everything compared."""
        ratios = [row.ratio for row in self.comparisons if row.ratio is not None]
        return max(ratios) if ratios else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TermRow:
    """One term of the objective with so many microbatches on so many devices.

    `ratio` is <g, ref> / <ref, ref>, its part of the step's gradient over the promised one, weight and normaliser
    included; None where that part is not this term's promised sum, or hidden.
    """

    term: str
    weight: float
    normaliser: str
    microbatches: int
    devices: int
    ratio: float | None
    tolerance: float | None
    verdict: TermVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRow:
    """The loss of the step with so many microbatches beside the promised one."""

    microbatches: int
    devices: int
    found: float
    promised: float
    equal_digits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeaningTable:
    """What the probe of one step measured of its objective, in the arithmetic of `precision`."""

    precision: str
    terms: tuple[TermRow, ...]
    losses: tuple[LossRow, ...]


@dataclass(frozen=True, slots=True)
class AxisRow:
    """Bytes that one device sends in one step over some mesh axes: inside a slice or host, and between them."""

    axes: Axes
    link_bytes: int
    network_bytes: int


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """What one step asks of one resource of a device, and the seconds that takes at the published rate."""

    name: str
    amount: int
    unit: Literal["FLOP", "byte"]
    rate: float | None
    seconds: float
    binds: bool
    source: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastTable:
    """What one step costs one device, and the least time it takes there: a bound, never a prediction.

    Without published peaks (`no_bound` says why) there are no resources and nothing is bounded. Tokens and model FLOPs
    are those of the whole step on all devices.
    """

    target: str | None
    devices: int
    flops: int
    matrix_flops: tuple[tuple[str, int], ...]
    vector_flops: int
    transcendentals: int
    hbm_bytes: int
    host_bytes: int
    link: str
    network: str
    collectives: tuple[AxisRow, ...]
    resources: tuple[ResourceRow, ...]
    bound_seconds: float | None
    binding: str | None
    no_bound: str | None
    need_bytes: int | None
    capacity_bytes: int | None
    capacity_source: str | None
    tokens: int | None
    tokens_per_second_max: float | None
    model_flops: int | None
    model_formula: str | None
    recomputed_flops: int | None
    mfu_max: float | None
    assumptions: tuple[str, ...]
    not_counted: tuple[tuple[str, int], ...]
    unknown_loops: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTables:
    """One step on one target."""

    target: str
    step: str
    devices: int
    device_kind: str
    mesh: tuple[tuple[str, int], ...] | None
    collectives: tuple[CollectiveRow, ...] = ()
    plan_note: str | None = None
    """Why there is no plan, where there is none."""
    rewrites: tuple[str, ...] = ()
    """The named rewrites that lead from the partitioned to the optimised module."""
    not_judged: str | None = None
    """What the contract promises and nobody could look at, and why; None where everything was judged."""
    memory: MemoryTable | None = None
    tensors: tuple[TensorRow, ...] = ()
    forecast: ForecastTable | None = None
    run: RunTable | None = None
    meaning: MeaningTable | None = None

    def as_json(self) -> dict[str, Any]:
        """The rows as plain data, tuples as lists."""
        return asdict(self)
