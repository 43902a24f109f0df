"""A checkpoint or a report that a record binds is of another contract.

## What it does
Looks at what a bound checkpoint says of the contract that it was saved under (its item `contract`: a digest of each
section), and at the contract and the captures that a bound report names. The name and the sections that say what is
computed must be those of the record's contract; a report that names captures must name its digest, any other its file.
Evidence that names no contract is taken as it is.

## Why is this bad?
The verdict is on another promise, the weights are those of another run: what is concluded from them is not about this
contract.

## Example
```sh
contract-lint verify other.contract.yaml --format json --output report.json
contract-lint record create small.contract.yaml --report report.json
```

## Use instead
```sh
contract-lint verify small.contract.yaml --format json --output report.json
contract-lint record create small.contract.yaml --report report.json
```

## References
- https://slsa.dev/spec/v1.0/provenance
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from ....contracts.finding import Finding
from ....contracts.record import COMPUTED, ContractState
from ...cut import in_a_line
from ...rule import Rule
from ..evidence import RecordEvidence, Stated

_SHOWN = 4


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    if evidence.record is None or evidence.recomputed is None:
        return
    ours = evidence.record.contract
    for path, stated in evidence.recomputed.stated.items():
        told = _sections(ours, stated) or _digest(ours, stated) or _file(ours, stated)
        if told is not None:
            said, expected, found = told
            yield evidence.finding(
                RULE,
                f"{stated.what} is of another contract than {ours.path}{said}",
                subject=path,
                location=evidence.place(path),
                expected=expected,
                found=found,
                help="bind what was made with this contract, or make the record of the other one",
            )


_Told = tuple[str, str, str]
"""What else is said, what is expected and what was found."""


def _sections(ours: ContractState, stated: Stated) -> _Told | None:
    names = [name for name in ("name", *COMPUTED) if ours.sections.get(name) != stated.sections.get(name)]
    if not stated.sections or not names:
        return None
    expected, found = (each.get(names[0], "none") for each in (ours.sections, stated.sections))
    differ = "differs" if len(names) == 1 else "differ"
    return f": {in_a_line(names, _SHOWN)} {differ}", f"{names[0]} {expected}", f"{names[0]} {found}"


def _digest(ours: ContractState, stated: Stated) -> _Told | None:
    others = [each for each in stated.digests if each != ours.digest]
    if not others:
        return None
    files = in_a_line(stated.files, _SHOWN)
    return "", f"{ours.path} {ours.digest}", f"{files} {others[0]}".strip()


def _file(ours: ContractState, stated: Stated) -> _Told | None:
    names = {PurePosixPath(each).name for each in stated.files}
    if stated.digests or not names or PurePosixPath(ours.path).name in names:
        return None
    return "", ours.path, in_a_line(stated.files, _SHOWN)


RULE = Rule(
    code="EXP615",
    name="evidence-of-other-contract",
    severity="error",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
