"""Stages of the data: which names, roles and sizes are one, and what is said where only one side says something."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.load import load_contract
from contract_lint.linters.registry import builtin_rules

HEAD = """\
contract: 1
name: stages
step: { train: { entry: "my_pkg.train:build" } }
batch: { size: 16 }
model: { kind: dense, layers: 2, d_model: 64, heads: 8, kv_heads: 2, d_ff: 128, vocab: 64, sequence: 32 }
data:
"""


def judge(folder: Path, data: str) -> list[Finding]:
    path = folder / "train.contract.yaml"
    path.write_text(HEAD + "".join(f"  {line}\n" for line in data.strip().split("\n")))
    loaded = load_contract(path, root=folder)
    found = [finding for rule in builtin_rules("contract") for finding in rule.check(loaded)]
    return [*loaded.findings, *(finding for finding in found if finding.code.startswith("DAT"))]


def two(gives: str, reads: str) -> str:
    return f"stages:\n  - {{ kind: pack, output: {gives} }}\n  - {{ kind: map, input: {reads} }}"


@pytest.mark.parametrize(
    "data",
    [
        two("{ tokens: {} }", "{ tokens: { dtype: int32, shape: [a], range: [0, 9] } }"),
        two("{ tokens: { shape: [sequence] } }", "{ tokens: { shape: [32] } }"),
        two("{ tokens: { shape: [rows, 8] } }", "{ tokens: { shape: [4, columns] } }"),
        two("{ tokens: { range: [2, 5] } }", "{ tokens: { range: [0, 9] } }"),
        "stages: [{ kind: pack, output: { tokens: {} } }, { kind: map }, { kind: map, input: { other: {} } }]",
        "stages: []\nfields: { tokens: {}, targets: {} }",
        "fields: { tokens: { shape: [batch, sequence] }, lengths: { shape: [batch] }, extra: { shape: [7] } }",
        "fields: { tokens: { shape: [batch, 32] }, loss_mask: { shape: [16, sequence] } }",
        "fields: { labels: { range: [-100, 63], dtype: int8 } }\ntokenizer: { vocab: 64 }",
        "shift: model\nstages: [{ kind: tokenise }, { kind: pack }]",
        "fields: { tokens: { shape: [batch, 33] }, loss_mask: { shape: [batch, sequence] } }",
        "fields: { tokens: { shape: [16, n] }, mask: { shape: [batch, sequence] } }\nshift: model",
        "fields: { input_ids: {}, labels: { range: [-100, 63] } }\ntokenizer: { vocab: 64, eos_id: 1 }\n"
        "counted: { eos: true }",
    ],
)
def test_what_agrees_is_left_alone(tmp_path: Path, data: str) -> None:
    assert [finding.message for finding in judge(tmp_path, data)] == []


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        (
            two("{ tokens: {}, segment_ids: {} }", "{ input_ids: {}, segmentation: {} }"),
            [
                "`map` reads `input_ids`, and `pack` gives it as `tokens`",
                "`map` reads `segmentation`, and `pack` gives it as `segment_ids`",
            ],
        ),
        (
            two("{ tokens: {}, seq_lengths: {} }", "{ tokens: {} }"),
            ["`pack` gives `seq_lengths`, and `map` does not read it"],
        ),
        (
            two("{ tokens: { shape: [rows, 8] } }", "{ tokens: { shape: [rows] } }"),
            ["`map` reads `tokens` as [rows], and `pack` gives [rows, 8]"],
        ),
        (
            two("{ a: { shape: [n] }, b: { shape: [n] } }", "{ a: { shape: [4] }, b: { shape: [5] } }"),
            ["`map` reads `b` as [5], and `pack` gives [n]"],
        ),
        (
            two("{ tokens: { shape: [n] } }", "{ tokens: { shape: [m] } }"),
            ["`map` reads `tokens` as [m], and `pack` gives [n]"],
        ),
        (
            "fields: { tokens: {}, targets: {} }\nstages: [{ kind: shard, output: { tokens: {} } }]",
            ["the batch has `targets`, and `shard` does not give it"],
        ),
        (
            "fields: { tokens: {} }\nstages: [{ kind: shard, output: { tokens: {}, mood: {} } }]",
            ["`shard` gives `mood`, and `data.fields` has no such array"],
        ),
        (
            "stages: [{ kind: shift }, { kind: map }, { kind: shift }]",
            ["stage 3 (`shift`) moves the targets on by one, and so does stage 1 (`shift`)"],
        ),
        (
            "shift: batch\nstages: [{ kind: shift }, { kind: shard, output: { tokens: {} } }]",
            ["`shift: batch` needs a field targets, and `data.stages[1].output` has none"],
        ),
        (
            "fields: { input_ids: {}, labels: { range: [-.inf, 63] } }\ntokenizer: { vocab: 64, eos_id: 1 }\n"
            "counted: { eos: true }",
            ["`eos: true` needs a field loss_mask or loss_weights, and `data.fields` has none"],
        ),
        (
            "tokenizer: { vocab: 300 }\nstages: [{ kind: pack, input: { tokens: { dtype: uint8 } }, "
            "output: { tokens: { dtype: uint8 } } }]",
            ["tokens is uint8, which holds 0 to 255, and the vocabulary has 300 ids"],
        ),
    ],
)
def test_what_differs_is_said_once(tmp_path: Path, data: str, messages: list[str]) -> None:
    found = judge(tmp_path, data)
    assert [finding.message for finding in found if finding.code != "DAT005"] == messages


def test_the_last_stage_says_what_a_batch_is_where_no_fields_are_listed(tmp_path: Path) -> None:
    judge(tmp_path, "stages: [{ kind: shard, output: { ids: { role: tokens, dtype: int32 } } }]")
    contract = load_contract(tmp_path / "train.contract.yaml", root=tmp_path).contract
    assert contract is not None and contract.data is not None
    assert list(contract.data.batch_fields) == ["ids"] and contract.data.fields_key == "data.stages[0].output"
