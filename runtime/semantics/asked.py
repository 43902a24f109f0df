"""What a contract has its steps probed for. Never imports jax."""

from __future__ import annotations

from ...contracts.model import ROLE_NAMES, Contract, Role
from ...contracts.model.optimizer import AdamTransform, ClipTransform, TraceTransform
from ..request import SemanticsRequest

COUNTING: tuple[Role, ...] = ("loss_mask", "loss_weights")
"""Roles of arrays that say which targets count, the likelier first."""


def asked_semantics(contract: Contract) -> SemanticsRequest:
    """The probe's request, as far as the contract says anything."""
    accumulation, optimizer = contract.accumulation, contract.optimizer
    chain = optimizer.chain if optimizer is not None else []
    clip = next((each for each in chain if isinstance(each, ClipTransform)), None)
    adam = next((each for each in chain if isinstance(each, AdamTransform)), AdamTransform(kind="scale_by_adam"))
    trace = next((each for each in chain if isinstance(each, TraceTransform)), None)
    return SemanticsRequest(
        microbatches=accumulation.microbatches if accumulation is not None else 1,
        order=accumulation.order if accumulation is not None else "strided",
        masks=tuple(name for role in COUNTING for name in _names(contract, role)),
        labels=tuple(_names(contract, "targets")),
        ignored=_ignored(contract),
        clip=clip.max_norm if clip is not None else None,
        clip_arg=clip.arg if clip is not None else None,
        b1=trace.decay if trace is not None else adam.b1,
        b2=adam.b2,
        eps=adam.eps,
    )


def _names(contract: Contract, role: Role) -> list[str]:
    """What arrays of a role are called: as the contract says, else as JAX code usually does."""
    fields = contract.data.batch_fields if contract.data is not None else {}
    return [name for name, field in fields.items() if field.role == role] or list(ROLE_NAMES[role])


def _ignored(contract: Contract) -> int | None:
    """The id of labels that do not count, where the promised range of the labels begins below 0."""
    fields = contract.data.batch_fields if contract.data is not None else {}
    declared = (fields[name] for name in _names(contract, "targets") if name in fields)
    return next((each.ignored_id for each in declared if each.range is not None), None)
