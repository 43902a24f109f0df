"""What the contract keeps in host memory lives on the device.

## What it does
Looks, for each entry of `memory.offload`, for its buffers in the host's memory space: the program's arguments for
`parameter` and `optimizer_slot`, buffers made while it runs for `activations`. On CPU, where host and device memory are
one, activations are never moved and nothing is said about them.

## Why is this bad?
Offloading goes by names and memory kinds that nothing checks: a name that no `checkpoint_name` gives, or a sharding
without `memory_kind`, compiles without a word, and everything stays on the device until it no longer fits.

## Example
```python
policy = jax.checkpoint_policies.save_and_offload_only_these_names(
    # checkpoint_name(x, "hidden")
    names_which_can_be_offloaded=["hiden"], ...)
```

## Use instead
Spell the name as `checkpoint_name` does; give the state's shardings `memory_kind="pinned_host"`.

## References
- https://docs.jax.dev/en/latest/notebooks/host-offloading.html
- https://docs.jax.dev/en/latest/gradient-checkpointing.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ....hlo_tools.arguments import argument_spaces
from ....hlo_tools.tensors import Tensor
from ...cut import shown
from ...evidence import StepEvidence, frame_location
from ...rule import Rule

HOST_SPACE = 5


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section, module = evidence.contract.memory, evidence.step.optimized
    if section is None or module is None:
        return
    for index, what in enumerate(section.offload):
        key = f"memory.offload[{index}]"
        if what != "activations":
            yield from _arguments(evidence, what, key)
        elif not evidence.target.startswith("cpu:"):
            yield from _activations(evidence, key)


def _activations(evidence: StepEvidence, key: str) -> Iterator[Finding]:
    if _made_on_host(evidence):
        return
    remats = evidence.facts.jaxpr.remats if evidence.facts.jaxpr else []
    policies = shown((f"jax.checkpoint with policy {remat.policy or 'none'}" for remat in remats), most=10)
    place = next((frame_location(remat.frames) for remat in remats if remat.frames), None)
    yield RULE.finding(
        "no value of the program is kept in host memory; the contract offloads activations",
        subject="activations",
        location=place or evidence.place(key),
        key=key,
        expected="buffers in host memory",
        found="none",
        evidence=policies or ("the step holds no jax.checkpoint",),
        help="compare the names in the policy with those of `checkpoint_name`, or drop the promise",
        details={"class": "activations"},
    )


def _made_on_host(evidence: StepEvidence) -> bool:
    """Whether the program makes buffers in the host's memory space."""
    ledger, module = evidence.memory, evidence.step.optimized
    spaces = ledger.spaces if ledger is not None else []
    if spaces or module is None:
        return any(space.number == HOST_SPACE and space.temp_bytes for space in spaces)
    return any(
        instruction.opcode == "dynamic-update-slice" and instruction.shape.memory_space == HOST_SPACE
        for instruction in module.instructions()
    )


def _arguments(evidence: StepEvidence, what: str, key: str) -> Iterator[Finding]:
    kept = list(_on_device(evidence, what))
    if not kept:
        return
    size = sum(tensor.bytes or 0 for tensor in kept)
    # jax drops the memory kinds of arguments when it lowers for a GPU that is described and not there.
    described = evidence.target.startswith("cuda:")
    yield RULE.finding(
        f"{len(kept)} {what.replace('_', ' ')}{'s' * (len(kept) != 1)} ({format_bytes(size)}) stay in device memory; "
        f"the contract keeps them on the host"
        + (" (for a described GPU jax drops memory kinds: a real one may differ)" if described else ""),
        subject=what,
        severity="warning" if described else "error",
        confidence="likely" if described else "certain",
        location=evidence.place(key),
        key=key,
        expected="host memory",
        found="device memory",
        evidence=shown(f"{tensor.path}: {format_bytes(tensor.bytes or 0)}" for tensor in kept),
        help='give their shardings memory_kind="pinned_host", in the arguments and in the results',
        details={"class": what, "bytes": size},
    )


def _on_device(evidence: StepEvidence, what: str) -> Iterator[Tensor]:
    module = evidence.step.optimized
    spaces = {} if module is None else argument_spaces(module)
    for tensor in evidence.tensors.rows:
        space = spaces.get(tensor.parameter) if tensor.parameter is not None else None
        if tensor.class_ == what and tensor.global_shape and space is not None and space != HOST_SPACE:
            yield tensor


RULE = Rule(code="MEM209", name="not-offloaded", severity="error", evidence="program", doc=__doc__ or "", check=check)
