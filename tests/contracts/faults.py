"""A good contract, and operators that each plant one fault in its text: name, edits, expected code, key and place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

GOOD = """\
contract: 1
name: dense-fsdp
extends: [base.contract.yaml]
config:
  base: base.yml
step:
  train:
    entry: my_pkg.train:build
    path: [.]
    args: { preset: tiny }
    reference_args: { compute: float32 }
    donate: [state]
    static: []
    signatures: { tokens: [[16, 128]] }
    compiles: 1
targets:
  - cpu:8
  - { target: "tpu:v5e:2x4" }
mesh:
  axes: { data: 2, fsdp: 4 }
  dcn: {}
model:
  kind: dense
  layers: { from: base#model.num_layers }
  d_model: 128
  heads: 4
  kv_heads: 2
  d_ff: 512
  vocab: 512
  sequence: 128
  remat: full
dtypes: { master: float32, compute: bfloat16, moments: float32 }
accumulation: { microbatches: 2, arg: microbatches }
batch: { size: 16, axes: [data, fsdp] }
optimizer: { name: adamw, placement: parameters }
parameters:
  logical_axes: { layer: null, embed: fsdp, heads: null, mlp: null, vocab: null }
  rules:
    - { match: "layers/attn/w[qkv]", axes: [layer, embed, heads] }
    - { match: layers/attn/wo, axes: [layer, heads, embed] }
    - { match: "layers/mlp/w_(up|gate)", axes: [layer, embed, mlp] }
    - { match: layers/mlp/w_down, axes: [layer, mlp, embed] }
    - { match: "(attn|mlp)_norm/scale", axes: [layer, embed] }
    - { match: final_norm/scale, axes: [embed] }
    - { match: embed/table, axes: [vocab, embed] }
    - { match: lm_head/kernel, axes: [embed, vocab] }
  replicated_max: 64KiB
collectives:
  expect: closed_form
  allow:
    - { kind: all-reduce, axes: [data, fsdp], elements_max: 64, reason: metrics }
memory:
  hbm: 16GiB
  classes: { optimizer_slot: 1.2GiB }
graph:
  host_callbacks: forbid
  constants_max: 1MiB
  repeated_blocks_max: { from: base#blocks }
deviations:
  - rule: SHD204
    match: { kind: all-gather, axes: [fsdp] }
    reason: embedding gathered once
    until: 2027-03-01
"""


@dataclass(frozen=True)
class Fault:
    """`edits` replace text of GOOD; the finding must point at the start of `at` in the faulty text."""

    name: str
    code: str
    key: str
    at: str
    edits: tuple[tuple[str, str], ...]


def _fault(name: str, code: str, key: str, at: str, *edits: tuple[str, str]) -> Fault:
    return Fault(name, code, key, at, edits)


def _untouched(text: str) -> tuple[str, str]:
    """An edit that changes nothing and so keeps faults away without which this one would not be one."""
    return text, text


_LAST_RULE = "    - { match: lm_head/kernel, axes: [embed, vocab] }\n"
_LAST_TARGET = '  - { target: "tpu:v5e:2x4" }\n'
_LAST_ALLOWED = "elements_max: 64, reason: metrics }\n"

FAULTS: tuple[Fault, ...] = (
    _fault("unknown top-level key", "JIT002", "memry", "memry:", ("memory:\n", "memry: {}\nmemory:\n")),
    _fault(
        "unknown nested key",
        "JIT002",
        "graph.callbacks",
        "callbacks: forbid\n  host",
        ("graph:\n", "graph:\n  callbacks: forbid\n"),
    ),
    _fault("wrong unit", "JIT003", "parameters.replicated_max", "replicated_max", ("64KiB", "64Kib")),
    _fault(
        "wrong choice",
        "JIT003",
        "graph.host_callbacks",
        "host_callbacks",
        ("s: forbid\n  const", "s: forbidden\n  const"),
    ),
    _fault("wrong type", "JIT003", "step.train.reference_args", "reference_args", ("{ compute: float32 }", "3")),
    _fault("wrong version", "JIT003", "contract", "contract: 2", ("contract: 1", "contract: 2")),
    _fault("malformed entry", "JIT003", "step.train.entry", "entry:", ("my_pkg.train:build", "my_pkg/train.py")),
    _fault(
        "pattern is no regular expression",
        "JIT003",
        "parameters.rules[*].match",
        'match: "layers/(attn"',
        ("  replicated_max", '    - { match: "layers/(attn", axes: [layer] }\n  replicated_max'),
    ),
    _fault(
        "missing key",
        "JIT004",
        "collectives.allow[*].reason",
        "{ kind: all-to-all",
        ("  allow:\n", "  allow:\n    - { kind: all-to-all, axes: [data], elements_max: 1 }\n"),
    ),
    _fault("duplicate key", "JIT005", "memory.hbm", "hbm: 8GiB", ("  hbm: 16GiB\n", "  hbm: 16GiB\n  hbm: 8GiB\n")),
    _fault(
        "missing configuration",
        "JIT007",
        "config.more",
        "more:",
        ("base: base.yml\n", "base: base.yml\n  more: no.yml\n"),
    ),
    _fault(
        "unresolved binding",
        "JIT008",
        "graph.repeated_blocks_max",
        "repeated_blocks_max",
        ("base#blocks", "base#block"),
    ),
    _fault(
        "slice that is not sold",
        "JIT009",
        "targets[*]",
        "tpu:v5e:1x8",
        (_LAST_TARGET, _LAST_TARGET + "  - tpu:v5e:1x8\n"),
    ),
    _fault("malformed target", "JIT009", "targets[*]", "cpu-8", (_LAST_TARGET, _LAST_TARGET + "  - cpu-8\n")),
    _fault("missing folder", "JIT010", "step.train.path[*]", "../scr", ("path: [.]", "path: [., ../scr]")),
    _fault(
        "donated and static", "JIT011", "step.train.static[*]", "state, mode", ("static: []", "static: [state, mode]")
    ),
    _fault(
        "too few executables", "JIT012", "step.train.compiles", "compiles:", ("[[16, 128]]", "[[16, 128], [16, 64]]")
    ),
    _fault("expired deviation", "JIT013", "deviations[*].until", "until:", ("2027-03-01", "2024-02-29")),
    _fault("unknown rule", "JIT014", "deviations[*].rule", "rule: SDH204", ("rule: SHD204", "rule: SDH204")),
    _fault(
        "repeated target", "JIT016", "targets[*]", "cpu:8 # again", ("  - cpu:8\n", "  - cpu:8\n  - cpu:8 # again\n")
    ),
    _fault("batch axis", "SHD001", "batch.axes[*]", "dta", ("16, axes: [data, fsdp]", "16, axes: [dta, fsdp]")),
    _fault(
        "allowed axis",
        "SHD001",
        "collectives.allow[*].axes[*]",
        "fdsp",
        ("reduce, axes: [data, fsdp]", "reduce, axes: [data, fdsp]"),
    ),
    _fault(
        "deviation axis",
        "SHD001",
        "deviations[*].match.axes[*]",
        "pipe]",
        ("gather, axes: [fsdp]", "gather, axes: [pipe]"),
    ),
    _fault(
        "pattern matches nothing",
        "SHD002",
        "parameters.rules[*].match",
        "match: layers/attention/wq",
        ("  rules:\n", "  rules:\n    - { match: layers/attention/wq, axes: [layer, embed, heads] }\n"),
    ),
    _fault(
        "axis used twice",
        "SHD003",
        "parameters.rules[*].axes",
        "axes: [embed, embed]",
        ("embed/table, axes: [vocab, embed]", "embed/table, axes: [embed, embed]"),
    ),
    _fault(
        "dimension not divisible",
        "SHD004",
        "parameters.logical_axes.mlp",
        "mlp: data",
        ("mlp: null", "mlp: data"),
        ("d_ff: 512", "d_ff: 511"),
    ),
    _fault(
        "microbatch not divisible",
        "SHD005",
        "batch.size",
        "size: 16",
        ("microbatches: 2", "microbatches: 4"),
        _untouched("16, axes: [data, fsdp]"),
    ),
    _fault("mesh too small", "SHD006", "targets[*]", "cpu:16", ("targets:\n", "targets:\n  - cpu:16\n")),
    _fault(
        "unmapped logical axis", "SHD007", "parameters.rules[*].axes[*]", "vocb", ("[embed, vocab]", "[embed, vocb]")
    ),
    _fault(
        "unused logical axis",
        "SHD008",
        "parameters.logical_axes.embd",
        "embd",
        ("{ layer: null", "{ embd: fsdp, layer: null"),
    ),
    _fault(
        "unreachable rule",
        "SHD009",
        "parameters.rules[*].match",
        "match: layers/attn/wq",
        (_LAST_RULE, "    - { match: layers/attn/wq, axes: [layer, null, null] }\n" + _LAST_RULE),
    ),
    _fault(
        "wrong rank",
        "SHD010",
        "parameters.rules[*].axes",
        "axes: [null, embed]",
        ("final_norm/scale, axes: [embed]", "final_norm/scale, axes: [null, embed]"),
    ),
    _fault(
        "repeated collective",
        "SHD011",
        "collectives.allow[*]",
        "{ kind: all-reduce, axes: [fsdp, data]",
        (
            _LAST_ALLOWED,
            _LAST_ALLOWED + "    - { kind: all-reduce, axes: [fsdp, data], elements_max: 1, reason: loss }\n",
        ),
        _untouched("reduce, axes: [data, fsdp]"),
    ),
    _fault("slice axis", "SHD012", "mesh.dcn.pod", "pod:", ("dcn: {}", "dcn: { pod: 2 }")),
    _fault(
        "no closed form",
        "SHD013",
        "collectives.expect",
        "expect:",
        ("optimizer: { name: adamw, placement: parameters }\n", ""),
    ),
    _fault(
        "unknown memory class",
        "MEM001",
        "memory.classes.optimizer_slots",
        "optimizer_slots",
        ("optimizer_slot:", "optimizer_slots:"),
    ),
    _fault(
        "class above memory",
        "MEM002",
        "memory.classes.parameter",
        "parameter: 40GiB",
        ("1.2GiB }", "1.2GiB, parameter: 40GiB }"),
    ),
    _fault("memory above device", "MEM003", "memory.hbm", "hbm: 20GiB", ("hbm: 16GiB", "hbm: 20GiB")),
    _fault("uneven heads", "SEM001", "model.kv_heads", "kv_heads", ("kv_heads: 2", "kv_heads: 5")),
    _fault("uneven width", "SEM002", "model.d_model", "d_model", ("  heads: 4", "  heads: 6")),
    _fault(
        "other microbatches",
        "SEM003",
        "step.train.args.microbatches",
        "microbatches: 8",
        ("preset: tiny }", "preset: tiny, microbatches: 8 }"),
    ),
    _fault(
        "uneven microbatches",
        "DAT001",
        "accumulation.microbatches",
        "microbatches: 3",
        ("microbatches: 2", "microbatches: 3"),
    ),
    _fault("other signature", "DAT002", "step.train.signatures.tokens", "tokens", ("[[16, 128]]", "[[8, 128]]")),
    _fault("unknown dtype", "NUM001", "dtypes.compute", "compute: bf16", ("compute: bfloat16", "compute: bf16")),
)


def compatible(faults: list[Fault], good: str = GOOD) -> list[Fault]:
    """The faults, without those that edit text an earlier one edits."""
    kept: list[Fault] = []
    spans: list[tuple[int, int]] = []
    for fault in faults:
        own = [(good.index(old), good.index(old) + len(old)) for old, _ in fault.edits]
        if all(end <= start_ or end_ <= start for start, end in own for start_, end_ in spans):
            kept.append(fault)
            spans += own
    return kept


def plant(faults: list[Fault], good: str = GOOD) -> str:
    """A good contract with the faults in it. Every edited text must stand in it once."""
    edits = sorted((good.index(old), old, new) for fault in faults for old, new in fault.edits)
    text, position = "", 0
    for start, old, new in edits:
        assert good.count(old) == 1, old
        text += good[position:start] + new
        position = start + len(old)
    return text + good[position:]


def place(text: str, at: str) -> tuple[int, int]:
    """Line and column, 1-based, of the only place where `at` starts."""
    assert text.count(at) == 1, (at, text.count(at))
    before = text[: text.index(at)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def write(folder: Path, text: str) -> Path:
    """The contract and the files it needs."""
    (folder / "base.contract.yaml").write_text("contract: 1\n")
    (folder / "base.yml").write_text("model:\n  num_layers: 4\nblocks: 2\n")
    path = folder / "train.contract.yaml"
    path.write_text(text)
    return path
