"""What an adapter must offer, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ...contracts.key import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """A trainer's configuration as the step section of a contract.

    entry, args, reference_args: as in a contract. name: of the contract. config: alias -> the project's own
    configuration file, relative to the contract's folder; empty where the trainer's is used as it ships. bindings: key
    of the contract -> key of that file whose value it follows where both agree.
    """

    entry: str
    args: Mapping[str, Any]
    reference_args: Mapping[str, Any]
    name: str
    config: Mapping[str, str] = field(default_factory=dict)
    bindings: Mapping[Key, str] = field(default_factory=dict)


class Adapter(Protocol):
    """One trainer."""

    @property
    def target(self) -> str:
        """The target to look at where none is given."""
        ...

    def adapt(self, config: str, overrides: Mapping[str, Any], target: str, folder: Path) -> Adapted:
        """The step of a configuration with overrides, for a contract in `folder`.

        Raises ContractLintError for what can be seen to be wrong without the trainer.
        """
        ...
