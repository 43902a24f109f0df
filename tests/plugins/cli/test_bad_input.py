"""Hostile and broken input through the command line: exit code 2, a sentence with its place, no traceback, no hang."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 240
"""Seconds until a command is taken to hang; each needs a second or two on an idle machine."""

HLO = """\
HloModule small, num_partitions=2

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = f32[8]{0} parameter(0)
  ROOT r = f32[8]{0} all-reduce(x), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=add
}
"""
CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "m:build" } }
targets: [cpu:2]
mesh: { axes: { data: 2 } }
"""
FACTS = {
    "step": "train",
    "entry": "m:build",
    "arguments": [
        {"argument": "x", "path": "", "shape": [8], "dtype": "float32"}
        | {"spec": [[]], "local_shape": [8], "bytes": 32, "parameter": 0}
    ],
    "jaxpr": {"equations": 1},
}


def run(folder: Path, *arguments: str, input: bytes = b"") -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "CONTRACT_LINT_DEBUG"}
    done = subprocess.run(
        [sys.executable, "-m", "contract_lint", *arguments],
        cwd=folder,
        env=env,
        input=input,
        capture_output=True,
        timeout=PATIENCE,
    )
    return subprocess.CompletedProcess(arguments, done.returncode, done.stdout.decode(), done.stderr.decode())


def refused(done: subprocess.CompletedProcess[str], *said: str) -> None:
    """Exit code 2 and a short message that says all of `said`, with nothing on standard output."""
    assert done.returncode == 2, done
    assert done.stdout == "" and "Traceback" not in done.stderr and "internal error" not in done.stderr
    assert len(done.stderr) < 1_000
    for words in said:
        assert words in done.stderr, done.stderr


def capture(folder: Path, more: dict[str, bytes] | None = None, **changes: Any) -> Path:
    """A capture of one step with its digests in order; `changes` are keys of the manifest."""
    program = gzip.compress(HLO.encode())
    content = {
        "train/facts.json": json.dumps(FACTS).encode(),
        "train/partitioned.hlo.txt.gz": program,
        "train/optimized.hlo.txt.gz": program,
    } | (more or {})
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    manifest = {
        "schema_version": 1,
        "provenance": {"tool": "0.1.0", "python": "3.11", "contract_digest": "d", "target": "cpu:2"},
        "devices": 2,
        "device_kind": "cpu",
        "mesh": {"axes": {"data": 2}},
        "steps": ["train"],
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in content.items()},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest | changes))
    return folder


