"""`contract-lint batch replay` and `progress`: real loaders in a process of their own, and the handed cases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
CORPUS = os.environ.get("CONTRACT_LINT_CORPUS")
HEAD = "contract: 1\nname: n\nstep: { train: { entry: m:build } }\n"
LOADERS = """
import grain
import numpy as np

def dataset(seed=3, batch=4):
    return grain.MapDataset.range(100).shuffle(seed=seed).repeat().batch(batch)

def stages():
    return grain.MapDataset.range(100).shuffle(seed=3).to_iter_dataset().batch(4).batch(1)

def loader(seed=1):
    sampler = grain.samplers.IndexSampler(20, grain.sharding.NoSharding(), shuffle=True, seed=seed, num_epochs=1)
    return grain.DataLoader(data_source=range(20), sampler=sampler, operations=[grain.transforms.Batch(2)])

def plain(cursor, seed=3):
    order = np.random.default_rng(seed).permutation(100)
    for start in range(cursor["next_index"], 100, 4):
        yield {"tokens": order[start : start + 4]}

class Kept:
    def __init__(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.at += 1
        return {"tokens": np.full(4, self.at)}

    def get_state(self):
        return {"next_index": self.at}

    def set_state(self, state):
        self.at = state["next_index"]

def kept():
    return Kept()

def broken(cursor):
    raise OSError("no such disk")
"""
WHOLE: dict[str, Any] = {
    "step": 5,
    "tokens": 20,
    "sources": {"web": {"records": 20, "tokens": 20, "epoch": 0}},
    "cursor": {"next_index": 20},
    "dataset": "sha256:" + "0" * 64,
    "tokenizer": "sha256:" + "1" * 64,
    "mixture": {"web": 1},
    "seed": 3,
    "sampler": "shuffle",
    "batch": 4,
    "shards": 1,
    "prefetch": 0,
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "loaders.py").write_text(LOADERS)
    for name, changed in {"a": {}, "seed": {"seed": 4}, "behind": {"cursor": {"next_index": 16}}}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({**WHOLE, **changed}))
    return tmp_path


def _codes(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [each["code"] for each in json.loads(done.stdout)["findings"]]


def test_another_identity_is_refused_before_anything_is_opened(cli: Run, here: Path) -> None:
    done = cli("batch", "replay", "a.json", "seed.json", "--loader", "none:none")
    assert done.returncode == 1 and "seed is 4, and was 3 where the cursor was saved" in done.stdout


def test_records_that_leave_something_out_prove_nothing(cli: Run, here: Path) -> None:
    (here / "less.json").write_text(json.dumps({name: value for name, value in WHOLE.items() if name != "prefetch"}))
    done = cli("batch", "replay", "a.json", "less.json", "--loader", "none:none", "--format", "json")
    assert done.returncode == 1 and _codes(done) == ["DAT714"], done.stderr


def test_a_cursor_of_another_kind(cli: Run, here: Path) -> None:
    (here / "other.json").write_text(json.dumps({**WHOLE, "cursor": {"offset": 20}}))
    done = cli("batch", "replay", "a.json", "other.json", "--loader", "loaders:kept", "--format", "json")
    (found,) = json.loads(done.stdout)["findings"]
    assert found["code"] == "DAT711" and found["message"].endswith("the cursor of other.json: KeyError: 'next_index'")


def test_a_plain_cursor(cli: Run, here: Path) -> None:
    done = cli("batch", "replay", "a.json", "behind.json", "--loader", "loaders:plain")
    assert done.returncode == 1 and "it is 1 behind, and reads 1 again" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a.json", "a.json"), "nothing says what opens the data"),
        (("a.json", "a.json", "--loader", "loaders"), "expected module:function"),
        (("a.json", "none.json", "--loader", "loaders:plain"), "none.json: cannot be read"),
    ],
)
def test_wrong_usage(cli: Run, here: Path, arguments: tuple[str, ...], said: str) -> None:
    done = cli("batch", "replay", *arguments)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


def test_what_the_loader_raises_is_said(cli: Run, here: Path) -> None:
    done = cli("batch", "replay", "a.json", "a.json", "--loader", "loaders:broken")
    assert done.returncode == 2 and "no such disk" in done.stderr and "loaders.py:41" in done.stderr


HOSTILE = """
import os, signal, sys, time
import numpy as np

def prints(cursor):
    print("{ no json", flush=True)
    os.write(1, b"nor this")
    os.system("echo and this of a child")
    yield from ({"t": np.arange(3)} for _ in range(3))

def without_end(cursor):
    while True:
        yield {"t": np.arange(3)}

def stands_still(cursor):
    time.sleep(600)
    yield

def raises(cursor):
    yield {"t": np.arange(3)}
    raise ValueError("row 7 \\x1b[31m is broken")

def shorter(cursor, opened=[]):
    opened.append(1)
    yield from ({"t": np.arange(3)} for _ in range(len(opened)))

def wider(cursor, opened=[]):
    opened.append(1)
    yield {"t": np.arange(len(opened))}

def objects(cursor):
    yield {"t": object()}

def arrays_of_objects(cursor):
    yield {"t": np.array([{}], dtype=object)}

def endless_tree(cursor):
    batch = {}
    batch["self"] = batch
    yield batch

def nothing(cursor):
    return None

def empty(cursor):
    return iter(())

def exits(cursor):
    sys.exit(0)
    yield

def exits_at_once(cursor):
    os._exit(0)
    yield

def crashes(cursor):
    os.kill(os.getpid(), signal.SIGSEGV)
    yield

def interrupted(cursor):
    raise KeyboardInterrupt
    yield

def changes_its_cursor(cursor):
    batch = {"t": np.arange(cursor.pop("next_index"))}
    yield batch
"""


def _hostile(cli: Run, here: Path, name: str) -> subprocess.CompletedProcess[str]:
    (here / "hostile.py").write_text(HOSTILE)
    named = ("--loader", f"hostile:{name}", "--format", "json", "--timeout", "20" if name != "stands_still" else "5")
    done = cli("batch", "replay", "a.json", "a.json", *named)
    assert "Traceback" not in done.stderr and "\x1b" not in done.stderr
    return done


def test_what_a_loader_prints_stays_out_of_the_report(cli: Run, here: Path) -> None:
    done = _hostile(cli, here, "prints")
    assert done.returncode == 0 and _codes(done) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "found"),
    [("without_end", []), ("changes_its_cursor", []), ("shorter", ["DAT712"]), ("wider", ["DAT712"])],
)
def test_a_loader_of_another_kind_is_compared(cli: Run, here: Path, name: str, found: list[str]) -> None:
    assert _codes(_hostile(cli, here, name)) == found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("stands_still", "was stopped after 5 s, during `reading 3 batches from position A`"),
        ("raises", "ValueError: row 7"),
        ("objects", "`t` of a batch is of type object"),
        ("arrays_of_objects", "`t` of a batch holds objects"),
        ("endless_tree", "or holds itself"),
        ("nothing", "it gives None, which has no batches to iterate over"),
        ("empty", "gives no batch from either position"),
        ("exits", "SystemExit: 0"),
        ("exits_at_once", "ended with exit code 0 before it could report"),
        ("crashes", "was killed by SIGSEGV before it could report"),
        ("interrupted", "KeyboardInterrupt"),
    ],
)
def test_a_loader_that_cannot_be_read_is_said(cli: Run, here: Path, name: str, said: str) -> None:
    done = _hostile(cli, here, name)
    assert done.returncode == 2 and done.stdout == "" and said in done.stderr, (done.stdout, done.stderr)


@pytest.mark.slow
def test_grain(cli: Run, here: Path) -> None:
    pytest.importorskip("grain")
    made = """
import json, sys
import contract_lint as cl, loaders
identity = {name: value for name, value in json.load(open("a.json")).items() if name not in ("cursor", "sampler")}
for name, open_, args in (("d", loaders.dataset, {}), ("d4", loaders.dataset, {"seed": 4}),
                          ("d8", loaders.dataset, {"batch": 8}), ("s", loaders.stages, {}),
                          ("l", loaders.loader, {}), ("l4", loaders.loader, {"seed": 4})):
    data = open_(**args)
    iterator = iter(data)
    for _ in range(5):
        next(iterator)
    for to, given in ((name, data), (name + "_alone", None), (name + "_anew", open_(**args))):
        json.dump(cl.data_position(iterator, given, **identity), open(to + ".json", "w"))
"""
    subprocess.run([sys.executable, "-c", made], check=True, cwd=here, capture_output=True)
    for first, second, entry, wanted in (
        ("d", "d", "dataset", []),
        ("d", "d_alone", "dataset", []),
        ("s", "s_anew", "stages", []),
        ("s_alone", "s_anew", "stages", []),
        ("s_alone", "s_alone", "dataset", ["DAT711"]),
        ("d4", "d4", "dataset", ["DAT711"]),
        ("d8", "d8", "dataset", ["DAT711"]),
        ("l", "l", "loader", []),
        ("l4", "l4", "loader", ["DAT711"]),
    ):
        named = f"loaders:{entry}"
        done = cli("batch", "replay", f"{first}.json", f"{second}.json", "--loader", named, "--format", "json")
        assert _codes(done) == wanted, (first, done.stdout, done.stderr)


def _facts(case: str, variant: str, *extra: str) -> dict[str, Any]:
    made = Path(CORPUS or "", "cases", "contracts", case, "gen.py")
    done = subprocess.run(
        [sys.executable, made, "--variant", variant, *extra], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


@pytest.mark.skipif(CORPUS is None, reason="CONTRACT_LINT_CORPUS is not set")
def test_a_cursor_without_identity(cli: Run, here: Path) -> None:
    for variant, wanted in (("bad", ["DAT711"]), ("good", [])):
        changed = _facts("11_data_cursor_without_identity", variant)["changed"]
        seed = 4 if "shuffle_seed" in changed else 3
        (here / "now.json").write_text(json.dumps({**WHOLE, "seed": seed}))
        done = cli("batch", "replay", "a.json", "now.json", "--loader", "loaders:plain", "--format", "json")
        assert _codes(done) == wanted, done.stderr


@pytest.mark.skipif(CORPUS is None, reason="CONTRACT_LINT_CORPUS is not set")
def test_a_frozen_cursor(cli: Run, here: Path) -> None:
    contract = HEAD + "data: { progress: { tokens_per_step: 4096 } }\n"
    (here / "c.contract.yaml").write_text(contract)
    for variant, wanted in (("bad", ["DAT713"]), ("good", [])):
        _facts("12_cursor_frozen_after_resume", variant, "--out", str(here / "run.jsonl"))
        records = [{**WHOLE, **json.loads(line)} for line in (here / "run.jsonl").read_text().splitlines()]
        lines = [json.dumps(each | {"cursor": each["tokens"]}) + "\n" for each in records]
        (here / "run.jsonl").write_text("".join(lines))
        done = cli("batch", "progress", "run.jsonl", "--contract", "c.contract.yaml", "--format", "json")
        assert _codes(done) == wanted
        if wanted:
            assert "step 300: 100 steps but 0 tokens" in done.stdout
