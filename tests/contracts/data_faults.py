"""What a batch is, to stand behind the contract of `meaning_faults`, and operators that each plant one fault in it.

`^` in `at` marks the place the finding points at; what stands before it only tells it from others.
"""

from __future__ import annotations

from .meaning_faults import Fault

GOOD = """\
data:
  fields:
    tokens: { shape: [batch, sequence], dtype: int32, range: [0, 511] }
    targets: { shape: [batch, sequence], dtype: int32, range: [-100, 511] }
    segment_ids: { shape: [batch, sequence], dtype: int16, range: [0, 64] }
    loss_mask: { shape: [batch, 128], dtype: bool }
  stages:
    - { kind: raw, output: { text: { dtype: bytes }, origin: { dtype: int8 } } }
    - kind: tokenise
      input: { text: { dtype: bytes }, origin: {} }
      output: { ids: { role: tokens, shape: [length], dtype: uint16, range: [1, 511] } }
    - kind: pack
      input: { ids: { role: tokens, shape: [length], dtype: uint16, range: [0, 511] } }
      output:
        row: { role: tokens, shape: [sequence], dtype: uint16 }
        document: { role: segment_ids, shape: [sequence] }
    - kind: shift
      input:
        row: { role: tokens, shape: [128], dtype: uint16 }
        document: { role: segment_ids }
      output: { row: { role: tokens }, document: { role: segment_ids }, next: { role: targets } }
    - kind: mask
      input: { row: {}, document: {}, next: {} }
      output: { tokens: {}, targets: {}, segment_ids: { range: [0, 64] }, counted: { role: loss_mask } }
    - kind: shard
      input: { tokens: {}, targets: {}, segment_ids: { range: [0, 255] }, counted: {} }
  mixture: { web: 0.75, code: 0.25 }
  tokenizer: { vocab: 512, pad_id: 0, eos_id: 2 }
  packing: { kind: segments, positions: row }
  shift: batch
  counted: { eos: true }
  sharding: { processes: 4 }
  progress:
    fields: [step, tokens, sources, cursor, dataset, tokenizer, mixture, seed, sampler, batch, shards, prefetch]
"""


def _fault(name: str, code: str, key: str, at: str, *edits: tuple[str, str]) -> Fault:
    return Fault(name, code, f"data.{key}", at, edits)