def edited(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    edit(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


LONG = 50_000_000
HEAD = b"HloModule small\n\nENTRY main {\n"
DEEP_CALLS = HEAD.replace(b"ENTRY main {\n", b"c0 {\n  ROOT x = f32[] parameter(0)\n}\n") + b"".join(
    b"c%d {\n  x = f32[] parameter(0)\n  y = f32[] call(x), to_apply=c%d\n  ROOT z = f32[] call(y), to_apply=c%d\n}\n"
    % (n, n - 1, n - 1)
    for n in range(1, 2_000)
)

PROGRAMS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "p.hlo: is empty"),
    "cut in a line": (HLO[:-40].encode(), "p.hlo:11:"),
    "cut between lines": (HLO[: HLO.index("ENTRY") + 50].encode(), "p.hlo:"),
    "a long name": (b"HloModule " + b"a" * LONG, "p.hlo:1:1: "),
    "a long line of brackets": (b"{" * LONG, "p.hlo:1:1: "),
    "brackets in a shape": (HEAD + b"  ROOT r = " + b"(" * 5_000_000 + b" parameter(0)\n}\n", "p.hlo:4:"),
    "a string that does not end": (
        HEAD + b"  ROOT r = f32[] negate(x), metadata={op_name=" + b'\\"' * 10_000_000,
        "p.hlo",
    ),
    "not UTF-8": (HLO.encode().replace(b"sum", b"s\xff\xfem"), "UTF-8"),
    "another encoding": (HLO.encode("utf-32"), "p.hlo"),
    "a number of 5000 digits": (HLO.replace("f32[8]", f"f32[{'9' * 5000}]").encode(), "p.hlo:"),
    "JSON": (b'{"computations": []}', "p.hlo:1:1"),
    "gzip cut off": (gzip.compress(HLO.encode())[:-9], "p.hlo"),
    "gzip of gzip": (gzip.compress(gzip.compress(HLO.encode())), "p.hlo"),
    "a gzip bomb": (gzip.compress(bytes(100 << 20)), "p.hlo"),
    "protobuf with a length beyond its end": (b"\x0a\xff\xff\xff\xff\x0f" + bytes(100), "p.hlo: "),
    "a varint without end": (b"\x0a" + b"\xff" * 100_000, "p.hlo:"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_is_none(name: str, tmp_path: Path) -> None:
    data, said = PROGRAMS[name]
    (tmp_path / "p.hlo").write_bytes(data)
    refused(run(tmp_path, "hlo", "collectives", "p.hlo"), said)


def test_one_line_of_10_mb_is_read(tmp_path: Path) -> None:
    line = b"  z = f32[8]{0} tuple(" + b"x, " * (LONG // 15) + b"x)\n  ROOT"
    (tmp_path / "p.hlo").write_bytes(HLO.encode().replace(b"  ROOT r", line + b" r"))
    done = run(tmp_path, "hlo", "collectives", "p.hlo", "--format", "json")
    assert done.returncode == 0 and json.loads(done.stdout)["collectives"][0]["kind"] == "all-reduce", done.stderr


def test_calls_that_double_at_every_level_do_not_hang(tmp_path: Path) -> None:
    (tmp_path / "p.hlo").write_bytes(
        DEEP_CALLS + b"ENTRY main {\n  x = f32[] parameter(0)\n  ROOT r = f32[] call(x), to_apply=c1999\n}\n"
    )
    done = run(tmp_path, "hlo", "summary", "p.hlo", "--format", "json")
    assert done.returncode in (0, 2) and "Traceback" not in done.stderr and "internal" not in done.stderr, done.stderr


def test_computations_that_call_each_other(tmp_path: Path) -> None:
    ring = "".join(
        f"{a} {{\n  x = f32[] parameter(0)\n  ROOT y = f32[] call(x), to_apply={b}\n}}\n" for a, b in ("pq", "qp")
    )
    entry = "ENTRY main {\n  x = f32[] parameter(0)\n  ROOT r = f32[] call(x), to_apply=p\n}\n"
    (tmp_path / "p.hlo").write_text(f"HloModule small\n\n{ring}{entry}")
    done = run(tmp_path, "hlo", "collectives", "p.hlo")
    assert done.returncode in (0, 2) and "Traceback" not in done.stderr and "internal" not in done.stderr, done.stderr


@pytest.mark.parametrize("source", [".", "missing.hlo", "n" * 5000, "-"], ids=["folder", "missing", "long", "stdin"])
def test_a_source_that_is_none(source: str, tmp_path: Path) -> None:
    refused(run(tmp_path, "hlo", "summary", source), "<stdin>" if source == "-" else source[:20].rstrip("."))


def tampered(folder: Path) -> None:
    (folder / "train/optimized.hlo.txt.gz").write_bytes(gzip.compress(b"HloModule other"))


def traversing(folder: Path) -> None:
    edited(folder, lambda manifest: manifest["files"].update({"../secret": hashlib.sha256(b"x").hexdigest()}))


CAPTURES: dict[str, tuple[Callable[[Path], object], str]] = {
    "an empty folder": (lambda folder: folder.mkdir(), "c: the folder is empty"),
    "no folder": (lambda folder: None, "c: there is no such folder"),
    "a file": (lambda folder: folder.write_text("x"), "c: this is a file"),
    "a link to itself": (lambda folder: folder.symlink_to(folder.name), "c/manifest.json: cannot be read"),
    "a newer schema": (lambda folder: capture(folder, schema_version=99), "c/manifest.json: the capture has schema 99"),
    "a schema of 4000 digits": (lambda folder: capture(folder, schema_version=10**4000), "c/manifest.json: "),
    "half a capture": (lambda folder: (capture(folder) / "manifest.json").unlink(), "c: half a capture"),
    "a file that is gone": (lambda folder: (capture(folder) / "train/facts.json").unlink(), "c/train/facts.json: "),
    "a tampered file": (lambda folder: tampered(capture(folder)), "c/train/optimized.hlo.txt.gz: the file was changed"),
    "a path out of the folder": (lambda folder: traversing(capture(folder)), "'../secret', which leads out"),
    "a folder as a file": (lambda folder: edited(capture(folder), lambda m: m["files"].update(train="0")), "c/train: "),
    "a manifest that nests": (
        lambda folder: (capture(folder) / "manifest.json").write_text("[" * 200_000),
        "c/manifest.json",
    ),
    "a manifest that is not UTF-8": (
        lambda folder: (capture(folder) / "manifest.json").write_bytes(b'"\xff"'),
        "c/manifest.json",
    ),
    "no step": (lambda folder: capture(folder, steps=[]), "holds no step `train`"),
    "a cut program": (
        lambda folder: capture(folder, {"train/partitioned.hlo.txt.gz": gzip.compress(HLO[:200].encode())}),
        "c/train/partitioned.hlo.txt.gz:",
    ),
    "a gzip bomb": (
        lambda folder: capture(folder, {"train/partitioned.hlo.txt.gz": gzip.compress(bytes(100 << 20))}),
        "c/train/partitioned.hlo.txt.gz: ",
    ),
}


@pytest.mark.parametrize("name", CAPTURES)
def test_a_capture_that_is_none(name: str, tmp_path: Path) -> None:
    make, said = CAPTURES[name]
    (tmp_path / "a.contract.yaml").write_text(CONTRACT)
    (tmp_path / "secret").write_text("x")
    make(tmp_path / "c")
    refused(run(tmp_path, "verify", "a.contract.yaml", "--capture", "c"), said)


BOMB = "a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
    f"{above}: &{above} [{', '.join([f'*{below}'] * 8)}]\n"
    for below, above in zip("abcdefghij", "bcdefghijk", strict=True)
)
TEXTS: dict[str, tuple[bytes, str]] = {
    "an alias bomb": (BOMB.encode(), "a.contract.yaml:6:8: more than 50,000 values"),
    "an alias in itself": (b"contract: &x [*x]\n", "a.contract.yaml:1:15: alias `*x`"),
    "nesting in one line": (b"contract: " + b"[" * 90_000, "a.contract.yaml:1:"),
    "nesting in many lines": (b"".join(b" " * n + b"a:\n" for n in range(1500)), "a.contract.yaml:51:"),
    "a file of 50 MB in one line": (b"contract: " + b"a" * LONG, "a.contract.yaml: "),
    "not UTF-8": (CONTRACT.encode() + b"x: \xff\n", "a.contract.yaml:6:4: byte 0xff"),
    "a control character": (CONTRACT.encode() + b"x: \0\n", "a.contract.yaml:6:4: "),
    "a tag that runs code": (b"contract: !!python/object/apply:os.system [touch pwned]\n", "a.contract.yaml:1:11: tag"),
    "a bracket that does not close": (CONTRACT.encode() + b"x: [1, 2\n", "a.contract.yaml:7:1: not YAML"),
    "a second document": (CONTRACT.encode() + b"---\na: 1\n", "a.contract.yaml:6:1: a second YAML document"),
    "a list": (b"- contract\n", "a.contract.yaml:1:1: "),
    "a number of 5000 digits": (CONTRACT.replace("data: 2", "data: " + "9" * 5000).encode(), "a.contract.yaml:5:23: "),
    "nothing": (b"", "a.contract.yaml:1:1: the file is empty"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_contract_that_cannot_be_read(name: str, tmp_path: Path) -> None:
    data, said = TEXTS[name]
    (tmp_path / "a.contract.yaml").write_bytes(data)
    refused(run(tmp_path, "check", "a.contract.yaml"), said)
    assert not (tmp_path / "pwned").exists()


def test_bad_files_of_a_tree_are_findings_and_hide_no_other(tmp_path: Path) -> None:
    texts = {"bomb": TEXTS["an alias bomb"][0], "bytes": b"\xff\xfe", "twice": CONTRACT.encode() + b"name: again\n"}
    texts |= {"good": CONTRACT.encode(), "long": CONTRACT.encode() + b"extends: [" + b"n" * 5000 + b"]\n"}
    tree = tmp_path / "tree"
    tree.mkdir()
    for name, data in texts.items():
        (tree / f"{name}.contract.yaml").write_bytes(data)
    (tree / "folder.contract.yaml").mkdir()
    (tree / "gone.contract.yaml").symlink_to("nowhere")
    (tree / "loop.contract.yaml").symlink_to("loop.contract.yaml")
    (tree / "up").symlink_to("..")
    done = run(tree, "check", ".", "--format", "json")
    assert done.returncode == 1 and done.stderr == ""
    found = {(each["path"], each["name"]) for each in json.loads(done.stdout)["findings"]}
    assert found == {
        ("bomb.contract.yaml", "unreadable-contract"),
        ("bytes.contract.yaml", "unreadable-contract"),
        ("gone.contract.yaml", "unreadable-contract"),
        ("long.contract.yaml", "broken-extends"),
        ("loop.contract.yaml", "unreadable-contract"),
        ("twice.contract.yaml", "duplicate-key"),
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "missing"), "missing does not exist"),
        (("check", "n" * 5000), "does not exist"),
        (("check", "--fromat", "json"), "--fromat"),
        (("check", "--output", "."), "is a directory"),
        (("verify", "folder"), "folder is a folder"),
        (("verify", "a.contract.yaml", "--capture", "c", "--target", "cpu:0"), "cpu:0"),
        (("verify", "a.contract.yaml", "--capture", "c", "--output", "no/where"), "no/where: cannot be written"),
        (("hlo", "summary", "c", "--step", "eval"), "holds no step 'eval'"),
        (("hlo", "collectives", "c", "--mesh", "data=" + "9" * 5000), "--mesh"),
        (("init", "m:build", "--target", "cpu:2", "--arg", "x=" + "[" * 50_000), "--arg x: nested deeper"),
        (("init", "m:build", "--target", "cpu:2", "--arg", "x=&a [*a]"), "--arg x: alias `*a`"),
        (("init", "m:build", "--target", "cpu:" + "9" * 5000), "CPU target"),
    ],
    ids=lambda value: " ".join(each[:20] for each in value) if isinstance(value, tuple) else "",
)
def test_wrong_usage(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "a.contract.yaml").write_text(CONTRACT)
    (tmp_path / "folder").mkdir()
    capture(tmp_path / "c")
    refused(run(tmp_path, *arguments), said)


@pytest.mark.parametrize(
    "text", [b"\xff", b"a = " + b"[" * 100_000, b"a = " + b"9" * 5000, b"[tool.contract-lint]\nx = 1"]
)
def test_settings_that_cannot_be_read(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(text)
    refused(run(tmp_path, "check"), "pyproject.toml:")
