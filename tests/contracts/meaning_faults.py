"""A good contract that says what is optimised, and operators that each plant one fault in those sections."""

from __future__ import annotations

from dataclasses import dataclass

GOOD = """\
contract: 1
name: meaning
config: { base: base.yml }
step:
  train: { entry: "my_pkg.train:build", args: { preset: tiny, dropout: 0.1 } }
  eval: { entry: "my_pkg.train:evaluate" }
mesh: { axes: { data: 4 } }
model:
  kind: dense
  layers: { from: base#model.num_layers }
  d_model: 128
  heads: 4
  kv_heads: 2
  d_ff: 512
  vocab: 512
  sequence: 128
batch: { size: 16, axes: [data] }
accumulation: { microbatches: 4, arg: microbatches, order: strided, dtype: float32, combine: sum_then_divide }
objective:
  terms:
    - { name: cross_entropy, weight: 1.0, normaliser: global_valid_tokens, metric: token_mean }
    - { name: z_loss, kind: z_loss, weight: 1.0e-4, normaliser: sequences, scope: global, metric: sequence_mean }
    - { name: balance, kind: router, weight: 0.01, normaliser: microbatches, metric: microbatch_mean }
optimizer:
  name: adamw
  schedule: { kind: cosine, unit: steps, peak: 3.0e-4, warmup: 100, total: 1000 }
  chain:
    - { kind: reduce }
    - { kind: clip_by_global_norm, max_norm: 1.0, per: step }
    - { kind: scale_by_adam, b1: 0.9, b2: 0.95, eps: 1.0e-8 }
    - { kind: add_decayed_weights, rate: 0.1, skip: ["mlp_norm/scale"] }
    - { kind: scale_by_learning_rate, multipliers: { "embed/table": 0.5 } }
training: { steps: 1000, tokens: 2048000 }
rng:
  root: { seed: 0, impl: threefry2x32 }
  derivation: fold_in
  streams: { dropout: [step, microbatch] }
metrics:
  loss: { sum: objective, denominator: global_valid_tokens }
  z: { sum: z_loss, denominator: sequences }
eval: { step: eval, terms: [cross_entropy], combine: sum_then_divide, every: 100 }
"""


@dataclass(frozen=True)
class Fault:
    """`edits`: (old, new), each old text once in GOOD. `at`: the text the finding points at, once in the result."""

    name: str
    code: str
    key: str
    at: str
    edits: tuple[tuple[str, str], ...]


def _fault(name: str, code: str, key: str, at: str, *edits: tuple[str, str]) -> Fault:
    return Fault(name, code, key, at, edits)


