"""Every rule on data: folders that break their manifest, records of other data, and twins that do not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.data_manifest import DataFile, DataManifest
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.load import load_contract
from contract_lint.contracts.progress import PROGRESS_FIELDS, read_progress
from contract_lint.linters.data.evidence import DataEvidence, Replayed
from contract_lint.linters.data.folder import FolderData
from contract_lint.linters.data.judge import judge_data
from contract_lint.linters.data.tree import build_manifest
from contract_lint.linters.registry import builtin_rules

FILES = {"web/1.jsonl": '{"a": 1}\n', "web/2.jsonl": '{"a": 2}\n', "tok/vocab.json": '{"a": 0}'}
Change = Callable[[Path], object]
Pair = Callable[..., list[Finding]]
BAD: dict[str, list[tuple[Change, str]]] = {
    "DAT701": [
        (lambda root: (root / "web/1.jsonl").write_text('{"a": 9}\n'), "web/1.jsonl has another content"),
        (lambda root: (root / "web/1.jsonl").write_text(""), "9 B were promised, 0 B are there"),
    ],
    "DAT702": [
        (lambda root: (root / "tok/vocab.json").write_text('{"a": 0, "b": 1}'), "vocab is 2, and was 1"),
        (lambda root: (root / "tok/vocab.json").write_text('{"a": 0'), "tok/vocab.json has another content"),
    ],
    "DAT703": [
        (lambda root: (root / "web/1.jsonl").unlink(), "web/1.jsonl is not there"),
        (lambda root: (root / "web/1.jsonl").rename(root / "web/3"), "the same content is in web/3"),
        (lambda root: (root / "tok/vocab.json").unlink(), "the tokenizer file tok/vocab.json is not there"),
    ],
    "DAT704": [(lambda root: (root / "web/3.jsonl").write_text("x"), "web/3.jsonl lies among the data")],
}


@pytest.mark.parametrize(("code", "change", "said"), [(code, *case) for code, cases in BAD.items() for case in cases])
def test_a_change_gives_its_finding_alone(tmp_path: Path, code: str, change: Change, said: str) -> None:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    promised = build_manifest(tmp_path)
    there = build_manifest(tmp_path, lenient=True)
    assert judge_data(DataEvidence(FolderData("data", promised, there))) == []
    change(tmp_path)
    found = judge_data(DataEvidence(FolderData("data", promised, build_manifest(tmp_path, lenient=True))))
    assert [each.code for each in found] == [code] and said in found[0].message


WHOLE: dict[str, Any] = {
    "step": 5,
    "tokens": 20,
    "sources": {"web": {"records": 20, "tokens": 20, "epoch": 0}},
    "cursor": {"next_index": 20},
    "dataset": "sha256:" + "0" * 64,
    "tokenizer": "sha256:" + "1" * 64,
    "mixture": {"web": 1},
    "seed": 3,
    "sampler": ["Batch(batch_size=4)", "Shuffle(seed=3)"],
    "batch": 4,
    "shards": 1,
    "prefetch": 2,
}
CONTRACT = """contract: 1
name: n
step: { train: { entry: m:build } }
batch: { size: 4 }
data: { mixture: { web: 1 }, sampler: { seed: 3 }, sharding: { processes: 1 }, progress: { tokens_per_step: 4 } }
"""


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    """`pair(changes, batches_a, batches_b, ...)`: the findings on the whole record and a changed one."""

    def judged(
        changes: Mapping[str, Any], contract: str = CONTRACT, manifest: DataManifest | None = None, **replayed: Any
    ) -> list[Finding]:
        for name, fields in (("a", WHOLE), ("b", {**WHOLE, **changes})):
            (tmp_path / f"{name}.json").write_text(json.dumps({k: v for k, v in fields.items() if v is not None}))
        (tmp_path / "c.contract.yaml").write_text(contract)
        (a,), (b,) = (read_progress(tmp_path / f"{name}.json") for name in "ab")
        loaded = load_contract(tmp_path / "c.contract.yaml", root=tmp_path)
        assert loaded.contract is not None, loaded.findings
        return judge_data(
            DataEvidence(
                positions=(a, b),
                replayed=Replayed(**replayed) if replayed else None,
                loaded=loaded,
                manifest=manifest,
            )
        )

    return judged


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dataset": "sha256:" + "2" * 64}, "dataset is sha256:2"),
        ({"tokenizer": "sha256:" + "2" * 64}, "tokenizer is sha256:2"),
        ({"mixture": {"web": 1, "code": 2}}, "mixture is code: 2, and was code: none"),
        ({"seed": 4}, "seed is 4, and was 3 where the cursor was saved"),
        (
            {"sampler": ["Batch(batch_size=4)", "Shuffle(seed=4)"]},
            "sampler is Shuffle(seed=4), and was Shuffle(seed=3)",
        ),
        ({"batch": 8}, "batch is 8, and was 4"),
        ({"shards": 2}, "shards is 2, and was 1"),
    ],
)
def test_another_identity_is_named_with_both_values(pair: Pair, changes: dict[str, Any], said: str) -> None:
    bare = "contract: 1\nname: n\nstep: { train: { entry: m:build } }\n"
    (found,) = pair(changes, bare)
    assert found.code == "DAT711" and said in found.message and found.key in changes


def test_what_the_contract_promises_counts_too(pair: Pair) -> None:
    assert pair({}) == []
    found = pair({}, CONTRACT.replace("seed: 3", "seed: 7"))
    assert [each.code for each in found] == ["DAT711"] * 2
    assert found[0].message == "seed is 3, and the contract promises 7" and "data.sampler.seed" in found[0].evidence[0]


def _of_b(finding: Finding) -> bool:
    return finding.location is not None and finding.location.path.endswith("b.json")


@pytest.mark.parametrize(
    ("promised", "sampler", "said"),
    [
        ("sampler: { kind: shuffle }", "shuffle", None),
        ("sampler: { kind: shuffle }", "sequential", "sampler is sequential, and the contract promises shuffle"),
        ("sampler: { kind: shuffle }", ["Batch(batch_size=4)", "WindowShuffle(seed=3)"], None),
        ("sampler: { kind: shuffle }", ["IndexSampler(shuffle=False)"], "promises shuffle"),
        ("sampler: { kind: sequential }", ["IndexSampler(shuffle=False)"], None),
        ("sampler: { kind: sequential }", ["Shuffle(seed=3)"], "promises sequential"),
        ("sampler: { kind: by_length }", ["Shuffle(seed=3)"], None),
        ("sharding: { prefetch: 2 }", "shuffle", None),
        ("sharding: { prefetch: 4 }", "shuffle", "prefetch is 2, and the contract promises 4"),
    ],
)
def test_what_orders_and_reads_ahead_is_promised(pair: Pair, promised: str, sampler: Any, said: str | None) -> None:
    contract = CONTRACT[: CONTRACT.index("data:")] + f"data: {{ {promised} }}\n"
    found = [
        each for each in pair({"sampler": sampler}, contract) if each.location and each.location.path[-6:] == "b.json"
    ]
    found = [each for each in found if "promises" in each.message]
    assert [each.code for each in found] == ([] if said is None else ["DAT711"])
    assert said is None or said in found[0].message


def test_the_manifest_that_a_contract_names_is_its_word_on_the_files(pair: Pair) -> None:
    contract = CONTRACT[: CONTRACT.index("data:")] + "data: { dataset: { manifest: m.json } }\n"
    manifest = DataManifest((DataFile("web/0.jsonl", "shard", 1, "sha256:" + "0" * 64),))
    assert pair({}, contract) == []
    found = pair({}, contract, manifest)
    assert [each.key for each in found] == ["dataset"] * 2 and found[0].expected == manifest.root
    assert "data.dataset.manifest" in found[0].evidence[0]
    assert [
        each.code
        for each in pair({"dataset": manifest.root}, contract, manifest)
        if each.location.path[-6:] == "b.json"
    ] == ["DAT711"]


def test_other_places_are_no_other_data(pair: Pair) -> None:
    assert pair({"step": 9, "tokens": 36, "cursor": 40, "prefetch": 8}) == []


def test_the_loader_as_it_is_now(pair: Pair) -> None:
    same = {"batches": (("x", "y"), ("x", "y")), "pipeline": ("Batch(batch_size=4)", "Shuffle(seed=3)")}
    assert pair({}, **same) == []
    found = pair({}, **same | {"pipeline": ("Batch(batch_size=4)", "Shuffle(seed=4)")})
    assert [each.code for each in found] == ["DAT711", "DAT711"]
    assert found[0].message == "the loader has Shuffle(seed=4), and had Shuffle(seed=3) where the cursor was saved"
    found = pair({}, **same | {"refused": (None, "no such state")})
    assert len(found) == 1 and found[0].message.endswith("b.json: no such state")


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("xyz", "xyw", "batch 2 after"),
        ("xyz", "yzw", "it is 1 ahead"),
        ("yzw", "xyz", "it is 1 behind, and reads 1 again"),
        ("xyz", "xy", "gives 2 batches and"),
    ],
)
def test_other_batches(pair: Pair, a: str, b: str, said: str) -> None:
    (found,) = pair({}, batches=(tuple(a), tuple(b)))
    assert found.code == "DAT712" and said in found.message


def _run(tmp_path: Path, records: list[dict[str, Any]], contract: str = CONTRACT) -> list[Finding]:
    (tmp_path / "run.jsonl").write_text("".join(json.dumps({**WHOLE, **each}) + "\n" for each in records))
    (tmp_path / "c.contract.yaml").write_text(contract)
    loaded = load_contract(tmp_path / "c.contract.yaml", root=tmp_path)
    return judge_data(DataEvidence(history=read_progress(tmp_path / "run.jsonl"), loaded=loaded))


FREE = CONTRACT.replace("tokens_per_step: 4", "")


@pytest.mark.parametrize(
    ("tokens", "cursors", "contract", "said"),
    [
        (
            (400, 800, 800),
            (1, 2, 3),
            CONTRACT,
            "step 300: 100 steps but 0 tokens since the record before (expected 400)",
        ),
        ((400, 800, 1000), (1, 2, 3), CONTRACT, "step 300: 100 steps but 200 tokens"),
        ((400, 800, 1200), (1, 2, 2), CONTRACT, "step 300: 100 steps, and the cursor is where it was"),
        ((400, 400, 400), (1, 2, 3), FREE, "(expected more than 0); so does 1 later record"),
    ],
)
def test_a_frozen_cursor(tmp_path: Path, tokens: Any, cursors: Any, contract: str, said: str) -> None:
    records = [
        {"step": 100 * n, "tokens": t, "cursor": c} for n, (t, c) in enumerate(zip(tokens, cursors, strict=True), 1)
    ]
    (found,) = _run(tmp_path, records, contract)
    assert found.code == "DAT713" and said in found.message


def test_a_cursor_that_moves(tmp_path: Path) -> None:
    assert _run(tmp_path, [{"step": 100 * n, "tokens": 400 * n, "cursor": n} for n in range(1, 5)]) == []
    (found,) = _run(tmp_path, [{"step": 200}, {"step": 100}])
    assert found.code == "DAT713" and "it follows step 200" in found.message


@pytest.mark.parametrize("name", PROGRESS_FIELDS)
def test_a_field_that_is_missing(pair: Pair, name: str) -> None:
    (found,) = pair({name: None})
    assert found.code == "DAT714" and f"is missing: {name}" in found.message


def test_records_that_lack_the_same_are_one_finding(tmp_path: Path) -> None:
    def lacking(*records: dict[str, Any]) -> list[Finding]:
        lines = [{**WHOLE, "step": n, "tokens": 4 * n, "cursor": n, **each} for n, each in enumerate(records, 1)]
        return [each for each in _run(tmp_path, lines) if each.code == "DAT714"]

    assert lacking({}, {}) == []
    same, other = lacking({"seed": None}, {"seed": None}, {"batch": None}, {}, *[{"seed": None}] * 4)
    assert same.message.endswith(
        "is missing: seed; the same at line 2, line 5, line 6 and 2 more"
    ) and same.details == {"missing": ["seed"], "records": 6}
    assert other.message.endswith("is missing: batch") and other.location is not None and other.location.line == 3


def test_the_loader_of_a_record_is_told_by_its_iterator_too(pair: Pair) -> None:
    now: dict[str, Any] = {"batches": (("x",), ("x",)), "pipeline": ("Loader",), "iterator": ("Rows",)}
    for sampler, wanted in (["Rows"], []), (["Loader"], []), (["Other"], ["DAT711"]):
        found = pair({"sampler": sampler}, **now)
        assert [each.code for each in found if each.location and "b.json" in each.location.path][1:] == wanted


def test_a_field_of_the_project_that_is_missing(pair: Pair) -> None:
    fields = f"progress: {{ fields: [{', '.join(PROGRESS_FIELDS)}, wall_clock] }}"
    contract = CONTRACT[: CONTRACT.index("data:")] + f"data: {{ {fields} }}\n"
    (found,) = [each for each in pair({"wall_clock": 7}, contract) if each.code == "DAT714"]
    assert found.message == "1 of 13 fields of the progress record is missing: wall_clock"
    assert found.location is not None and found.location.path.endswith("a.json")


def test_every_rule_has_a_case() -> None:
    assert {rule.code for rule in builtin_rules("data")} == {*BAD, "DAT711", "DAT712", "DAT713", "DAT714"}
