"""What a record says of a capture is not what the capture holds.

## What it does
Reads every capture that the record binds, where its files are unchanged, and holds to it the programs that the record
has from it, the contract they were compiled for, and the devices with their flags. Nothing may be left out, nothing
may be there that no capture holds, and every file of the capture must be bound.

## Why is this bad?
The digest of the program is what a result was computed by. One that was edited, in a record that got a new name for its
new bytes, makes another program look like the one that ran.

## Example
```json
{"programs": [{"target": "cpu:8", "step": "train", "sha256": "1f0c...", "capture": "cap"}]}
```
where the program in `cap` has another digest

## Use instead
```sh
contract-lint record create small.contract.yaml --capture cap
```

## References
- https://slsa.dev/spec/v1.0/provenance
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ....contracts.finding import Finding
from ....contracts.record import DeviceState, ProgramState, Record
from ...rule import Rule
from ..evidence import Captured, RecordEvidence


@dataclass(frozen=True, slots=True)
class _Told:
    """One contradiction; None: not there."""

    said: str
    subject: str
    found: str | None
    expected: str | None


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    record = evidence.record
    if record is None or evidence.recomputed is None:
        return
    captures = evidence.recomputed.captures
    bound = {file.path for file in record.files}
    told: list[_Told] = []
    for folder, captured in captures.items():
        if captured is None:
            told.append(_Told(f"the files of {folder} are no capture that can be read", folder, "files", "a capture"))
            continue
        told += _programs(record, folder, captured)
        told += (
            _Told(f"{path} is of the capture {folder}, and the record does not bind it", path, None, path)
            for path in captured.files
            if path not in bound
        )
    read = [captured for captured in captures.values() if captured is not None]
    whole = captures.keys() >= {each.capture for each in record.programs if each.capture} and len(read) == len(captures)
    told += _devices(record, [captured.device for captured in read], whole)
    for each in told:
        yield evidence.finding(
            RULE,
            each.said,
            subject=each.subject,
            expected=each.expected or "none",
            found=each.found or "none",
            help="make a new record: this one was put together by something else",
        )


def _programs(record: Record, folder: str, captured: Captured) -> Iterator[_Told]:
    written = {(each.target, each.step): each for each in record.programs if each.capture == folder}
    for target, step in sorted({*written, *captured.programs}):
        named = f"the program of {step} on {target}"
        said, now = written.get((target, step)), captured.programs.get((target, step))
        if said is None or now is None:
            left = "is in the capture, and the record leaves it out" if said is None else "is in no such capture"
            yield _Told(f"{named} {left}: {folder}", f"{folder} {named}", _digest(said), _digest(now))
            continue
        if said.sha256 != now.sha256:
            yield _Told(
                f"{named} is another than the one in {folder}", f"{folder} {named}", _digest(said), _digest(now)
            )
        if said.contract_digest != now.contract_digest:
            contracts = said.contract_digest, now.contract_digest
            yield _Told(f"{named} in {folder} was compiled for another contract", f"{folder} {named} for", *contracts)


def _digest(program: ProgramState | None) -> str | None:
    return None if program is None else program.sha256 or "not compiled"


def _devices(record: Record, held: list[DeviceState], whole: bool) -> Iterator[_Told]:
    """`whole`: every capture was read, so a device that none of them has is of none, and each has its own."""
    if whole and record.kind == "created" and 0 < len(held) != len(record.devices):
        counts = f"{len(record.devices):,}", f"{len(held):,}"
        yield _Told("there are not as many devices as captures", "devices", *counts)
    for device in record.devices:
        named, now = f"the devices of {device.target}", [each for each in held if each.target == device.target]
        if now and device not in now:
            names = [name for name in DeviceState.model_fields if getattr(device, name) != getattr(now[0], name)]
            said, follows = (", ".join(f"{name} {getattr(each, name)}" for name in names) for each in (device, now[0]))
            yield _Told(
                f"{named} are not those of the capture that is bound", f"devices {device.target}", said, follows
            )
        elif not now and whole and record.kind == "created":
            yield _Told(f"{named} are those of no capture that is bound", f"devices {device.target}", device.kind, None)


RULE = Rule(
    code="EXP614",
    name="capture-not-following",
    severity="error",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
