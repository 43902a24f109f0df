"""A recognised JAX error in the user's step, as a finding at the user's line."""

from __future__ import annotations

from collections.abc import Iterable

from ...contracts.finding import Finding
from ..evidence import StepEvidence, frame_location
from ..rule import Rule

SHARDING_KINDS = frozenset({"indivisible", "unknown-axis", "ambiguous-sharding", "sharding-mismatch"})
ELSEWHERE = frozenset({"out-of-memory"})
"""Kinds that have a rule of their own."""

ADVICE = {
    "indivisible": "choose a size that the mesh axes divide, or leave this dimension whole",
    "unknown-axis": "use an axis name of the contract's mesh",
    "ambiguous-sharding": "state the result's placement with out_sharding, or reshard one operand",
    "sharding-mismatch": "reshard one side so that both placements agree",
    "compiler-option": "take the option out, or give it only where the step is built for a platform that has it",
    "concretization": "use jnp.where / lax.cond, or make the value a static argument",
}


def rejection(rule: Rule, evidence: StepEvidence, sharding: bool) -> Iterable[Finding]:
    """The step's error, if it is of the wanted family; at most one finding."""
    error = evidence.facts.error
    if error is None or error.kind in ELSEWHERE or (error.kind in SHARDING_KINDS) is not sharding:
        return
    first_line, _, rest = error.message.strip().partition("\n")
    function = f"{error.frames[0].path}:{error.frames[0].function}" if error.frames else ""
    yield rule.finding(
        f"{error.type} during {error.phase}: {first_line.strip() or error.type}",
        subject=f"{error.kind}:{function}",
        location=frame_location(error.frames) or evidence.place(evidence.step_key),
        found=error.type,
        # The first line is the message already; a report says it once.
        evidence=(
            *([rest.strip("\n")] if rest.strip() else []),
            *(f"{f.path}:{f.line} in {f.function}" for f in error.frames),
        ),
        help=ADVICE.get(error.kind, "run the step on its own to see the whole error"),
        details={"kind": error.kind, "phase": error.phase},
    )
