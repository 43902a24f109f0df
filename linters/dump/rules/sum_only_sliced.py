"""A sum is sent whole to devices that use one slice of it each.

## What it does
Finds all-reduces of which every use, in and out of fusions, ends in a slice of 1/n, a different one on each of the n
devices of a group.

## Why is this bad?
That is a reduce-scatter written as an all-reduce: twice the bytes on the wire and n times the memory. XLA's GPU and
TPU compilers rewrite the plain form; what they leave has something in between.

## Example
```text
sum = f32[4096] all-reduce(x), replica_groups=[1,8]<=[8], to_apply=add
mine = f32[512] dynamic-slice(sum, offset_of_partition), dynamic_slice_sizes={512}
```

## Use instead
```python
mine = jax.lax.psum_scatter(x, "data", tiled=True)
```

## What stays clean
A sum with any use of the whole; slices that devices of a group share or that data places; TPU's fusions that sum and
slice at once. Programs for CPUs, and those before optimisation: the partitioner writes every such sum so, and the CPU
compiler leaves it.

## References
- https://github.com/openxla/xla/blob/main/xla/service/reduce_scatter_utils.h
- https://github.com/openxla/xla/issues/42481
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ....hlo_tools.canonical.combined import part_number, parts_of
from ....hlo_tools.collectives import Collective
from ....hlo_tools.only_sliced import are_shares
from ....hlo_tools.taken import results, taken
from ...cut import shown
from ...rule import Rule
from ..evidence import DumpEvidence
from ..wording import alike, cost, details, instruction_name, line_of, names, over, place_of, subject_of, together

SMALL = 1 << 16
"""Bytes below which a compiler may find one sum quicker than a scatter."""


def check(evidence: DumpEvidence) -> Iterable[Finding]:
    if evidence.backend not in ("gpu", "tpu"):
        return
    for rows in together(_sliced(evidence), alike):
        sent = sum(row.ring_bytes for row in rows)
        yield RULE.finding(
            f"{_sums(rows)} of which each device uses only its own slice ({names(rows)}): {cost(rows)}; "
            f"a reduce-scatter sends {format_bytes(sent // 2)}",
            subject=subject_of(rows[0]),
            severity="warning" if sent >= SMALL else "info",
            location=place_of(rows[0]),
            instruction=instruction_name(rows[0]),
            expected="reduce-scatter",
            found="all-reduce and slice",
            evidence=shown(_said(evidence, arrays) for arrays in together(rows, lambda row: id(row.instruction))),
            help="sum and scatter in one (`jax.lax.psum_scatter`), or slice right behind the sum",
            details=details(rows),
        )


def _sums(rows: list[Collective]) -> str:
    return over(rows[0]) if len(set(map(over, rows))) == 1 else "all-reduces"


def _said(evidence: DumpEvidence, arrays: list[Collective]) -> str:
    """One instruction, with how many of its arrays this is about where it is combined."""
    row = arrays[0]
    whole = evidence.by_name.get((row.computation, instruction_name(row)))
    of = f" ({len(arrays):,} of its {len(whole.parts):,} arrays)" if whole is not None and len(whole.parts) > 1 else ""
    return f"%{instruction_name(row)}{of}: {row.dtype}, {cost(arrays)}, {line_of(row)}"


def _sliced(evidence: DumpEvidence) -> Iterator[Collective]:
    """Every array of an all-reduce that is only sliced."""
    for row in evidence.rows:
        if row.kind != "all-reduce" or row.instruction is None:
            continue
        for part in parts_of(row):
            arrays = list(results(row.instruction, part_number(part)))
            pieces = [taken(evidence.flow, evidence.flow.at(array)) for array in arrays]
            groups = part.own_groups or part.groups
            if pieces and all(
                each is not None and are_shares(evidence.flow, each, groups, part.group_size) for each in pieces
            ):
                yield part


RULE = Rule(code="SHD504", name="sum-only-sliced", severity="warning", evidence="dump", doc=__doc__ or "", check=check)
