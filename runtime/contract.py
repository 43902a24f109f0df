"""From a loaded contract to a finished capture: the request, the cache, the child, the folder. Never imports jax."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..contracts.errors import ContractLintError
from ..contracts.finding import Location
from ..contracts.manifest import Manifest, Provenance
from .cache import CaptureCache, request_key
from .cache_places import cache_places
from .folders import made, removed, sweep
from .launch import DEFAULT_TIMEOUT, Progress, child_environment, run_child
from .request import ChildRequest, ChildResult, MeshRequest, StepRequest
from .semantics.asked import asked_semantics
from .targets import Effort
from .targets import target as parse_target

if TYPE_CHECKING:
    from ..contracts.load import LoadedContract
    from ..contracts.model import Contract

_TRIES = 16
ROOT_MARKS = ("pyproject.toml", ".git", "setup.py", "setup.cfg")


def capture_contract(
    loaded: LoadedContract,
    target: str,
    step_names: Sequence[str] | None = None,
    out: str | Path | None = None,
    run_steps: int = 0,
    semantics: bool = False,
    python: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    cache: bool = True,
    on_progress: Progress | None = None,
    effort: Effort | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
) -> Path:
    """Capture steps of a contract (default: all) for one target and return the capture's folder.

    `out`: the folder to write, None for one where captures are kept. `run_steps` > 0 also executes the steps that
    often, `semantics` probes what they mean. `effort`: how hard the compiler tries, None the target's default.
    `python`: the interpreter the user's code runs in. `timeout` in seconds. With `cache`, an unchanged capture is used
    again. `cache_dir`: where captures are kept, None for `.contract-lint` in the project. Raises ContractLintError for
    a step or target that does not exist, for a folder that is no capture, and for whatever goes wrong in the child.
    """
    contract = loaded.contract
    if contract is None:
        raise ContractLintError("the contract has errors; run `contract-lint check` first", Location(loaded.path))
    file = Path(loaded.document.source.path).resolve()
    root = project_root(file)
    request = _request(loaded, contract, target, step_names, file, root, run_steps, effort, semantics)
    destination = _destination(out)
    store = _cache(root, cache_dir, on_progress)
    key = request_key(request, python, child_environment(target, _settings()))
    found = store.find(key) if cache else None
    if found is None:
        fresh = store.fresh()
        try:
            result = run_child(request.model_copy(update={"out": str(fresh)}), on_progress, timeout, python)
            found = _finished(result, loaded, fresh, store, key, cache, target)
        finally:
            removed(fresh.parent)
    elif on_progress is not None:
        on_progress(f"unchanged since the last capture for {target}")
    return found if destination is None else _copied(found, destination)


def adopt(
    loaded: LoadedContract,
    made: ChildRequest,
    result: ChildResult,
    python: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    say: Progress | None = None,
) -> Path | None:
    """Keep a capture that was made before its contract was written as the one that the contract asks for.

    `made` is the request it comes from. Returns the capture's new place in the cache (the folder is moved there); None,
    and nothing is done, where the contract asks for anything else than was made.
    """
    contract = loaded.contract
    if contract is None or result.capture_dir is None:
        return None
    file = Path(loaded.document.source.path).resolve()
    root = project_root(file)
    request = _request(loaded, contract, made.target, None, file, root, made.run_steps, made.effort)
    given = made.mesh or result.mesh
    # A build function that got no mesh takes none: one in the contract only describes the program's.
    if _asked(request) != _asked(made) or (given is not None and not _same_mesh(request.mesh, given)):
        return None
    manifest = result.capture_dir / "manifest.json"
    told = Manifest.model_validate_json(manifest.read_text())
    own = told.provenance.model_copy(update={"contract_digest": loaded.digest})
    manifest.write_text(told.model_copy(update={"provenance": own}).model_dump_json(indent=1) + "\n")
    key = request_key(request, python, child_environment(made.target, _settings()))
    return _cache(root, cache_dir, say).store(key, result.capture_dir, result.inputs)


def _asked(request: ChildRequest) -> tuple[Any, ...]:
    """What of a request a capture depends on, beside target and mesh. A contract repeats which arguments its step
    donates and which are static."""
    steps = [step.model_dump(exclude={"donate", "static"}) for step in request.steps]
    return steps, parse_target(request.target, request.effort).effort, request.project_root, request.run_steps


def _same_mesh(one: MeshRequest | None, other: MeshRequest) -> bool:
    return one is not None and (list(one.axes.items()), one.dcn) == (list(other.axes.items()), other.dcn)


def _finished(
    result: ChildResult,
    loaded: LoadedContract,
    fresh: Path,
    store: CaptureCache,
    key: str,
    cache: bool,
    target: str,
) -> Path:
    if result.failure is not None:
        location = loaded.place(tuple(result.failure.key)) if result.failure.key else None
        raise result.failure.as_error(location)
    if cache:
        return store.store(key, fresh, result.inputs)
    return store.set_apart(fresh, target)


def _cache(root: Path, chosen: str | os.PathLike[str] | None, say: Progress | None) -> CaptureCache:
    return CaptureCache(cache_places(root, None if chosen is None else Path(chosen).absolute()), say)


def project_root(file: Path) -> Path:
    """What printed paths are relative to: the working folder if the file lies below it, else the file's project."""
    here = Path.cwd().resolve()
    if file.is_relative_to(here):
        return here
    marked = (folder for folder in file.parents if any((folder / mark).exists() for mark in ROOT_MARKS))
    return next(marked, file.parent)