FAULTS = (
    _fault(
        "no normaliser",
        "SEM004",
        "objective.terms[*]",
        "{ name: balance",
        ("normaliser: microbatches, metric: microbatch_mean", "metric: microbatch_mean"),
    ),
    _fault(
        "no weight",
        "SEM004",
        "objective.terms[*]",
        "{ name: cross_entropy",
        ("weight: 1.0, normaliser: global_valid_tokens", "normaliser: global_valid_tokens"),
    ),
    _fault(
        "term twice",
        "SEM005",
        "objective.terms[*].name",
        "name: cross_entropy, kind",
        ("name: balance,", "name: cross_entropy,"),
    ),
    _fault(
        "two primary terms", "SEM005", "objective.terms[*].kind", "kind: primary", ("kind: router", "kind: primary")
    ),
    _fault(
        "mean of means",
        "SEM006",
        "objective.terms[*].accumulation",
        "accumulation: mean_of_microbatches",
        ("metric: token_mean", "accumulation: mean_of_microbatches, metric: token_mean"),
    ),
    _fault(
        "local normaliser", "SEM007", "objective.terms[*].scope", "scope: device", ("scope: global", "scope: device")
    ),
    _fault(
        "schedule of another length", "SEM008", "optimizer.schedule.total", "total: 900", ("total: 1000", "total: 900")
    ),
    _fault(
        "schedule in microbatches",
        "SEM008",
        "optimizer.schedule.total",
        "total: 1000 }",
        ("unit: steps", "unit: microbatches"),
    ),
    _fault("long warm-up", "SEM008", "optimizer.schedule.warmup", "warmup: 2000", ("warmup: 100", "warmup: 2000")),
    _fault("token budget", "SEM009", "training.tokens", "tokens: 2048001", ("tokens: 2048000", "tokens: 2048001")),
    _fault("clip of each microbatch", "SEM010", "optimizer.chain[*]", "{ kind: clip", ("per: step", "per: microbatch")),
    _fault(
        "decay of no parameter",
        "SEM011",
        "optimizer.chain[*].skip[*]",
        '"mlp_norm/scales"',
        ('"mlp_norm/scale"', '"mlp_norm/scales"'),
    ),
    _fault(
        "rate of no parameter",
        "SEM011",
        "optimizer.chain[*].multipliers.*",
        '"embed/tables"',
        ('"embed/table"', '"embed/tables"'),
    ),
    _fault(
        "another optimizer",
        "SEM012",
        "optimizer.chain",
        "chain:",
        ("{ kind: scale_by_adam, b1: 0.9, b2: 0.95, eps: 1.0e-8 }", "{ kind: trace }"),
    ),
    _fault("metric of no term", "SEM013", "metrics.z.sum", "sum: zloss", ("sum: z_loss", "sum: zloss")),
    _fault("evaluation of no term", "SEM013", "eval.terms[*]", "crossentropy", ("[cross_entropy]", "[crossentropy]")),
    _fault("evaluation of no step", "SEM013", "eval.step", "step: evaluate", ("step: eval,", "step: evaluate,")),
    _fault("same keys", "SEM014", "rng.streams.dropout", "dropout: [step]", ("[step, microbatch]", "[step]")),
    _fault(
        "no primary term",
        "SEM015",
        "objective.terms",
        "terms:\n",
        ("{ name: cross_entropy, weight", "{ name: cross_entropy, kind: auxiliary, weight"),
    ),
    _fault(
        "primary term turned round",
        "SEM015",
        "objective.terms[*].weight",
        "weight: -1.0",
        ("weight: 1.0, normaliser: global", "weight: -1.0, normaliser: global"),
    ),
    _fault(
        "primary term of no weight",
        "SEM015",
        "objective.terms[*].weight",
        "weight: 0, normaliser: global",
        ("weight: 1.0, normaliser: global", "weight: 0, normaliser: global"),
    ),
    _fault("weight of no number", "JIT003", "objective.terms[*].weight", "weight: .nan", ("1.0e-4", ".nan")),
    _fault("endless weight", "JIT003", "objective.terms[*].weight", "weight: 1.0e400", ("1.0e-4", "1.0e400")),
    _fault(
        "loss logged by microbatches",
        "SEM016",
        "objective.terms[*].metric",
        "metric:  microbatch_mean",
        ("metric: token_mean", "metric:  microbatch_mean"),
    ),
    _fault(
        "rows logged by tokens",
        "SEM016",
        "objective.terms[*].metric",
        "metric:  token_mean",
        ("metric: sequence_mean", "metric:  token_mean"),
    ),
    _fault(
        "objective over rows",
        "SEM016",
        "metrics.loss.denominator",
        "denominator:  sequences",
        ("sum: objective, denominator: global_valid_tokens", "sum: objective, denominator:  sequences"),
    ),
    _fault(
        "metric over microbatches",
        "SEM016",
        "metrics.z.denominator",
        "denominator:  microbatches",
        ("sum: z_loss, denominator: sequences", "sum: z_loss, denominator:  microbatches"),
    ),
    _fault(
        "two learning rates",
        "SEM017",
        "optimizer.chain[*].rate",
        "rate: 1.0e-3",
        ("scale_by_learning_rate, mult", "scale_by_learning_rate, rate: 1.0e-3, mult"),
    ),
    _fault(
        "schedule in tokens",
        "SEM008",
        "optimizer.schedule.total",
        "total: 1000 }",
        ("unit: steps", "unit: tokens"),
    ),
    _fault("same keys in every step", "SEM014", "rng.streams.dropout", "dropout: [mic", ("[step, micro", "[micro")),
    _fault("one key for the run", "SEM014", "rng.streams.dropout", "dropout: []", ("[step, microbatch]", "[]")),
    _fault(
        "microbatch twice",
        "SEM014",
        "rng.streams.dropout",
        "dropout: [step, microbatch, microbatch]",
        ("[step, microbatch]", "[step, microbatch, microbatch]"),
    ),
    _fault("misspelt key", "JIT002", "accumulation.ordering", "ordering", ("order:", "ordering:")),
    _fault(
        "unknown normaliser",
        "JIT003",
        "metrics.loss.denominator",
        "denominator: tokens",
        ("sum: objective, denominator: global_valid_tokens", "sum: objective, denominator: tokens"),
    ),
    _fault(
        "unknown transformation",
        "JIT003",
        "optimizer.chain[*].kind",
        "kind: scale_by_adan",
        ("kind: scale_by_adam", "kind: scale_by_adan"),
    ),
    _fault(
        "unknown granularity",
        "JIT003",
        "rng.derivation",
        "derivation: folded",
        ("derivation: fold_in", "derivation: folded"),
    ),
    _fault(
        "accumulator of no dtype",
        "NUM001",
        "accumulation.dtype",
        "dtype: f32",
        ("strided, dtype: float32", "strided, dtype: f32"),
    ),
    _fault(
        "uneven microbatches",
        "DAT001",
        "accumulation.microbatches",
        "microbatches: 3",
        ("microbatches: 4", "microbatches: 3"),
    ),
)
