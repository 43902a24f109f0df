"""From a contract and its captures to a report: judge, tabulate, and say what a clean verdict rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...contracts.finding import Finding
from ...contracts.load import LoadedContract
from ...contracts.model import format_bytes
from ...hlo_tools.capture import Capture
from ...linters.evidence import StepEvidence
from ...linters.judge import evidence_of, judge
from ...linters.semantics.wording import counted_by, with_microbatches
from .not_checked import NotChecked
from .report import FailOn, Report, report
from .resolved import resolved_rows
from .selection import selected
from .tables import StepTables
from .tabulate import tabulate


@dataclass(frozen=True, slots=True)
class Filters:
    """Which findings are shown, and from which severity on they fail."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: FailOn = "error"


def judged(
    loaded: LoadedContract,
    captures: Sequence[Capture],
    *,
    verb: str,
    run: bool = False,
    semantics: bool = False,
    filters: Filters | None = None,
    not_checked: Sequence[NotChecked] = (),
) -> Report:
    """Every finding and every table; `run` says that the executed loop is judged too, `semantics` the probe,
    `not_checked` which targets have no capture that they should have."""
    evidence = evidence_of(loaded, captures, run, semantics)
    findings = judge(loaded, captures, run, evidence, semantics=semantics)
    tables = list(map(tabulate, evidence))
    return reported(
        loaded,
        findings,
        captures,
        tables,
        verb=verb,
        filters=filters,
        not_checked=not_checked,
        probed=(*_probed(evidence), *_only_read(loaded, semantics)),
    )


def reported(
    loaded: LoadedContract,
    findings: Iterable[Finding],
    captures: Sequence[Capture] = (),
    tables: Sequence[StepTables] = (),
    *,
    verb: str,
    filters: Filters | None = None,
    not_checked: Sequence[NotChecked] = (),
    probed: Sequence[str] = (),
) -> Report:
    """The report on one contract; `probed` are the parts of a clean verdict that the probe of a step's meaning adds."""
    filters = filters or Filters()
    contract = loaded.contract
    return report(
        selected(findings, filters.select, filters.ignore),
        verb=verb,
        subject=contract.name if contract is not None else loaded.path,
        targets=tuple(map(target_of, captures)),
        contracts=(loaded.path,),
        captures=tuple(capture.manifest.provenance.model_dump(mode="json") for capture in captures),
        tables=tuple(tables),
        resolved=resolved_rows([loaded]),
        fail_on=filters.fail_on,
        proof="; ".join([_proof(tables), *probed]),
        not_checked=tuple(not_checked),
    )


def target_of(capture: Capture) -> str:
    """The target a capture was made for."""
    return capture.manifest.provenance.target


def _proof(tables: Sequence[StepTables]) -> str:
    """What a clean verdict rests on: `every promise holds; 3 kinds of collective exactly as promised`."""
    parts = ["every promise holds"]
    kept = sum(row.plan_count is not None and row.verdict == "ok" for each in tables for row in each.collectives)
    if kept:
        parts.append(f"{kept} kind{'s' * (kept != 1)} of collective exactly as promised")
    ratios = [each.run.worst for each in tables if each.run is not None and each.run.worst is not None]
    if ratios:
        parts.append(f"worst ratio against one device {max(ratios):.2g} of 1")
    return "; ".join([*parts, *_estimates(tables)])


def _probed(evidence: Iterable[StepEvidence]) -> Iterable[str]:
    """`2 terms as promised with 1, 2, 4 and 8 microbatches (float64)`; `1 of 2` where rounding hides the other.

    Which id of the labels does not count is said where no contract does."""
    for each in evidence:
        if each.diagnosis is not None and each.diagnosis.measured:
            count = len(each.diagnosis.terms)
            seen = {found.index for one in each.diagnosis.measured for found in one.found if found.ratio is not None}
            of = f"{len(seen)} of {count}" if len(seen) < count else str(count)
            counts = with_microbatches(fact.fact.microbatches for fact in each.diagnosis.measured)
            facts = each.diagnosis.facts
            yield f"{of} term{'s' * (count != 1)} as promised {counts} ({facts.precision})"
            if facts.uncounted is not None and facts.uncounted.inferred:
                yield from counted_by(facts)


def _only_read(loaded: LoadedContract, semantics: bool) -> Iterable[str]:
    """Sections that were held against the contract alone: `objective and data judged as written, not measured`.

    A batch is what `batch check` looks at; no capture has one."""
    contract = loaded.contract
    if contract is None:
        return
    measured = {"objective": contract.objective, "rng": contract.rng, "metrics": contract.metrics}
    left = [name for name, section in measured.items() if section and not semantics]
    streams = contract.rng.streams.values() if contract.rng is not None else ()
    apart = [word for word in ("layer", "device") if any(word in granularity for granularity in streams)]
    left += [f"rng for each {' and '.join(apart)}"] if apart and semantics else []
    left += [name for name in ("eval", "data") if getattr(contract, name) is not None]
    if left:
        names = " and ".join([", ".join(left[:-1]), left[-1]] if left[1:] else left)
        yield f"{names} judged as written, not measured"


def _estimates(tables: Sequence[StepTables]) -> Iterable[str]:
    """Memory that nobody proved: a fast compile's, far enough below its limit to pass on it."""
    for each in tables:
        memory, forecast = each.memory, each.forecast
        if memory is None or memory.standing != "estimate":
            continue
        allowed = [size for size in (memory.hbm_bytes, forecast.capacity_bytes if forecast else None) if size]
        of = f" of {format_bytes(min(allowed))}" if allowed else ""
        step = f" for {each.step}" if sum(other.target == each.target for other in tables) > 1 else ""
        yield (
            f"memory on {each.target}{step} likely, by a fast compile alone: {format_bytes(memory.need_bytes)}{of}, "
            "full effort not compiled"
        )
