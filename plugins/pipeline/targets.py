"""Which targets a verb works on, and whether jax is there to do it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.load import LoadedContract
from ...contracts.target_name import no_such_machine, parse_target
from ...runtime.launch import OPTIONS_OF_COMPILERS
from ...runtime.targets import target

GIVE_OPTIONS = "; give the step's own options with `jax.jit(..., compiler_options={...})`"


def chosen_targets(loaded: LoadedContract, targets: Sequence[str]) -> list[str]:
    """The targets asked for, else those of the contract, each once. Raises ContractLintError where there is none, and
    at once where one that was asked for is no target: that is wrong usage, not a machine that lacks something."""
    if loaded.contract is None:
        raise ContractLintError("the contract has errors; run `contract-lint check` first", Location(loaded.path))
    for name in targets:
        target(name)
    names = list(dict.fromkeys(targets or [entry.target for entry in loaded.contract.targets]))
    if not names:
        raise ContractLintError(
            "the contract names no target", loaded.place("targets"), "add `targets: [cpu:8]`, or give --target cpu:8"
        )
    return names


def possible_targets(loaded: LoadedContract, say: Callable[[str], None]) -> list[str]:
    """The targets of the contract that there are, unless there is none: the others are findings on it (JIT009)."""
    names = chosen_targets(loaded, ())
    possible = [name for name in names if exists(name)]
    if not possible:
        return names
    for name in names:
        if name not in possible:
            say(f"{name}: not captured, there is no such target")
    return possible


def exists(name: str) -> bool:
    """Whether a target is spelled as one and there is such a machine."""
    try:
        return no_such_machine(parse_target(name)) is None
    except ValueError:
        return False


def require_jax(python: str | None) -> None:
    """Raises ContractLintError with the extra to install, where user code would run in an interpreter without jax."""
    if python is None and find_spec("jax") is None:
        raise ContractLintError(
            "this needs jax, which is not installed here",
            help="pip install 'jax-contract-lint[jax]', or name the interpreter of your project with --python",
        )


def note_options(
    say: Callable[[str], None] | None, environment: Mapping[str, str] = os.environ, own_step: bool = True
) -> None:
    """Say once which compiler options of this process the child is run without; `own_step`: the user can give them to
    the step instead."""
    named = [name for name in OPTIONS_OF_COMPILERS if environment.get(name, "").strip()]
    if named and say is not None:
        say(
            f"{' and '.join(named)} {'are' if len(named) > 1 else 'is'} set here and left out: what is compiled is the "
            "same whoever runs this" + GIVE_OPTIONS * own_step
        )
