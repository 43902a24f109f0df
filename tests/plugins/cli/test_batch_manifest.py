"""`contract-lint batch manifest`: build, check, and what it refuses."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for source in ("web", "code"):
        (tmp_path / "data" / source).mkdir(parents=True)
        (tmp_path / "data" / source / "1.jsonl").write_text(f'{{"text": "{source}"}}\n')
    return tmp_path / "data"


def test_what_was_built_is_kept(cli: Run, data: Path) -> None:
    done = cli("batch", "manifest", "build", "data", "--output", "m.json")
    assert done.returncode == 0 and done.stdout == "" and "2 shards of 2 sources, 2 records" in done.stderr
    assert cli("batch", "manifest", "build", "data").stdout == (data.parent / "m.json").read_text()
    done = cli("batch", "manifest", "check", "data", "--manifest", "m.json")
    assert done.returncode == 0 and done.stdout.startswith("PASS data: 2 shards of 2 sources, 2 records")
    (data / "web/1.jsonl").write_text('{"text": "wed"}\n')
    done = cli("batch", "manifest", "check", "data", "--manifest", "m.json", "--format", "json")
    (found,) = json.loads(done.stdout)["findings"]
    assert done.returncode == 1 and (found["code"], found["path"]) == ("DAT701", "data/web/1.jsonl")


def test_a_manifest_may_lie_among_the_data(cli: Run, data: Path) -> None:
    cli("batch", "manifest", "build", "data", "--output", "data/data.manifest.json")
    assert cli("batch", "manifest", "check", "data").returncode == 0
    cli("batch", "manifest", "build", "data", "--output", "data/other.json")
    assert cli("batch", "manifest", "check", "data", "--manifest", "data/other.json").returncode == 0


def test_nothing_but_the_output_is_written(cli: Run, data: Path) -> None:
    before = sorted(data.parent.rglob("*"))
    cli("batch", "manifest", "build", "data")
    cli("batch", "manifest", "check", "data")
    cli("batch", "manifest", "build", "data", "--output", "m.json")
    assert sorted(data.parent.rglob("*")) == sorted([*before, data.parent / "m.json"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("build", "none"), "none: cannot be read"),
        (("build", "m.json"), "cannot be read"),
        (("build", "empty"), "holds no file"),
        (("build", "data", "--tokenizer", "tok"), "no file of the tokenizer is `tok`"),
        (("build", "data", "--output", "none/m.json"), "none/m.json: cannot be written"),
        (("check", "data"), "has no manifest in it"),
        (("check", "data", "--manifest", "m.json"), "m.json:1:2: unknown key `a`"),
        (("check", "data", "--manifest", "none.json"), "none.json: cannot be read"),
        (("check", "data", "--select", "DAT799"), "DAT799"),
    ],
)
def test_wrong_usage(cli: Run, data: Path, arguments: tuple[str, ...], said: str) -> None:
    (data.parent / "empty").mkdir()
    (data.parent / "m.json").write_text('{"a": 1, "schema_version": 1}')
    done = cli("batch", "manifest", *arguments)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
