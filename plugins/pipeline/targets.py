"""Which targets a verb works on, and whether jax is there to do it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.load import LoadedContract


def chosen_targets(loaded: LoadedContract, targets: Sequence[str]) -> list[str]:
    """The targets asked for, else those of the contract, each once. Raises ContractLintError where there is none."""
    if loaded.contract is None:
        raise ContractLintError("the contract has errors; run `contract-lint check` first", Location(loaded.path))
    names = list(dict.fromkeys(targets or [entry.target for entry in loaded.contract.targets]))
    if not names:
        raise ContractLintError(
            "the contract names no target", loaded.place("targets"), "add `targets: [cpu:8]`, or give --target cpu:8"
        )
    return names


def require_jax(python: str | None) -> None:
    """Raises ContractLintError with the extra to install, where user code would run in an interpreter without jax."""
    if python is None and find_spec("jax") is None:
        raise ContractLintError(
            "this needs jax, which is not installed here",
            help="pip install 'jax-contract-lint[jax]', or name the interpreter of your project with --python",
        )
