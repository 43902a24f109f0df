"""From a file to a contract: the document, the validated models and every problem of both, in one pass."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path

from .document import Document, load_document
from .errors import ContractLintError
from .find import find_contracts
from .finding import Finding, Location, sort_key, tell_apart
from .key import Key
from .model import Contract
from .problems import UNREADABLE
from .resolve import Resolved, resolve
from .validate import validate


@dataclass(frozen=True)
class LoadedContract:
    """A contract with its text.

    `contract` is None where reading or validation found an error; `document` then still holds all that could be read,
    and rules on single keys go on working on it. `today` is the day deviations are judged by.
    """

    contract: Contract | None
    document: Document
    findings: list[Finding]
    today: date = field(default_factory=date.today)

    def place(self, key: str | Key) -> Location:
        """Where a key stands in the file that gave it, else its nearest existing parent."""
        return self.document.place(key)

    @property
    def path(self) -> str:
        """The contract's file, relative to the project root where it lies below it."""
        return self.document.path

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the contract says, after overlays and bindings; comments and layout do not count."""
        text = json.dumps(self.document.data, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def resolved(self) -> list[Resolved]:
        """Values that follow from the contract, each with its formula; empty where it is not valid."""
        return [] if self.contract is None else resolve(self.contract, self.document)

    def readable(self) -> LoadedContract:
        """The contract itself. Raises ContractLintError where its text could not be read at all, with the place."""
        for finding in self.findings:
            if finding.code == UNREADABLE.code:
                raise ContractLintError(finding.message, finding.location, finding.help)
        return self


def load_contract(
    path: str | Path, root: str | Path | None = None, today: date | None = None, *, may_be_base: bool = False
) -> LoadedContract:
    """A contract file with everything that is wrong in it.

    `root` (default: the working folder) is what printed paths are relative to. Raises ContractLintError only where
    there is no such file; its contents are judged in `findings`, all of them in one run.

    With `may_be_base` a text without `step` is taken for one that others extend: what it leaves out is no fault, and
    `contract` is None.
    """
    document = load_document(path, root)
    if may_be_base and document.complete and "step" not in document.data:
        document.complete = False
    contract, findings = None, tell_apart(document.problems)
    if document.data or document.complete:
        contract, more = validate(document)
        findings += more
    if findings:
        contract = None
    return LoadedContract(contract, document, sorted(findings, key=sort_key), today or date.today())


__all__ = ["LoadedContract", "find_contracts", "load_contract"]
