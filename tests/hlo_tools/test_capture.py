import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.finding import Location
from contract_lint.hlo_tools.capture import gunzip, is_plain_relative, read_capture
from contract_lint.hlo_tools.module import parse_hlo

HLO = """HloModule m, num_partitions=8

ENTRY main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  ROOT %y = f32[4]{0} add(%x, %x)
}
"""
FACTS = {
    "step": "train",
    "entry": "m:build",
    "argument_names": ["x"],
    "arguments": [
        {
            "argument": "x",
            "path": "",
            "shape": [4],
            "dtype": "float32",
            "spec": [[]],
            "local_shape": [4],
            "bytes": 16,
            "parameter": 0,
        }
    ],
    "jaxpr": {"equations": 1},
}
PROVENANCE = {"tool": "0.1.0", "python": "3.11", "contract_digest": "d", "target": "cpu:8"}


def write(folder: Path, more: dict[str, bytes] | None = None, **changes: Any) -> Path:
    """A capture of one step; `changes` are keys of the manifest."""
    content = {
        "train/facts.json": json.dumps(FACTS).encode(),
        "train/jaxpr.txt.gz": gzip.compress(b"{ lambda ; a. (a,) }"),
        "train/optimized.hlo.txt.gz": gzip.compress(HLO.encode()),
    } | (more or {})
    for name, data in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    manifest = {
        "schema_version": 1,
        "provenance": PROVENANCE,
        "devices": 8,
        "device_kind": "cpu",
        "mesh": {"axes": {"data": 2, "fsdp": 4}},
        "steps": ["train"],
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in content.items()},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest | changes))
    return folder


def refused(folder: Path) -> ContractLintError:
    with pytest.raises(ContractLintError) as caught:
        read_capture(folder)
    assert caught.value.location is not None
    assert caught.value.help, "every refusal says what to do"
    return caught.value


def listing(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_capture_is_read_back_and_left_alone(tmp_path: Path) -> None:
    before = listing(write(tmp_path))
    capture = read_capture(tmp_path)
    step = capture.steps["train"]
    assert capture.manifest.provenance.target == "cpu:8"
    assert step.facts.arguments[0].shape == [4]
    assert step.optimized is not None
    assert step.optimized.entry.root.opcode == "add"
    assert step.jaxpr_text == "{ lambda ; a. (a,) }"
    assert (step.run, step.partitioned, step.proto, step.stablehlo_text, step.stderr) == (None,) * 5
    assert listing(tmp_path) == before


def test_programs_are_parsed_once_and_only_when_asked_for(tmp_path: Path) -> None:
    write(tmp_path, {"train/partitioned.hlo.txt.gz": gzip.compress(b"no program at all")})
    step = read_capture(tmp_path).steps["train"]
    assert step.optimized is step.optimized
    with pytest.raises(ContractLintError) as caught:
        _ = step.partitioned
    assert "partitioned.hlo.txt.gz" in str(caught.value)


def test_an_executed_step_has_its_run(tmp_path: Path) -> None:
    run = json.dumps(
        {"steps": 3, "losses": [1.0, 0.5, 0.25], "compiles": [{"index": 0, "reason": "first call"}]}
    ).encode()
    step = read_capture(write(tmp_path, {"train/run.json": run})).steps["train"]
    assert step.run is not None
    assert step.run.losses == [1.0, 0.5, 0.25]


def test_a_folder_that_is_no_capture_is_told_apart(tmp_path: Path) -> None:
    assert "no such folder" in refused(tmp_path / "absent").message
    assert "folder is empty" in refused(tmp_path).message
    (tmp_path / "notes.txt").write_text("x")
    assert "is no capture" in refused(tmp_path).message
    assert "this is a file" in refused(tmp_path / "notes.txt").message
    write(tmp_path / "cpu8")
    assert "cpu8" in (refused(tmp_path).help or "")


def test_half_a_capture_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "manifest.json").unlink()
    error = refused(tmp_path)
    assert "half a capture" in error.message
    assert "make the capture again" in (error.help or "")


def test_a_newer_schema_is_named_before_anything_else_is_read(tmp_path: Path) -> None:
    write(tmp_path, schema_version=2, files="now a list", steps=7)
    error = refused(tmp_path)
    assert "schema 2" in error.message and "up to schema 1" in error.message
    assert "upgrade" in (error.help or "")


