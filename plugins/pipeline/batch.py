"""`batch check` and `batch inspect`: a batch file alone, or held to the section `data` of a contract."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.load import LoadedContract, load_contract
from ...contracts.model import DataSection, Role
from ...contracts.probe import ProbeFacts
from ...linters.batch.batch import ROLES, Batch, Span
from ...linters.batch.evidence import BatchEvidence
from ...linters.batch.facts import BatchFacts, RowFacts, batch_facts, row_facts
from ...linters.batch.judge import judge_batch
from ...linters.batch.read import read_batch
from ...linters.batch.visible import Run, counted_targets, visible_keys
from ...linters.data.tokenizer import read_vocabulary
from .report import FailOn, Report, report
from .selection import require_known, selected

VERB = "batch check"


@dataclass(frozen=True, slots=True)
class RowView:
    """One row of a batch, column by column. A field that the batch does not have is not in `fields`."""

    batch: str
    row: int
    fields: dict[Role, list[int | float]]
    names: dict[Role, str]
    spans: tuple[Span, ...]
    counted: tuple[Run, ...]
    denominator: float | None
    """Weights of the targets of this row, added up; None without a mask."""
    facts: BatchFacts
    row_facts: RowFacts
    inferred: tuple[str, ...] = ()
    """What the batch itself has to say of the promise, in words: which id of its targets does not count."""
    query: int | None = None
    visible: tuple[Run, ...] = ()
    tokenizer: str | None = None
    pieces: tuple[str | None, ...] = ()
    """The text of each token, by the files of `tokenizer`; None for an id that they do not have."""

    def as_json(self) -> dict[str, Any]:
        facts = {name: getattr(self.facts, name) for name in self.facts.__slots__} | {"padding": self.facts.padding}
        return {
            "schema_version": 1,
            "batch": self.batch,
            "facts": facts,
            "row": self.row,
            "row_facts": {name: getattr(self.row_facts, name) for name in self.row_facts.__slots__},
            "fields": {role: {"name": self.names[role], "values": values} for role, values in self.fields.items()},
            "tokenizer": self.tokenizer,
            "pieces": None if self.tokenizer is None else list(self.pieces),
            "documents": [{"segment": s.segment, "start": s.start, "stop": s.stop} for s in self.spans],
            "counted": [list(run) for run in self.counted],
            "denominator": self.denominator,
            "inferred": list(self.inferred),
            "query": None if self.query is None else {"column": self.query, "keys": [list(r) for r in self.visible]},
        }


def open_batch(path: str | Path, contract: str | Path | None) -> BatchEvidence:
    """A batch file and what it is held to.

    Raises ContractLintError for a batch that cannot be read, and for a contract that cannot or has no section `data`.
    """
    loaded = _contract(contract) if contract is not None else None
    data = loaded.contract.data if loaded is not None and loaded.contract is not None else None
    arrays = read_batch(path)
    if not arrays:
        raise ContractLintError("holds no array", Location(Path(path).as_posix()), "write at least tokens=...")
    return BatchEvidence(Batch(Path(path).as_posix(), arrays, data or DataSection()), loaded)


def _contract(path: str | Path) -> LoadedContract:
    loaded = load_contract(path).readable()
    if loaded.contract is None:
        said = f"has {len(loaded.findings)} error{'s' * (len(loaded.findings) != 1)}; a batch cannot be held to it"
        raise ContractLintError(said, Location(loaded.path), f"see them with: contract-lint check {loaded.path}")
    if loaded.contract.data is None:
        said = "has no section `data`, so it promises nothing of a batch"
        raise ContractLintError(said, Location(loaded.path), "write one, or leave --contract out: see docs/data.md")
    return loaded


def check_batch(
    paths: Sequence[str | Path],
    *,
    contract: str | Path | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    fail_on: FailOn = "error",
    probe: Callable[[BatchEvidence], ProbeFacts] | None = None,
) -> Report:
    """Findings on every batch file; `probe` runs a step on it. Raises as `open_batch`, for an unknown rule, and as
    `probe`."""
    require_known([*select, *ignore])
    opened = [open_batch(path, contract) for path in paths]
    if probe is not None:
        opened = [replace(evidence, probe=probe(evidence)) for evidence in opened]
    found = selected([finding for evidence in opened for finding in judge_batch(evidence)], select, ignore)
    first = opened[0]
    proof = _proof(first) if len(opened) == 1 else f"{len(opened)} batches looked at"
    subject = first.batch.path if len(opened) == 1 else f"{len(opened)} batches"
    contracts = (first.loaded.path,) if first.loaded is not None else ()
    return report(found, verb=VERB, subject=subject, contracts=contracts, fail_on=fail_on, proof=proof)


def _proof(evidence: BatchEvidence) -> str:
    """What was looked at: `8 x 128 tokens; segment_ids, loss_mask`; what no array plays is not checked."""
    shape = evidence.batch.shape
    if shape is None:
        return "no array of tokens, targets, segments or positions was found: nothing checked but names and numbers"
    roles = evidence.batch.roles
    said = f"{shape[0]:,} x {shape[1]:,}: {', '.join(roles[role] for role in ROLES if role in roles)}"
    said = "; ".join([said, *evidence.inferred])
    probe = evidence.probe
    if probe is None:
        return said
    seen = f"{len(probe.moved)} tokens changed" if probe.how is not None else "its losses were not read"
    return f"{said}; step {probe.step} probed: {seen}"


def view_row(
    evidence: BatchEvidence, row: int, query: int | None = None, tokenizer: str | Path | None = None
) -> RowView:
    """One row to look at; `tokenizer` is a file, or a folder of files, that say what its tokens stand for.

    Raises ContractLintError for a row or column that is not there, and as `read_vocabulary`.
    """
    batch = evidence.batch
    if batch.shape is None:
        names = ", ".join(f"{name} {list(array.shape)}" for name, array in batch.arrays.items())
        raise ContractLintError(
            f"has no array of tokens [rows, columns], found {names}",
            Location(batch.path),
            "name the array in the contract: data: { fields: { NAME: { role: tokens } } }",
        )
    spans = batch.spans(row)
    if query is not None and not 0 <= query < batch.shape[1]:
        said = f"has no column {query}: a row has {batch.shape[1]}"
        raise ContractLintError(said, Location(batch.path), "columns count from 0")
    fields: dict[Role, list[int | float]] = {
        role: _plain(array[row].tolist())
        for role in ROLES
        if role != "lengths" and (array := batch.get(role)) is not None
    }
    pieces: tuple[str | None, ...] = ()
    if tokenizer is not None:
        if "tokens" not in fields:
            said = "has no array of tokens that --tokenizer could decode"
            raise ContractLintError(said, Location(batch.path), "name it in the contract, by `role: tokens`")
        known = read_vocabulary(tokenizer).pieces
        pieces = tuple(known.get(int(token)) for token in fields["tokens"])
    return RowView(
        batch=batch.path,
        row=row,
        fields=fields,
        names={role: batch.name(role) for role in fields},
        spans=tuple(spans),
        counted=tuple(counted_targets(batch, row)),
        denominator=None if batch.counted is None else float(batch.counted[row].sum()),
        facts=batch_facts(batch),
        row_facts=row_facts(batch, row),
        inferred=evidence.inferred,
        query=query,
        visible=tuple(visible_keys(batch, row, query)) if query is not None else (),
        tokenizer=None if tokenizer is None else Path(tokenizer).as_posix(),
        pieces=pieces,
    )


def _plain(values: list[Any]) -> list[int | float]:
    return [int(value) if isinstance(value, bool) else value for value in values]
