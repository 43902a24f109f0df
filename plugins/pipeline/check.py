"""`check`: find contracts and Python source in a tree and judge both. Never imports jax or user code."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...contracts.find import find_contracts
from ...contracts.finding import Finding, Location, merge_targets
from ...contracts.problems import UNREADABLE
from ...linters.source.files import excluded
from .report import FailOn, Report, report
from .selection import require_known, selected
from .settings import Settings
from .sweep import Sweep, Swept

if TYPE_CHECKING:
    from ...contracts.load import LoadedContract


@dataclass(frozen=True, slots=True)
class Contracts:
    """The contracts of a run: what was read, what is wrong, and how many there were before any was excluded."""

    loaded: tuple[LoadedContract, ...] = ()
    findings: tuple[Finding, ...] = ()
    count: int = 0
    there: int = 0


def check(
    paths: Sequence[Path],
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    exclude: Sequence[str] = (),
    fail_on: FailOn = "error",
) -> Report:
    """Findings on every contract and every Python file at or below `paths`.

    Raises ContractLintError for a path that does not exist, an unknown rule, and a contract named by itself that
    cannot be read; one met in a folder that cannot be read is a finding instead.
    """
    settings = Settings(Path.cwd(), select=tuple(select), ignore=tuple(ignore), exclude=tuple(exclude), fail_on=fail_on)
    return check_with(paths, settings, lambda path: settings, Sweep(cache=False))[0]


def check_with(
    paths: Sequence[Path],
    settings: Settings,
    settings_of: Callable[[str], Settings],
    sweep: Sweep,
    statistics: bool = False,
    contracts: bool = True,
) -> tuple[Report, Swept]:
    """`check` with the settings of the run and of each file; `sweep` says what is done with Python source, `contracts`
    whether contracts are looked for at all."""
    per_file = [rule for entry in settings.per_file_ignores for rule in entry.rules]
    require_known([*settings.select, *settings.ignore, *per_file])
    judged = _contracts(paths, settings) if contracts and sweep.stdin is None else Contracts()
    names = tuple(each.path for each in judged.loaded)
    swept = sweep.run([os.fspath(path) for path in paths], settings, settings_of, judged.findings, names)
    resolved = ()
    if judged.loaded:
        from .resolved import resolved_rows

        resolved = resolved_rows(judged.loaded)
    made = report(
        swept.findings,
        verb="check",
        subject=_subject(judged.count, swept.count - swept.notebooks, swept.notebooks),
        contracts=names,
        sources=swept.count,
        excerpts=swept.excerpts,
        notes=swept.notes,
        resolved=resolved,
        statistics=statistics,
        fail_on=settings.fail_on,
    )
    nothing = not judged.count and not swept.count
    return replace(made, proof=_nothing(paths, judged.there)) if nothing else made, swept


def _contracts(paths: Sequence[Path], settings: Settings) -> Contracts:
    """Every contract at or below `paths`, judged by itself."""
    there = find_contracts(paths)
    files = [path for path in there if not excluded(path.as_posix(), settings.exclude)]
    if not files:
        return Contracts(there=len(there))
    from ...contracts.load import load_contract

    named = {os.path.realpath(path) for path in paths if not os.path.isdir(path)}
    loaded, found = [], []
    for path in files:
        if os.path.realpath(path) in named:
            loaded.append(load_contract(path).readable())
        elif os.path.isfile(path):
            loaded.append(load_contract(path, may_be_base=True))
        else:
            found.append(UNREADABLE.at(Location(path.as_posix()), "is no file, or a link that leads to none"))
    found += [finding for each in loaded for finding in static_findings(each)]
    shown = selected(found, settings.select, settings.ignore)
    return Contracts(tuple(loaded), tuple(shown), len(files), len(there))


def static_findings(loaded: LoadedContract) -> list[Finding]:
    """Everything wrong with one contract: what its reader met and what the rules on contracts say."""
    from ...linters.judge import judge_contract

    return merge_targets([*loaded.findings, *judge_contract(loaded)])


def _subject(contracts: int, files: int, notebooks: int) -> str:
    """`1 contract`, `3 contracts, 41 Python files and 2 notebooks`, `1 Python file`."""
    counts = ((contracts, "contract"), (files, "Python file"), (notebooks, "notebook"))
    parts = [f"{count:,} {noun}{'s' * (count != 1)}" for count, noun in counts if count]
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0] if parts else "0 contracts"


def _nothing(paths: Sequence[Path], left_out: int) -> str:
    """What was looked for, and how a contract is made."""
    if left_out:
        return (
            f"all {left_out} contracts at {_listed(paths)} are excluded"
            if left_out > 1
            else (f"the one contract at {_listed(paths)} is excluded")
        )
    return (
        f"no Python file (*.py, *.ipynb) and no contract (*.contract.yaml) at {_listed(paths)}; "
        "`contract-lint init my_pkg.train:build --target cpu:8` writes a first contract from a step"
    )


def _listed(paths: Sequence[Path]) -> str:
    names = [path.as_posix() for path in paths[:3]]
    return ", ".join(names) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