def test_unknown_keys_of_a_minor_version_are_no_error(tmp_path: Path) -> None:
    assert read_capture(write(tmp_path, weather="fine")).steps.keys() == {"train"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema_version": true}', '{"schema_version": 0}', "[" * 100_000])
def test_a_manifest_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    assert "manifest.json" in str(refused(tmp_path))


def test_damaged_json_is_placed(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{\n "schema_version": 1,\n oops')
    location = refused(tmp_path).location
    assert location is not None and (location.line, location.column) == (3, 2)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    write(tmp_path, provenance={"tool": "x"})
    assert "provenance.python" in refused(tmp_path).message


def test_a_changed_file_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / "train/optimized.hlo.txt.gz"
    path.write_bytes(gzip.compress(HLO.replace("add", "multiply").encode()))
    error = refused(tmp_path)
    assert "optimized.hlo.txt.gz" in str(error)
    assert "sha256" in error.message


def test_a_file_changed_after_the_capture_was_opened_is_not_believed(tmp_path: Path) -> None:
    step = read_capture(write(tmp_path)).steps["train"]
    (tmp_path / "train/optimized.hlo.txt.gz").write_bytes(gzip.compress(b"HloModule other"))
    with pytest.raises(ContractLintError, match="sha256"):
        _ = step.optimized


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "train/jaxpr.txt.gz").unlink()
    assert "jaxpr.txt.gz" in str(refused(tmp_path))


def test_a_step_without_facts_is_named(tmp_path: Path) -> None:
    write(tmp_path, steps=["train", "eval"])
    assert "`eval`" in refused(tmp_path).message


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "train/../../secret", "a\\b", "C:/x", "", "a//b", "./a", "a/.", "a\0b"]
)
def test_paths_that_lead_out_of_the_capture_are_refused(tmp_path: Path, name: str) -> None:
    assert not is_plain_relative(name)
    secret = tmp_path / "secret"
    secret.write_bytes(b"x")
    folder = tmp_path / "capture"
    write(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name] = hashlib.sha256(b"x").hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert "leads out of the capture" in refused(folder).message


def test_a_link_that_leads_out_of_the_capture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"x")
    folder = write(tmp_path / "capture", {"train/stderr.txt": b"x"})
    (folder / "train/stderr.txt").unlink()
    (folder / "train/stderr.txt").symlink_to(tmp_path / "secret")
    assert "link that leads out" in refused(folder).message


@pytest.mark.parametrize("step", ["../train", "a/b", "", ".."])
def test_a_step_name_is_a_folder_name(tmp_path: Path, step: str) -> None:
    write(tmp_path, steps=[step])
    assert "no folder name" in refused(tmp_path).message


def test_gzip_is_bounded_and_its_damage_named() -> None:
    place = Location("x.gz")
    packed = gzip.compress(b"\0" * 1_000_000)
    assert len(gunzip(packed, place)) == 1_000_000
    for data, words in (
        (packed[:-9], "cut off"),
        (b"plain text", "damaged"),
        (packed + b"tail", "behind the end"),
        (b"", "cut off"),
    ):
        with pytest.raises(ContractLintError, match=words):
            gunzip(data, place)
    with pytest.raises(ContractLintError, match="more than 999999 bytes"):
        gunzip(packed, place, limit=999_999)


def test_damaged_facts_are_placed(tmp_path: Path) -> None:
    write(tmp_path, {"train/facts.json": b'{"step": "train"}'})
    error = refused(tmp_path)
    assert "`entry`" in error.message
    assert "facts.json" in str(error)


def test_a_damaged_proto_is_placed(tmp_path: Path) -> None:
    sums = dict.fromkeys(("argument_bytes", "output_bytes", "alias_bytes", "temp_bytes", "code_bytes"), 16)
    facts = json.dumps(FACTS | {"memory": sums}).encode()
    damaged = {"train/facts.json": facts, "train/optimized.hlo.pb.gz": gzip.compress(b"\x0a\x7fabc")}
    step = read_capture(write(tmp_path, damaged)).steps["train"]
    with pytest.raises(ContractLintError, match=r"optimized\.hlo\.pb\.gz.*byte 0"):
        _ = step.proto


def test_a_gzip_that_is_nearly_nothing_is_refused_early() -> None:
    bomb = gzip.compress(b"\0" * 100_000_000, 9)
    with pytest.raises(ContractLintError, match=r"unpacks to more than 200 times its \d+ bytes: no program does"):
        gunzip(bomb, Location("x.gz"))
    with pytest.raises(ContractLintError, match="more than 200 times"):
        parse_hlo(bomb, "x.gz")


def test_gzip_in_several_members_is_one_file() -> None:
    assert gunzip(gzip.compress(b"Hlo") + gzip.compress(b"Module"), Location("x.gz")) == b"HloModule"
    with pytest.raises(ContractLintError, match="cut off"):
        gunzip(gzip.compress(b"Hlo") + gzip.compress(b"Module")[:-4], Location("x.gz"))
