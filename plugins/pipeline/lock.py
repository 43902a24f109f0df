"""`lock`: what each parameter means in training, compared with the committed lock, or written as the new one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.load import LoadedContract, load_contract
from ...contracts.lock import WHY_MAX, Lock, lock_path, read_lock
from ...hlo_tools.capture import Capture
from ...linters.lock.evidence import LockEvidence, lock_of
from ...linters.registry import rules
from .judged import Filters, reported, target_of
from .report import FailOn, Report
from .selection import require_known

Say = Callable[[str], None]
EXECUTES = "cpu:"
"""Only there is an update seen."""


def compare_lock(
    path: str | PathLike[str],
    *,
    targets: Sequence[str] = (),
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    fail_on: FailOn = "error",
    say: Say | None = None,
    **options: Any,
) -> Report:
    """What changed since the lock of the contract at `path` was written. Writes nothing.

    `options` are those of `capture_targets`. Raises ContractLintError where there is no lock, where it cannot be read,
    and for whatever keeps the steps from being measured.
    """
    require_known([*select, *ignore])
    loaded = _loaded(path)
    place = lock_path(Path(path))
    shown = lock_path(Path(loaded.path)).as_posix()
    if not place.is_file():
        raise ContractLintError(
            "there is no lock yet", Location(shown), 'write it with `contract-lint lock CONTRACT --update --why "..."`'
        )
    locked = read_lock(place, shown)
    capture = _captured(loaded, targets, say, options)
    evidence = LockEvidence(locked, lock_of(loaded, capture, locked.why))
    findings = [finding for rule in rules("lock") for finding in rule.check(evidence)]
    filters = Filters(tuple(select), tuple(ignore), fail_on)
    return reported(loaded, findings, [capture], verb="lock", filters=filters)


def update_lock(
    path: str | PathLike[str], why: str, *, targets: Sequence[str] = (), say: Say | None = None, **options: Any
) -> tuple[Path, Lock]:
    """Write the lock of the contract at `path`, in one rename. Raises ContractLintError as `compare_lock` does."""
    if not why.strip() or len(why) > WHY_MAX or not why.isprintable():
        raise ContractLintError(f"--why must be one line of at most {WHY_MAX} characters that says what changed")
    loaded = _loaded(path)
    lock = lock_of(loaded, _captured(loaded, targets, say, options), why.strip())
    place = lock_path(Path(path))
    partial = place.with_name(f".{place.name}.partial")
    try:
        partial.write_text(lock.as_text(), encoding="utf-8", newline="\n")
        partial.replace(place)
    except OSError as error:
        raise ContractLintError(f"cannot be written: {error.strerror or error}", Location(place.as_posix())) from error
    return place, lock


def _loaded(path: str | PathLike[str]) -> LoadedContract:
    loaded = load_contract(Path(path)).readable()
    if loaded.contract is None:
        first = loaded.findings[0]
        raise ContractLintError(f"the contract has errors: {first.message}", first.location, first.help)
    return loaded


def _captured(loaded: LoadedContract, targets: Sequence[str], say: Say | None, options: dict[str, Any]) -> Capture:
    """The first target that can execute, probed."""
    from .capture import capture_targets

    assert loaded.contract is not None
    named = targets or [entry.target for entry in loaded.contract.targets]
    target = next((name for name in named if name.startswith(EXECUTES)), None)
    if target is None:
        raise ContractLintError(
            "the contract names no target that can execute, and a lock is measured",
            loaded.place("targets"),
            "name one with --target, such as cpu:8",
        )
    (capture,) = capture_targets(loaded, [target], semantics=True, say=say, **options)
    for name, step in capture.steps.items():
        if step.facts.error is not None:
            raise ContractLintError(
                f"step `{name}` fails on {target_of(capture)}: {step.facts.error.message}",
                loaded.place(f"step.{name}"),
                "`contract-lint verify` says where",
            )
    return capture