def child_request(loaded: LoadedContract, target: str, step_names: Sequence[str] | None = None) -> ChildRequest:
    """What a child is asked to build these steps (default: all) on one target. Raises ContractLintError for a step or
    target that does not exist, and for a contract with errors."""
    contract = loaded.contract
    if contract is None:
        raise ContractLintError("the contract has errors; run `contract-lint check` first", Location(loaded.path))
    file = Path(loaded.document.source.path).resolve()
    return _request(loaded, contract, target, step_names, file, project_root(file), 0, None)


def _request(
    loaded: LoadedContract,
    contract: Contract,
    target: str,
    step_names: Sequence[str] | None,
    file: Path,
    root: Path,
    run_steps: int,
    effort: Effort | None,
    semantics: bool = False,
) -> ChildRequest:
    names = list(contract.step) if step_names is None else list(step_names)
    unknown = [name for name in names if name not in contract.step]
    if unknown:
        raise ContractLintError(
            f"the contract has no step `{unknown[0]}`",
            loaded.place("step"),
            f"its steps are {', '.join(contract.step)}",
        )
    mesh = contract.mesh_for(target)
    steps = []
    for name in names:
        section = contract.step[name]
        folder = Path(loaded.document.folder(("step", name, "path"))).resolve()
        steps.append(
            StepRequest(
                name=name,
                entry=section.entry,
                path=[os.path.normpath(folder / entry) for entry in section.path],
                fallback_path=[] if section.path else [str(file.parent), str(root)],
                args=section.args,
                reference_args=section.reference_args,
                donate=section.donate,
                static=section.static,
                signatures=section.signatures,
                accumulation_arg=contract.accumulation.arg if contract.accumulation else None,
                integers_below=contract.model.vocab if contract.model and contract.model.kind == "dense" else None,
            )
        )
    chosen = parse_target(target, effort)
    return ChildRequest(
        target=chosen.name,
        effort=chosen.effort,
        mesh=MeshRequest(axes=mesh.axes, dcn=mesh.dcn) if mesh else None,
        steps=steps,
        project_root=str(root),
        out="",
        run_steps=run_steps,
        semantics=asked_semantics(contract) if semantics else None,
        provenance=provenance(root, loaded.digest, target),
    )


def provenance(root: Path, contract_digest: str, target: str) -> Provenance:
    """What this process knows; the child adds the versions it finds and the digest of the sources."""
    commit, dirty = _commit(root)
    return Provenance(
        tool=__version__,
        python=platform.python_version(),
        commit=commit,
        dirty=dirty,
        contract_digest=contract_digest,
        target=target,
    )


def _commit(root: Path) -> tuple[str | None, bool | None]:
    """The commit checked out at a folder and whether anything differs from it; None outside of git."""

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=30)
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "HEAD")
    if commit is None:
        return None, None
    status = git("status", "--porcelain", "--untracked-files=no")
    return commit, None if status is None else bool(status)


def _settings() -> dict[str, str]:
    """The variables of this process that reach the compiler: what a cached capture depends on."""
    from .launch import JAX_ALLOWED

    return {name: os.environ[name] for name in JAX_ALLOWED if name in os.environ}


def _destination(out: str | Path | None) -> Path | None:
    """Where to put the capture. Raises ContractLintError rather than replace anything but a capture."""
    if out is None:
        return None
    folder = Path(out)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not (folder / "manifest.json").is_file()):
        raise ContractLintError("this is not a capture and is not empty: it is left alone", Location(folder.as_posix()))
    return folder


def _copied(capture: Path, destination: Path) -> Path:
    """A copy of a capture at `destination`, put there in one rename: runs that write the same do not mix."""
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        sweep(destination.parent, f".{destination.name}-*")
        partial = made(destination.parent, f".{destination.name}-")
    except OSError as error:
        place = Location(destination.as_posix())
        raise ContractLintError(f"cannot be written: {error.strerror or error}", place) from None
    try:
        copy = shutil.copytree(capture, partial / "capture")
        for attempt in range(_TRIES):
            with contextlib.suppress(FileNotFoundError):  # nothing is there, or another run has just taken it away
                destination.rename(partial / f"before-{attempt}")
            try:
                copy.rename(destination)
                break
            except OSError as error:  # another run was faster; the last one stays
                if attempt == _TRIES - 1 or error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
    finally:
        removed(partial)
    return destination
