"""Captures of a contract's targets, made in child processes; the only pipeline that needs jax (in the child)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...contracts.load import LoadedContract, load_contract
from ...hlo_tools.capture import Capture, read_capture
from ...runtime.contract import capture_contract
from ...runtime.launch import DEFAULT_TIMEOUT
from ...runtime.targets import Effort
from ...runtime.targets import target as parse_target
from .not_checked import NotChecked, of_each, stopped
from .targets import chosen_targets, note_options, require_jax

RUN_STEPS = 3
"""Steps executed by `--run`: the first compiles, the second shows what changed, the third that nothing does."""


def capture(path: str | os.PathLike[str], **options: Any) -> list[Path]:
    """Capture a contract's steps and return the folder of each target's capture; options are those of `capture_each`.

    Raises ContractLintError for whatever makes a capture impossible; those of the other targets are there all the same.
    """
    folders, missing = capture_each(path, **options)
    if missing:
        raise stopped(missing)
    return folders


def capture_each(
    path: str | os.PathLike[str],
    *,
    targets: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    run: bool = False,
    semantics: bool = False,
    steps: int | None = None,
    cache: bool = True,
    python: str | None = None,
    timeout: float | None = None,
    effort: Effort | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] | None = None,
) -> tuple[list[Path], list[NotChecked]]:
    """Capture a contract's steps; the folder of each target's capture, and the targets that have none, and why.

    `out` is the folder of the one target's capture, or with several targets the folder that gets one below it for each
    (`cpu-8`). `effort` is how hard the compiler tries, None each target's default. `cache_dir` is where captures are
    kept. Raises ContractLintError where no target can be captured.
    """
    loaded = load_contract(Path(path)).readable()
    note_options(say)
    names = chosen_targets(loaded, targets)

    def one(name: str) -> Path:
        folder = _folder(out, name, len(names))
        return _capture_one(loaded, name, folder, run, semantics, steps, cache, python, timeout, effort, cache_dir, say)

    return of_each(names, one, say)


def capture_targets(
    loaded: LoadedContract,
    targets: Sequence[str] = (),
    *,
    run: bool = False,
    semantics: bool = False,
    steps: int | None = None,
    cache: bool = True,
    python: str | None = None,
    timeout: float | None = None,
    effort: Effort | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] | None = None,
) -> list[Capture]:
    """One capture for each target, read back, in the contract's order. Arguments are those of `capture_each`; raises
    ContractLintError for the first that cannot be made."""
    names = chosen_targets(loaded, targets)
    return [
        read_capture(
            _capture_one(loaded, name, None, run, semantics, steps, cache, python, timeout, effort, cache_dir, say)
        )
        for name in names
    ]


def _capture_one(
    loaded: LoadedContract,
    name: str,
    out: Path | None,
    run: bool,
    semantics: bool,
    steps: int | None,
    cache: bool,
    python: str | None,
    timeout: float | None,
    effort: Effort | None,
    cache_dir: str | os.PathLike[str] | None,
    say: Callable[[str], None] | None,
) -> Path:
    require_jax(python)
    executes = parse_target(name).executes
    if (run or semantics) and not executes and say is not None:
        say(f"{name}: compiled only, this target cannot be executed here")
    return capture_contract(
        loaded,
        name,
        out=out,
        run_steps=(steps or RUN_STEPS) if run and executes else 0,
        semantics=semantics and executes,
        python=python,
        timeout=timeout or DEFAULT_TIMEOUT,
        cache=cache,
        effort=effort,
        cache_dir=cache_dir,
        on_progress=None if say is None else lambda phase: say(f"{name}: {phase}"),
    )


def _folder(out: str | os.PathLike[str] | None, target: str, count: int) -> Path | None:
    if out is None:
        return None
    return Path(out) if count == 1 else Path(out) / target.replace(":", "-")
