"""The forecast of one step: what it asks of each device and the bound on its time, from program and contract."""

from __future__ import annotations

from ...contracts.errors import ContractLintError
from ...contracts.plan.flops import ModelFlops, model_flops
from ...contracts.target_name import TargetName, parse_target
from ...hlo_tools.cost import cost
from ...hlo_tools.roofline import Roofline, roofline
from ...linters.evidence import StepEvidence
from .tables import AxisRow, ForecastTable, ResourceRow

FAST = "the program was compiled at effort fast; at full effort it may move fewer bytes"


def forecast(evidence: StepEvidence) -> ForecastTable | None:
    """The forecast of a captured step; None where it was not compiled."""
    module, ledger = evidence.step.optimized, evidence.optimized
    if module is None or ledger is None:
        return None
    target = target_named(evidence.target)
    if target is not None and ledger.devices > target.devices:
        # A step that makes devices of its own is no reason to judge nothing.
        target = None
    memory = evidence.memory
    found = roofline(cost(module), ledger, target, memory.need_bytes if memory is not None else None)
    model = _model(evidence)
    if model is not None:
        found.tokens, found.model_flops, found.recomputed_flops = model.tokens, model.flops, model.recomputed
        found.model_formula = f"{model.formula}, N = {model.weights:,}; {model.source}"
    if evidence.capture.manifest.provenance.effort == "fast" and target is not None and target.platform == "tpu":
        found.assumptions += (FAST,)
    return as_table(found)


def target_named(name: str | None) -> TargetName | None:
    """The target of that name; None where there is none."""
    try:
        return parse_target(name) if name else None
    except ValueError:
        return None


def as_table(found: Roofline) -> ForecastTable:
    """The roofline as rows of a report."""
    work = found.cost
    binding = found.binding
    return ForecastTable(
        target=found.target,
        devices=found.devices,
        flops=work.flops,
        matrix_flops=tuple(work.matrix_flops.items()),
        vector_flops=work.vector_flops,
        transcendentals=work.transcendentals,
        hbm_bytes=work.hbm_bytes,
        host_bytes=work.host_bytes,
        link=found.link_name,
        network=found.network_name,
        collectives=tuple(AxisRow(load.axes, load.link_bytes, load.network_bytes) for load in found.loads),
        resources=tuple(
            ResourceRow(r.name, r.amount, r.unit, r.rate, r.seconds, r is binding and r.seconds > 0, r.source, r.note)
            for r in found.resources
        ),
        bound_seconds=found.seconds,
        binding=binding.name if binding is not None and found.seconds else None,
        no_bound=found.no_bound,
        need_bytes=found.need_bytes,
        capacity_bytes=found.capacity_bytes,
        capacity_source=found.capacity_source,
        tokens=found.tokens,
        tokens_per_second_max=found.tokens_per_second,
        model_flops=found.model_flops,
        model_formula=found.model_formula,
        recomputed_flops=found.recomputed_flops,
        mfu_max=found.mfu,
        assumptions=found.assumptions,
        not_counted=tuple(work.not_counted.items()),
        unknown_loops=tuple(work.unknown_loops),
    )


def _model(evidence: StepEvidence) -> ModelFlops | None:
    """Model FLOPs of the contract: three times the forward pass where the step hands its state on, else once."""
    try:
        return model_flops(evidence.contract, training=bool(evidence.facts.carry or evidence.facts.donate))
    except ContractLintError:
        return None