FAULTS = (
    _fault(
        "one role twice",
        "DAT003",
        "stages[*].output.origin.role",
        "origin: { ^role: lengths",
        ("text: { dtype: bytes }, origin: { dtype: int8 }", "text: { role: lengths }, origin: { role: lengths }"),
    ),
    _fault(
        "batch without a mask",
        "DAT004",
        "counted.eos",
        "eos: true",
        ("    loss_mask: {", "    extra: {"),
        ("range: [-100, 511]", "range: [0, 511]"),
    ),
    _fault("end outside the vocabulary", "DAT005", "tokenizer.eos_id", "eos_id: 512", ("eos_id: 2", "eos_id: 512")),
    _fault("padding is the end", "DAT006", "tokenizer.pad_id", "pad_id: 2", ("pad_id: 0", "pad_id: 2")),
    _fault("rows left over", "DAT007", "sharding.processes", "processes: 5", ("processes: 4", "processes: 5")),
    _fault("record without a seed", "DAT009", "progress.fields", "^fields: [step", ("mixture, seed,", "mixture,")),
    _fault(
        "field not read",
        "DAT010",
        "stages[*].output.origin",
        "origin: {",
        ("input: { text: { dtype: bytes }, origin: {} }", "input: { text: { dtype: bytes } }"),
    ),
    _fault(
        "field not given",
        "DAT010",
        "stages[*].input.mood",
        "mood: {",
        ("input: { row: {}, document", "input: { mood: {}, row: {}, document"),
    ),
    _fault(
        "field under another name",
        "DAT010",
        "stages[*].input.pieces",
        "pieces: {",
        ("input: { ids: {", "input: { pieces: {"),
    ),
    _fault(
        "field of another dtype",
        "DAT010",
        "stages[*].input.row.dtype",
        "[128], ^dtype: int32",
        ("[128], dtype: uint16", "[128], dtype: int32"),
    ),
    _fault(
        "row of another length",
        "DAT010",
        "stages[*].input.row.shape",
        "row: { role: tokens, ^shape: [64]",
        ("shape: [128]", "shape: [64]"),
    ),
    _fault(
        "range too wide to be read",
        "DAT010",
        "stages[*].input.segment_ids.range",
        "range: [0, 31]",
        ("range: [0, 255]", "range: [0, 31]"),
    ),
    _fault(
        "field of another role",
        "DAT010",
        "stages[*].input.document.role",
        "document: { ^role: positions",
        ("        document: { role: segment_ids }\n", "        document: { role: positions }\n"),
    ),
    _fault("nobody shifts", "DAT011", "shift", "shift: batch", ("kind: shift", "kind: map")),
    _fault("loader and model shift", "DAT011", "stages[*].kind", "kind: shift", ("shift: batch", "shift: model")),
    _fault(
        "packed without segments",
        "DAT012",
        "stages[*].output",
        "output:\n        row",
        ("document: { role: segment_ids, shape: [sequence] }", "document: {}"),
    ),
    _fault(
        "mask for each row",
        "DAT013",
        "fields.loss_mask.shape",
        "shape: [batch, 1]",
        ("shape: [batch, 128]", "shape: [batch, 1]"),
    ),
    _fault(
        "narrow segment ids",
        "DAT014",
        "fields.segment_ids.dtype",
        "dtype: bool, range",
        ("dtype: int16", "dtype: bool"),
    ),
    _fault(
        "narrow ids",
        "DAT014",
        "stages[*].output.ids.dtype",
        "dtype: int8, range: [1",
        ("dtype: uint16, range: [1", "dtype: int8, range: [1"),
        ("dtype: uint16, range: [0", "dtype: int8, range: [0"),
    ),
    _fault(
        "narrow positions",
        "DAT014",
        "fields.positions.dtype",
        "positions: { shape: [batch, sequence], ^dtype: bool",
        ("    loss_mask: {", "    positions: { shape: [batch, sequence], dtype: bool }\n    loss_mask: {"),
    ),
    _fault(
        "range between whole numbers",
        "DAT014",
        "fields.segment_ids.range",
        "range: [0, 64.5]",
        ("dtype: int16, range: [0, 64]", "dtype: int16, range: [0, 64.5]"),
    ),
    _fault(
        "pieces made of rows",
        "DAT016",
        "stages[*].kind",
        "kind: tokenise # again",
        ("    - kind: mask\n", "    - kind: tokenise # again\n"),
    ),
    _fault("shares of more than all", "DAT017", "mixture", "mixture:", ("web: 0.75", "web: 0.7, more: 0.7")),
    _fault(
        "range outside the vocabulary",
        "DAT015",
        "fields.targets.range",
        "range: [-100, 512]",
        ("range: [-100, 511]", "range: [-100, 512]"),
    ),
    _fault(
        "range backwards",
        "JIT003",
        "fields.tokens.range",
        "range: [511, 0]",
        ("dtype: int32, range: [0, 511]", "dtype: int32, range: [511, 0]"),
    ),
    _fault(
        "field of no dtype",
        "JIT003",
        "fields.targets.dtype",
        "dtype: int33",
        ("dtype: int32, range: [-100", "dtype: int33, range: [-100"),
    ),
    _fault(
        "field of no role",
        "JIT003",
        "stages[*].output.next.role",
        "role: target }",
        ("next: { role: targets }", "next: { role: target }"),
    ),
    _fault("stage of no kind", "JIT003", "stages[*].kind", "kind: shifting", ("kind: shift", "kind: shifting")),
    _fault("misspelt stage", "JIT002", "stages[*].outputs", "outputs: {", ("output: { ids", "outputs: { ids")),
)

APART = (
    {"nobody shifts", "loader and model shift", "stage of no kind"},
    {"misspelt stage", "field under another name", "narrow ids"},
    {"end outside the vocabulary", "padding is the end"},
    {"batch without a mask", "mask for each row"},
    {"field of another role", "packed without segments"},
)
"""Faults that say something about each other: of each set one is planted at a time."""
