"""`hlo lint`: a program, a capture's program or a compiler's log judged by itself, without a contract."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.manifest import MeshFact
from ...hlo_tools.canonical import canonical_ledger, summed
from ...hlo_tools.capture import MANIFEST
from ...hlo_tools.postmortem import post_mortem
from ...hlo_tools.remat_messages import SAID, remat_message, remat_messages
from ...linters.dump.evidence import DumpEvidence
from ...linters.dump.judge import judge_dump
from .hlo import Program, Stage, content, is_text, open_program, program_of, require_no_choice
from .report import FailOn, Report, report
from .selection import require_known, selected

VERB = "hlo lint"


def lint(
    source: str,
    *,
    step: str | None = None,
    stage: Stage = "optimized",
    mesh: MeshFact | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    fail_on: FailOn = "error",
) -> Report:
    """Judge the program of a file, a capture's folder or `-`, or the messages of a compiler's log.

    Raises ContractLintError for a source that cannot be read and for an unknown rule.
    """
    require_known([*select, *ignore])
    evidence, proof = _evidence(source, step, stage, mesh)
    found = selected(judge_dump(evidence), select, ignore)
    targets = (evidence.target,) if evidence.target else ()
    return report(found, verb=VERB, subject=evidence.name, targets=targets, fail_on=fail_on, proof=proof)


def _evidence(source: str, step: str | None, stage: Stage, mesh: MeshFact | None) -> tuple[DumpEvidence, str]:
    """What there is to judge, and in a few words what was looked at."""
    path = Path(source)
    if source != "-" and (os.path.isdir(path) or path.name == MANIFEST):
        return _of_program(open_program(source, step=step, stage=stage, mesh=mesh))
    require_no_choice(source, step, stage)
    name, data = content(source)
    if is_text(data) and SAID.encode() in data:
        messages = remat_messages(data.decode("utf-8", "replace"))
        return DumpEvidence(name, messages=messages), "a log of the compiler"
    try:
        return _of_program(program_of(name, data, mesh))
    except ContractLintError as error:
        if is_text(data) and post_mortem(data.decode("utf-8", "replace")) is not None:
            said = "is a report of memory that ran out, no program"
            raise ContractLintError(said, Location(name), "`contract-lint hlo memory` reads it") from error
        if is_text(data) and b"HloModule" not in data and b" = " not in data:
            said = "holds no HLO, and none of the compiler's messages that are known here"
            raise ContractLintError(said, Location(name), "give HLO text or proto, a capture, or a log") from error
        raise


def _of_program(program: Program) -> tuple[DumpEvidence, str]:
    warnings = program.facts.warnings if program.facts is not None else []
    messages = tuple(
        remat_message(warning.message, number)
        for number, warning in enumerate(warnings, 1)
        if warning.kind == "involuntary-rematerialization"
    )
    found = DumpEvidence(program.name, program.module, program.mesh, messages, program.target)
    # Counted as `hlo collectives` counts them: what is sent, however many instructions spell it.
    moved = 0
    if found.ledger is not None:
        moved = sum(total.count for total in summed(canonical_ledger(found.ledger)).totals())
    return found, f"{moved:,} collective{'s' * (moved != 1)} a step looked at"
