"""What a contract has its steps probed for. Never imports jax."""

from __future__ import annotations

from ...contracts.model import COUNTING, Contract, DataSection
from ...contracts.model.data_fields import FieldSection
from ...contracts.model.optimizer import AdamTransform, ClipTransform, TraceTransform
from ..request import SemanticsRequest


def asked_semantics(contract: Contract) -> SemanticsRequest:
    """The probe's request, as far as the contract says anything."""
    accumulation, optimizer, data = contract.accumulation, contract.optimizer, contract.data or DataSection()
    chain = optimizer.chain if optimizer is not None else []
    clip = next((each for each in chain if isinstance(each, ClipTransform)), None)
    adam = next((each for each in chain if isinstance(each, AdamTransform)), AdamTransform(kind="scale_by_adam"))
    trace = next((each for each in chain if isinstance(each, TraceTransform)), None)
    return SemanticsRequest(
        microbatches=contract.microbatches,
        order=accumulation.order if accumulation is not None else "strided",
        masks=tuple(tuple(data.names_of(role)) for role in COUNTING),
        labels={name: _least(data.batch_fields.get(name)) for name in data.names_of("targets")},
        clip=clip.max_norm if clip is not None else None,
        clip_arg=clip.arg if clip is not None else None,
        b1=trace.decay if trace is not None else adam.b1,
        b2=adam.b2,
        eps=adam.eps,
    )


def _least(labels: FieldSection | None) -> float | None:
    return labels.least if labels is not None else None
