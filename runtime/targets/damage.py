"""Whether the files of an installed compiler are those that were installed, by the sizes in its own RECORD.

A library that was cut short - a full disk, a copy that was interrupted - is not refused when it is loaded: it ends the
process with SIGBUS. Sizes are asked before; the digests beside them would take seconds for 700 MB.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Sequence

from ..request import StepFailure

INNOCENT = "your step has nothing to do with this"
_LIBRARY = ".so"
_NOT_LOADED = re.compile(r"Failed to open|cannot open shared object|invalid ELF|wrong ELF|undefined symbol")


def damage(distributions: Sequence[str]) -> tuple[str, str] | None:
    """What is wrong with the libraries of installed distributions, and the command that mends it; None for nothing.

    A distribution without a RECORD, as other package managers leave one, is taken as whole.
    """
    for name in distributions:
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in found.files or ():
            if file.suffix != _LIBRARY or file.size is None:
                continue
            size = _size(str(file.locate()))
            if size != file.size:
                there = "is not there" if size is None else f"holds {size:,} of {file.size:,} bytes"
                return f"{name} {found.version} is damaged: its {file} {there}", reinstall(name, found.version)
    return None


def reinstall(name: str, version: str) -> str:
    """The command that puts a distribution's files back."""
    return f"pip install --force-reinstall --no-deps --no-cache-dir '{name}=={version}'"


def unloadable(error: BaseException) -> bool:
    """Whether an exception of `get_topology_desc` says that the compiler could not even be loaded.

    A compiler that runs refuses a machine with an error of the runtime or a ValueError.
    """
    import jax

    refusal = isinstance(error, (jax.errors.JaxRuntimeError, ValueError))
    return not refusal or _NOT_LOADED.search(str(error)) is not None


def not_loaded(distribution: str, error: BaseException) -> StepFailure:
    """The failure for it: nobody's fault but that of the installation."""
    said = (str(error).strip().splitlines() or [type(error).__name__])[0]
    # The loader repeats the path of a file that it cannot open.
    said = re.sub(r"(/\S+): \1: ", r"\1: ", said)
    try:
        advice = reinstall(distribution, importlib.metadata.version(distribution))
    except importlib.metadata.PackageNotFoundError:
        advice = f"install {distribution} again"
    return StepFailure(f"{distribution} cannot be loaded: {said}", help=f"{advice}: {INNOCENT}")


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None
