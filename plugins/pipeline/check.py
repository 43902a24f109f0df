"""`check`: find contracts in a tree and judge each one by itself. Never imports jax or user code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from ...contracts.finding import Finding, Location, merge_targets
from ...contracts.load import LoadedContract, find_contracts, load_contract
from ...contracts.problems import UNREADABLE
from ...linters.judge import judge_contract
from .report import FailOn, Report, report
from .resolved import resolved_rows
from .selection import require_known, selected


def check(
    paths: Sequence[Path],
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    exclude: Sequence[str] = (),
    fail_on: FailOn = "error",
) -> Report:
    """Findings on every contract at or below `paths`.

    Raises ContractLintError for a path that does not exist, an unknown rule, and a contract named by itself that
    cannot be read; one met in a folder that cannot be read is a finding instead.
    """
    require_known([*select, *ignore])
    named = {os.path.realpath(path) for path in paths if not os.path.isdir(path)}
    there = find_contracts(paths)
    contracts = [path for path in there if not _excluded(path, exclude)]
    loaded, unreadable = [], []
    for path in contracts:
        if os.path.realpath(path) in named:
            loaded.append(load_contract(path).readable())
        elif os.path.isfile(path):
            loaded.append(load_contract(path, may_be_base=True))
        else:
            unreadable.append(UNREADABLE.at(Location(path.as_posix()), "is no file, or a link that leads to none"))
    found = [*unreadable, *(finding for each in loaded for finding in static_findings(each))]
    count = len(contracts)
    return report(
        selected(found, select, ignore),
        verb="check",
        subject=f"{count} contract" if count == 1 else f"{count} contracts",
        contracts=tuple(each.path for each in loaded),
        resolved=resolved_rows(loaded),
        fail_on=fail_on,
        proof=None if count else _nothing(paths, len(there)),
    )


def static_findings(loaded: LoadedContract) -> list[Finding]:
    """Everything wrong with one contract: what its reader met and what the rules on contracts say."""
    return merge_targets([*loaded.findings, *judge_contract(loaded)])


def _excluded(path: Path, exclude: Sequence[str]) -> bool:
    """Whether a shell pattern matches the path as given (or any folder above it), or its name."""
    spellings = [path, *path.parents]
    return any(fnmatch(each.as_posix(), pattern.rstrip("/")) for pattern in exclude for each in spellings) or any(
        fnmatch(path.name, pattern) for pattern in exclude
    )


def _nothing(paths: Sequence[Path], excluded: int) -> str:
    """Why there was nothing to check, and how a contract is made."""
    if excluded:
        return (
            f"all {excluded} contracts at {_listed(paths)} are excluded"
            if excluded > 1
            else (f"the one contract at {_listed(paths)} is excluded")
        )
    return (
        f"no *.contract.yaml at {_listed(paths)}; `contract-lint init my_pkg.train:build --target cpu:8` writes a "
        "first one from a step"
    )


def _listed(paths: Sequence[Path]) -> str:
    names = [path.as_posix() for path in paths[:3]]
    return ", ".join(names) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
