"""From captures to findings: run the rules, fold consequences under causes, accept deviations, merge targets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from ..contracts.finding import Finding, merge_targets, sort_key, tell_apart
from ..contracts.load import LoadedContract
from .registry import rules
from .rule import Evidence
from .verdict.causes import LIMITS, fold
from .verdict.contract_causes import fold_contract
from .verdict.deviations import Verdict, accept, is_accepted
from .verdict.suppressions import suppress, suppressions

if TYPE_CHECKING:
    from ..hlo_tools.capture import Capture
    from .evidence import StepEvidence


def judge_contract(loaded: LoadedContract) -> list[Finding]:
    """Findings on the contract alone; imports nothing heavy and runs no user code."""
    return sorted(_suppressed(loaded, _contract_findings(loaded), ("contract",)), key=sort_key)


def _contract_findings(loaded: LoadedContract) -> list[Finding]:
    return merge_targets(finding for rule in rules("contract") for finding in rule.check(loaded))


def evidence_of(
    loaded: LoadedContract, captures: Sequence[Capture], run: bool = False, semantics: bool = False
) -> list[StepEvidence]:
    """One StepEvidence for each step of each capture; its ledgers are made once, for rules and reports."""
    from .evidence import StepEvidence  # a contract alone needs no reader of programs

    return [
        StepEvidence(loaded, capture, step, run_requested=run, semantics_requested=semantics)
        for capture in captures
        for step in capture.steps.values()
    ]


def judge(
    loaded: LoadedContract,
    captures: Sequence[Capture],
    run: bool = False,
    evidence: Sequence[StepEvidence] | None = None,
    *,
    semantics: bool = False,
) -> list[Finding]:
    """Findings on the contract and on every step of every capture, roots and consequences, sorted.

    `run` says that the verdict covers the executed loop too, `semantics` that it covers the probe; `evidence` is
    `evidence_of` the same arguments where the caller has it already. The same captures always give the same list.
    """
    if loaded.contract is None:
        return judge_contract(loaded)
    steps = evidence_of(loaded, captures, run, semantics) if evidence is None else evidence
    shown = [finding for each in _judged_apart(steps) for finding in fold(each, partial(is_accepted, loaded))]
    found = fold_contract(_contract_findings(loaded), shown)
    more: tuple[tuple[Evidence, bool], ...] = (("run", run), ("semantics", semantics))
    kinds: tuple[Evidence, ...] = ("contract", "trace", "program", *(kind for kind, asked in more if asked))
    verdict = Verdict(loaded, tuple(merge_targets(found)), frozenset())
    accepted = accept(verdict)
    if not _is_another(accepted):
        verdict = replace(verdict, judged=_judged_whole(loaded, steps, kinds))
    unused = [finding for rule in rules("verdict") for finding in rule.check(verdict)]
    return sorted(_suppressed(loaded, accepted + unused, kinds), key=sort_key)


def _judged_apart(steps: Sequence[StepEvidence]) -> list[list[Finding]]:
    """The findings of each step on each target, in the order of `steps`; lines are told apart."""
    judged = [list(_judge_step(each)) for each in steps]
    apart = iter(tell_apart(finding for each in judged for finding in each))
    return [list(islice(apart, len(each))) for each in judged]


def _judged_whole(loaded: LoadedContract, steps: Sequence[StepEvidence], kinds: Sequence[Evidence]) -> frozenset[str]:
    """Codes and names of the rules that left nothing unseen: on every step and target of the contract they were asked,
    or there is nothing that they could be asked about."""
    from .applicable import applicable

    promised = {entry.target for entry in loaded.contract.targets} if loaded.contract is not None else set()
    if not promised <= {each.target for each in steps}:
        return frozenset()
    of_steps = ("trace", "program", "run", "semantics")
    asked = [{rule.code for rule in applicable(each) if rule.evidence in kinds} for each in steps]
    whole = (rule for rule in rules() if rule.evidence not in of_steps or all(rule.code in codes for codes in asked))
    return frozenset(word for rule in whole for word in (rule.code, rule.name))


def _is_another(findings: Iterable[Finding]) -> bool:
    """Whether a step was traced as something else than was promised: what its program lacks then proves nothing."""
    traced = {rule.code for rule in rules("trace") if rule.severity == "error"}
    return any(finding.code in traced and finding.status == "new" for finding in findings)


def _judge_step(evidence: StepEvidence) -> Iterable[Finding]:
    from .applicable import applicable

    _ = evidence.step.optimized  # read whatever is promised: facts that are not this program's are refused there
    for rule in applicable(evidence):
        for finding in rule.check(evidence):
            yield replace(finding, step=evidence.name, targets=(evidence.target,))


def _suppressed(loaded: LoadedContract, findings: list[Finding], kinds: Iterable[Evidence]) -> list[Finding]:
    """The findings with the comments of the contract's files applied.

    What follows from a suppressed root is suppressed with it; a broken limit stands for itself.
    """
    # What a comment may name takes all rules to know: not for a text that only mentions this program.
    texts = {path: text for path, text in loaded.document.texts.items() if suppressions(path, text)}
    if not texts:
        return findings
    judged = {word for kind in kinds for rule in rules(kind) for word in (rule.code, rule.name)}
    known = {word for rule in rules() for word in (rule.code, rule.name)}
    for path, text in texts.items():
        findings = suppress(findings, path, text, judged=judged, known=known)
    hidden = {finding.fingerprint for finding in findings if finding.status == "suppressed"}
    return [_under_hidden(finding) if finding.caused_by in hidden else finding for finding in findings]


def _under_hidden(finding: Finding) -> Finding:
    if finding.status != "new":
        return finding
    return replace(finding, caused_by=None) if finding.code in LIMITS else replace(finding, status="suppressed")
