"""Why a plan cannot be derived: the contract key at fault and the reason."""

from __future__ import annotations

from ..errors import ContractLintError


class PlanError(ContractLintError):
    """No closed form follows from this contract. `key` is the contract key at fault, in the spelling of findings.

    The caller adds the key's place in the file; without one the message still names the key.
    """

    def __init__(self, key: str, reason: str, help: str | None = None) -> None:
        self.key = key
        self.reason = reason
        super().__init__(f"no plan in closed form: `{key}`: {reason}", help=help)
