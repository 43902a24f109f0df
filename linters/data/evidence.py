"""What the rules on data are given. Rules look at what they need, where it is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...contracts.data_manifest import DataManifest
from ...contracts.finding import Finding
from ...contracts.load import LoadedContract
from ...contracts.model import DataSection
from ...contracts.progress import Progress
from ..rule import Rule
from .folder import FolderData


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a loader gave from two positions.

    `batches`: the digests of the batches from each; `refused`: what the loader said of a position it did not take;
    `pipeline`: the loader's own description, a line for each stage; `iterator`: that of what iterates over it.
    """

    batches: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    refused: tuple[str | None, str | None] = (None, None)
    pipeline: tuple[str, ...] = ()
    iterator: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataEvidence:
    """A folder and its manifest; or positions in data (two to replay, or those of one run), and what they gave."""

    folder: FolderData | None = None
    positions: tuple[Progress, Progress] | None = None
    replayed: Replayed | None = None
    history: tuple[Progress, ...] = ()
    loaded: LoadedContract | None = None
    manifest: DataManifest | None = None
    """The one that the contract names."""

    @property
    def records(self) -> tuple[Progress, ...]:
        """Every record that is looked at, once."""
        first, second = self.positions or (None, None)
        pair = [] if first is None or second is None else [first] if _same(first, second) else [first, second]
        return (*pair, *self.history)

    def refusals(self) -> list[tuple[Progress, str | None]]:
        """Each position once, with what the loader said where it did not take it."""
        if self.replayed is None:
            return []
        return list(zip(self.records, self.replayed.refused, strict=False))

    @property
    def data(self) -> DataSection | None:
        """The contract's word on data, if there is one."""
        contract = self.loaded.contract if self.loaded is not None else None
        return contract.data if contract is not None else None

    def finding(self, rule: Rule, record: Progress, field: str, message: str, **fields: Any) -> Finding:
        """A finding on a field of a record."""
        subject = fields.pop("subject", field)
        return rule.finding(message, subject=subject, location=record.place(field), key=field, **fields)


def _same(first: Progress, second: Progress) -> bool:
    return first.name == second.name and first.fields == second.fields
