"""What one stage of the data gives is not what the next one reads.

## What it does
Compares the `output` of every stage of `data.stages` with the `input` of the next, and what the last one gives with
`data.fields`: names, dtypes, ranges (what is given must lie within what is read), roles and shapes. A name in a shape
stands for one size everywhere; `batch` and `sequence` are the contract's own. Only what both sides say is compared.

## Why is this bad?
Stages hand on dictionaries of arrays, and nothing complains of a key that is not read. A column that was renamed on one
side only is dropped, and packed rows then train as if they were one document.

## Example
```yaml
data:
  stages:
    - { kind: pack, output: { tokens: { dtype: int32 }, seq_lengths: {} } }
    - { kind: shard, input: { tokens: { dtype: int32 }, lengths: {} } }
```

## Use instead
```yaml
data:
  stages:
    - { kind: pack, output: { tokens: { dtype: int32 }, lengths: {} } }
    - { kind: shard, input: { tokens: { dtype: int32 }, lengths: {} } }
```

## References
- https://github.com/huggingface/trl/pull/3699
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from ....contracts.finding import Finding
from ....contracts.key import Key, format_key
from ....contracts.load import LoadedContract
from ....contracts.suggest import nearest
from ...cut import in_a_line
from ...rule import Rule
from ..stages import THE_BATCH, UNKNOWN, Stage, StageField, fields, known_sizes, spelled, stages
from ..view import View

Fields = Mapping[str, StageField]
Sizes = dict[str, tuple[int, str]]
"""Name in a shape -> its size, and what gives it that size."""


@dataclass(frozen=True, slots=True)
class _Border:
    """Where arrays pass from one stage to the next."""

    view: View
    giver: str
    gives: Fields
    reader: str
    reads: Fields

    def finding(self, key: Key, message: str, expected: str, found: str, **more: str) -> Finding:
        return self.view.finding(RULE, key, message, expected=expected, found=found, **more)


SHOWN = 12
NEAR = 100
"""Among more arrays that nobody reads, one that is spelt alike says nothing, and looking for it takes long."""


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    sizes: Sizes = {name: (size, "the contract") for name, size in known_sizes(view).items()}
    for border in _borders(view):
        pairs, unread, unknown = _paired(border.gives, border.reads)
        for given, read in pairs:
            yield from _same(border, given, read)
            yield from _shapes(border, given, read, sizes)
        if not view.complete:
            continue
        for given in unread:
            yield border.finding(
                given.key,
                f"{border.giver} gives `{given.name}`, and {_does_not_read(border)}",
                expected=in_a_line(border.reads, SHOWN) or "nothing",
                found=given.name,
                help=f"add it to `{_owner(border.reads, border)}`, or let {border.giver} not give it",
            )
        for read in unknown:
            yield border.finding(
                read.key,
                f"{_reads(border)} `{read.name}`, and {border.giver} does not give it",
                expected=in_a_line(border.gives, SHOWN) or "nothing",
                found=read.name,
            )


def _borders(view: View) -> Iterable[_Border]:
    listed = stages(view)
    own = fields(view, "data", "fields")
    ends = [*listed, Stage(("data",), None, THE_BATCH, own or None, None)] if listed else []
    for before, after in pairwise(ends):
        if before.gives is not None and after.reads is not None:
            yield _Border(view, before.label, before.gives, after.label, after.reads)


def _paired(gives: Fields, reads: Fields) -> tuple[list[tuple[StageField, StageField]], list, list]:
    """Arrays of one name, then those that have one role or much the same name; what is left on each side."""
    pairs = [(gives[name], reads[name]) for name in reads if name in gives]
    unread = {name: field for name, field in gives.items() if name not in reads}
    unknown = []
    for name, read in reads.items():
        if name in gives:
            continue
        alike = [other for other, field in unread.items() if read.role is not None and field.role == read.role]
        meant = alike[0] if alike else nearest(name, unread) if len(unread) <= NEAR else None
        if meant is None:
            unknown.append(read)
        else:
            pairs.append((unread.pop(meant), read))
    return pairs, list(unread.values()), unknown


def _same(border: _Border, given: StageField, read: StageField) -> Iterable[Finding]:
    """All but the shape."""
    if given.name != read.name:
        yield border.finding(
            read.key,
            f"{_reads(border)} `{read.name}`, and {border.giver} gives it as `{given.name}`",
            expected=given.name,
            found=read.name,
            help="one name on both sides",
        )
    reads = f"{_reads(border)} `{read.name}`"
    if None not in (given.dtype, read.dtype) and given.dtype != read.dtype:
        message = f"{reads} as {read.dtype}, and {border.giver} gives {given.dtype}"
        yield border.finding(read.at("dtype"), message, str(given.dtype), str(read.dtype))
    roles = {given.role, read.role}
    if given.name == read.name and len(roles) == 2 and not roles & {None, UNKNOWN}:
        message = f"{reads} as {_words(read.role)}, and {border.giver} gives {_words(given.role)}"
        yield border.finding(read.at("role"), message, str(given.role), str(read.role))
    if given.range and read.range and not (read.range[0] <= given.range[0] and given.range[1] <= read.range[1]):
        wide, narrow = (f"{low:,} to {high:,}" for low, high in (given.range, read.range))
        message = f"{reads} between {narrow}, and {border.giver} gives {wide}"
        yield border.finding(read.at("range"), message, f"a range that holds {wide}", narrow)


def _shapes(border: _Border, given: StageField, read: StageField, sizes: Sizes) -> Iterable[Finding]:
    if given.shape is None or read.shape is None:
        return
    fits = len(given.shape) == len(read.shape)
    why: list[str] = []
    for first, second in zip(given.shape, read.shape, strict=False):
        if first == second:
            continue
        for name, size in ((first, second), (second, first)):
            if isinstance(name, str) and isinstance(size, int):
                sizes.setdefault(name, (size, format_key(read.at("shape"))))
        known = [sizes[dim][0] if dim in sizes else dim for dim in (first, second)]
        why += [f"{dim} is {sizes[dim][0]:,} by {sizes[dim][1]}" for dim in (first, second) if dim in sizes]
        fits &= known[0] == known[1]
    if not fits:
        yield border.view.finding(
            RULE,
            read.at("shape"),
            f"{_reads(border)} `{read.name}` as {spelled(read.shape)}, and {border.giver} gives {spelled(given.shape)}",
            expected=spelled(given.shape),
            found=spelled(read.shape),
            evidence=tuple(dict.fromkeys(why)),
        )


def _reads(border: _Border) -> str:
    return f"{border.reader} has" if border.reader == THE_BATCH else f"{border.reader} reads"


def _does_not_read(border: _Border) -> str:
    return "`data.fields` has no such array" if border.reader == THE_BATCH else f"{border.reader} does not read it"


def _owner(reads: Fields, border: _Border) -> str:
    return format_key(next(iter(reads.values())).key[:-1]) if reads else border.reader


def _words(role: str | None) -> str:
    return str(role).replace("_", " ")


RULE = Rule(code="DAT010", name="stage-mismatch", severity="error", evidence="contract", doc=__doc__ or "", check=check)
