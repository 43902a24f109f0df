"""What a record of `verify` or `train` says of devices and programs does not follow from its contract.

## What it does
Holds the devices to the name of their target (how many, of a CPU also the kind and effort) and to the mesh of the
contract; the programs to the steps of the contract, of which `verify` has one for each target, and `train` one; the
targets of the verdict, and the steps that metrics name, to the devices and programs; the steps of a run to the number
of its losses. Of a training run also the compiler's flags, which follow from the versions. A mesh that is not the
contract's is a warning in a record of `verify`, which judges what a step makes of it. What a capture alone tells is
held to it where one is bound (`EXP614`), and else is told to be taken as written.

## Why is this bad?
A time of a step means nothing without the devices that it was measured on, a verdict nothing without the programs that
it is on.

## Example
```json
{"kind": "verify", "devices": [{"target": "cpu:8", "devices": 4}], "programs": []}
```

## Use instead
```sh
contract-lint verify small.contract.yaml
```

## References
- https://slsa.dev/spec/v1.0/provenance
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from ....contracts.finding import Finding, Severity
from ....contracts.model import Contract
from ....contracts.record import DeviceState, Record, StepRange
from ....contracts.target_name import parse_target
from ...rule import Rule
from ..evidence import RecordEvidence

MESH = "SHD214"
"""The rule that says that a step has another mesh than the contract. To load it takes all that reads programs."""
_OF_STEP = re.compile(r".+\[(?P<target>\S+) (?P<step>\S+)\]")
"""What the metrics of `verify` are called."""


@dataclass(frozen=True, slots=True)
class _Told:
    key: str
    said: str
    expected: str
    found: str
    severity: Severity = "error"


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    record = evidence.record
    if record is None or record.kind == "created":
        return
    flags = evidence.recomputed.flags if evidence.recomputed is not None else {}
    contract = _contract(record)
    told = [each for device in record.devices for each in _device(record, contract, device)]
    for device in record.devices:
        follow = flags.get(device.target)
        if follow is not None and device.xla_flags != list(follow):
            said = f"the flags on {device.target} are not those that the trainer gives"
            told.append(_Told("devices", said, " ".join(follow) or "none", " ".join(device.xla_flags) or "none"))
    told += [*_programs(record, contract), *_others(record), *_steps(record)]
    for each in told:
        yield evidence.finding(
            RULE,
            each.said,
            subject=each.said,
            key=each.key,
            severity=each.severity,
            expected=each.expected,
            found=each.found,
            help="make a new record: this one was edited, or put together by something else",
        )


def _contract(record: Record) -> Contract | None:
    """The contract that a record holds; None where it is none, which its file tells better."""
    try:
        return Contract.model_validate(record.config)
    except ValidationError:
        return None


def _device(record: Record, contract: Contract | None, device: DeviceState) -> Iterator[_Told]:
    target, trained = device.target, record.kind == "train"
    try:
        parsed = parse_target(target)
    except ValueError as error:
        yield _Told("devices", f"there is no target `{target[:80]}`", str(error), target[:80])
        return
    if device.devices != parsed.devices:
        said = f"{target} has another number of devices"
        yield _Told("devices", said, f"{parsed.devices:,}", f"{device.devices:,}")
    if (trained or parsed.platform == "cpu") and device.kind != parsed.platform:
        yield _Told("devices", f"the devices of {target} are of another kind", parsed.platform, device.kind)
    efforts = (None,) if trained else ("full",) if parsed.platform == "cpu" else ("fast", "full")
    if device.effort not in efforts:
        expected = " or ".join(map(str, efforts))
        yield _Told("devices", f"{target} was compiled for with another effort", expected, f"{device.effort}")
    mesh = contract.mesh_for(target) if contract is not None else None
    known = any(each.startswith(MESH) for verdict in record.verdicts for each in verdict.findings)
    older = any(each.contract_digest != record.contract.digest for each in record.programs if each.target == target)
    if mesh is None or known or older:  # EXP609 tells the last
        return
    promised, there = (_axes(axes) for axes in (mesh.axes, device.mesh or {}))
    if promised != there:
        said = f"the mesh on {target} is not the contract's"
        yield _Told("devices", said, promised, there, "error" if trained else "warning")


def _axes(mesh: Mapping[str, int]) -> str:
    """Axes in the order of their names: a record does not hold another."""
    return " x ".join(f"{name} {size}" for name, size in sorted(mesh.items()) if size > 1) or "one device"


def _programs(record: Record, contract: Contract | None) -> Iterator[_Told]:
    """`train` has one device and one program, `verify` each step of the contract for each of its devices."""
    if not record.devices:
        yield _Told("devices", f"a record of kind `{record.kind}` has no devices", "the target", "none")
    if record.kind == "train":
        for key, count in (("devices", len(record.devices)), ("programs", len(record.programs))):
            if count > 1 or (key == "programs" and not count):
                yield _Told(key, f"a training run has another number of {key}", "1", f"{count:,}")
    steps = list(contract.step) if contract is not None else []
    there = {(each.target, each.step) for each in record.programs}
    for program in record.programs:
        # One of another version of the contract may have a step that is gone: EXP609.
        if steps and program.step not in steps and program.contract_digest == record.contract.digest:
            said = f"the program of {program.step} on {program.target} is of no step of the contract"
            yield _Told("programs", said, ", ".join(steps), program.step)
    for target in dict.fromkeys(each.target for each in record.devices) if record.kind == "verify" else ():
        for step in (step for step in steps if (target, step) not in there):
            yield _Told("programs", f"the step {step} was verified on {target}, and has no program", step, "none")


def _others(record: Record) -> Iterator[_Told]:
    targets, there = [each.target for each in record.devices], {(each.target, each.step) for each in record.programs}
    for verdict in record.verdicts:
        if verdict.source is None and verdict.targets != targets:
            said = "the verdict is on other targets than there are devices of"
            yield _Told("verdicts", said, ", ".join(targets) or "none", ", ".join(verdict.targets) or "none")
    if record.kind == "train":
        if len(record.checkpoints) > 1:
            yield _Told("checkpoints", "a training run has several checkpoints", "1", f"{len(record.checkpoints):,}")
        return
    for name in record.metrics:
        match = _OF_STEP.fullmatch(name)
        if match is None or (match["target"], match["step"]) not in there:
            yield _Told("metrics", f"the metric {name} is of no program in the record", "NAME[TARGET STEP]", name)
    if record.checkpoints:
        said = "`verify` has a checkpoint, and saves none"
        yield _Told("checkpoints", said, "none", record.checkpoints[0].folder)


def _steps(record: Record) -> Iterator[_Told]:
    """A training run has a loss for each of its steps; `verify` has none."""
    steps, loss = record.steps, record.metrics.get("loss")
    if steps is None:
        return
    if record.kind != "train":
        yield _Told("steps", f"a record of kind `{record.kind}` went over steps", "none", _span(steps))
    elif steps.first > steps.last or (loss is not None and loss.count != steps.last - steps.first + 1):
        count = f"{loss.count:,} steps" if loss is not None else "a first step before the last"
        yield _Told("steps", "the steps of the run are not as many as its losses", count, _span(steps))


def _span(steps: StepRange) -> str:
    return f"{steps.first:,} to {steps.last:,}"


RULE = Rule(
    code="EXP616",
    name="not-of-contract",
    severity="error",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
