"""What the probe of one step is given, as JSON. Never imports jax."""

from __future__ import annotations

from ..request import MeshRequest, Message, SemanticsRequest, StepRequest


class ProbeRequest(Message):
    """`step.args` are the contract's; the probe adds `reference_args`, and widens both in float64 (`wide`)."""

    step: StepRequest
    target: str
    mesh: MeshRequest | None
    project_root: str
    asked: SemanticsRequest
    wide: bool = False
