"""`contract-lint batch check` and `inspect`: exit codes, formats, widths, hostile names, the handed cases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from contract_lint.plugins.pipeline.batch import check_batch, open_batch, view_row
from contract_lint.plugins.report.batch_text import text
from contract_lint.plugins.report.batch_words import facts
from rich.cells import cell_len

Run = Callable[..., "subprocess.CompletedProcess[str]"]
CORPUS = os.environ.get("CONTRACT_LINT_CORPUS")
HEAD = "contract: 1\nname: b\nstep: { train: { entry: m:build } }\n"
PACKED = HEAD + "data: { packing: { kind: segments, positions: segment } }\n"
ROWS = HEAD + "data: { packing: { kind: segments, positions: row } }\n"
SAME_ID = HEAD + "data: { tokenizer: { vocab: 16, eos_id: 2, pad_id: 2 }, counted: { eos: true } }\n"


def _batch(folder: Path, columns: int = 64) -> None:
    tokens = np.arange(2 * columns).reshape(2, columns) % 31_000
    segments = np.repeat([[1] * (columns // 2) + [2] * (columns - columns // 2)], 2, axis=0)
    np.savez(folder / "b.npz", tokens=tokens, targets=np.roll(tokens, -1, 1), segment_ids=segments, loss_mask=segments)


def test_check_exits_with_what_it_found(cli: Run, tmp_path: Path) -> None:
    _batch(tmp_path)
    done = cli("batch", "check", "b.npz")
    assert done.returncode == 0 and "DAT609" in done.stdout
    assert cli("batch", "check", "b.npz", "--fail-on", "warning").returncode == 1
    assert cli("batch", "check", "b.npz", "--ignore", "DAT609").stdout.startswith("PASS b.npz: 2 x 64: tokens, targets")
    listed = json.loads(cli("batch", "check", "b.npz", "--format", "json").stdout)
    assert [each["code"] for each in listed["findings"]] == ["DAT609"]


@pytest.mark.parametrize("promised", [False, True])
def test_the_id_of_targets_that_do_not_count_is_said_where_it_is_inferred(tmp_path: Path, promised: bool) -> None:
    tokens = np.arange(3, 23).reshape(2, 10)
    targets = np.where(np.arange(10) < 9, np.roll(tokens, -1, 1), -100)
    np.savez(tmp_path / "b.npz", tokens=tokens, labels=targets)
    (tmp_path / "c.contract.yaml").write_text(
        HEAD + "data: { fields: { tokens: {}, labels: { range: [-100, 99] } }, shift: batch }\n"
    )
    contract = tmp_path / "c.contract.yaml" if promised else None
    proof = check_batch([tmp_path / "b.npz"], contract=contract).proof or ""
    view = view_row(open_batch(tmp_path / "b.npz", contract), 0)
    said = "-100 is taken for targets that do not count: the only id below 0 in `labels`, and no `range` names one"
    assert ([said] == list(view.inferred) == view.as_json()["inferred"]) is not promised
    assert (said in proof) is (said in facts(view)) is not promised
    assert view.facts.counted == 18 and max(map(len, text(view, 80).splitlines()[1:])) <= 80


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("width", [9, 64, 2000])
def test_inspect_fits(cli: Run, tmp_path: Path, columns: int, width: int) -> None:
    _batch(tmp_path, width)
    text = cli("batch", "inspect", "b.npz", "--row", "1", "--query", "5", env={"COLUMNS": str(columns)}).stdout
    assert max(map(len, text.splitlines())) <= columns
    assert "segment 2: columns" in text and "the query at column 5 sees" in text


def test_inspect_as_json_and_html(cli: Run, tmp_path: Path) -> None:
    _batch(tmp_path, 8192)
    view = json.loads(cli("batch", "inspect", "b.npz", "--format", "json", "--query", "4097").stdout)
    assert view["query"] == {"column": 4097, "keys": [[4096, 4098]]} and len(view["fields"]["tokens"]["values"]) == 8192
    assert view["facts"]["documents"] == 4 and view["denominator"] == 4096 * 3
    done = cli("batch", "inspect", "b.npz", "--format", "html", "--output", "b.html")
    page = (tmp_path / "b.html").read_text()
    assert (
        done.returncode == 0
        and len(page) < 2_000_000
        and "http:" not in page
        and "https:" not in page
        and "<script" not in page
    )


PIECES = [
    "<pad>",
    " the",
    "\n",
    "<img src=x>",
    "\x1b[31m",
    "\u65e5\u672c\u8a9e",
    "e\u0301",
    "w" * 5_000,
    "\u202eabc",
    "&amp;",
]


@pytest.fixture
def decoded(tmp_path: Path) -> Path:
    tokens = np.arange(24).reshape(2, 12)
    np.savez(tmp_path / "b.npz", tokens=tokens, segment_ids=np.ones_like(tokens))
    (tmp_path / "vocab.json").write_text(json.dumps(PIECES))
    return tmp_path


@pytest.mark.parametrize("columns", [80, 120])
def test_pieces_fit_and_are_harmless(cli: Run, decoded: Path, columns: int) -> None:
    done = cli("batch", "inspect", "b.npz", "--tokenizer", "vocab.json", env={"COLUMNS": str(columns)})
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and max(map(cell_len, lines)) <= columns
    assert "pieces by vocab.json; 2 tokens of this row are not in it" in done.stdout
    assert not {"\x1b", "\u202e"} & set(done.stdout)
    (first, *_) = [line for line in lines if line.startswith("piece")]
    (ids,) = [line for line in lines if line.startswith("token") and " 0 " in line]
    assert first.split()[1:6] == ["<pad>", "\u00b7the", "\\n", "<img\u00b7src=x>", "\\x1b[31m"]
    assert cell_len(first) == cell_len(ids), "a piece stands over its id"
    assert "\u65e5\u672c\u8a9e" in done.stdout and "w" * 13 + "..." in done.stdout and "w" * 14 not in done.stdout


def test_pieces_as_json_and_html(cli: Run, decoded: Path) -> None:
    inspect = ("batch", "inspect", "b.npz", "--tokenizer", ".", "--format")
    view = json.loads(cli(*inspect, "json").stdout)
    assert view["pieces"] == [*PIECES, None, None] and view["tokenizer"] == "."
    assert json.loads(cli("batch", "inspect", "b.npz", "--format", "json").stdout)["pieces"] is None
    page = cli(*inspect, "html").stdout
    assert "<img" not in page and "&lt;img" in page and "&amp;amp;" in page and "\x1b" not in page
    (decoded / "vocab.json").write_text(json.dumps(["<\"'&" * 9] * 9_000))
    np.savez(
        decoded / "b.npz",
        tokens=np.arange(8_192)[None],
        targets=np.arange(8_192)[None],
        segment_ids=np.ones((1, 8_192), int),
    )
    assert len(cli(*inspect, "html").stdout.encode()) < 2_000_000


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("none.json", None, "none.json: cannot be read"),
        ("vocab.json", "{", "vocab.json:1:2: is no JSON"),
        ("vocab.json", '{"a": -1}', "is no number of at least 0"),
        ("x.bin", "a", "x.bin: holds no vocabulary"),
    ],
)
def test_a_tokenizer_that_cannot_be_read(cli: Run, decoded: Path, name: str, text: str | None, said: str) -> None:
    if text is not None:
        (decoded / name).write_text(text)
    done = cli("batch", "inspect", "b.npz", "--tokenizer", name)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


def test_names_are_escaped(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "<b>.npz").write_bytes(b"")
    np.savez(tmp_path / "<img src=x>.npz", tokens=np.ones((1, 4), int))
    assert "<img" not in cli("batch", "inspect", "<img src=x>.npz", "--format", "html").stdout
    np.savez(tmp_path / "b.npz", **{"tokens": np.ones((1, 4), int), "a\x1b[31mred": np.ones(3)})
    assert "\x1b" not in cli("batch", "check", "b.npz").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "none.npz"), "none.npz: cannot be read"),
        (("check", "b.npz", "--contract", "none.contract.yaml"), "none.contract.yaml"),
        (("check", "b.npz", "--contract", "c.contract.yaml"), "no section `data`"),
        (("check", "b.npz", "--select", "DAT699"), "DAT699"),
        (("inspect", "b.npz", "--row", "2"), "has no row 2: it has 2"),
        (("inspect", "b.npz", "--row", "-1"), "has no row -1"),
        (("inspect", "b.npz", "--query", "64"), "has no column 64"),
        (("inspect", "d.npz"), "no array of tokens"),
        (("check", "c.contract.yaml"), "neither a .npz nor a .safetensors"),
    ],
)
def test_wrong_usage(cli: Run, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    _batch(tmp_path)
    np.savez(tmp_path / "d.npz", images=np.zeros((2, 8, 8, 3)))
    (tmp_path / "c.contract.yaml").write_text(HEAD)
    done = cli("batch", *arguments)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.skipif(CORPUS is None, reason="CONTRACT_LINT_CORPUS is not set")
@pytest.mark.parametrize(
    ("case", "contract", "bad", "good"),
    [
        ("05_positions_not_reset", PACKED, {"DAT604"}, set()),
        ("05_positions_not_reset", ROWS, set(), {"DAT604"}),
        ("07_pad_equals_eos", SAME_ID, {"DAT607"}, set()),
    ],
    ids=["positions", "positions of the row", "end and padding"],
)
def test_handed_cases(cli: Run, tmp_path: Path, case: str, contract: str, bad: set[str], good: set[str]) -> None:
    (tmp_path / "c.contract.yaml").write_text(contract)
    for variant, wanted in (("bad", bad), ("good", good)):
        made = Path(CORPUS or "", "cases", "contracts", case, "gen.py")
        out = tmp_path / f"{variant}.npz"
        subprocess.run([sys.executable, made, "--variant", variant, "--out", out], check=True, capture_output=True)
        done = cli("batch", "check", out.name, "--contract", "c.contract.yaml", "--format", "json")
        assert {each["code"] for each in json.loads(done.stdout)["findings"]} == wanted, variant
