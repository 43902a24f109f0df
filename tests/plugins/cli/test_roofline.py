"""`hlo roofline` on a dump: with hardware, without, and with a target that is none."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

HLO = """\
HloModule small, num_partitions=4

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = bf16[64,64]{1,0} parameter(0)
  y = f32[64,64]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[64,64]{1,0} all-reduce(y), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true,
    to_apply=add
}
"""


@pytest.fixture
def dump(tmp_path: Path) -> str:
    (tmp_path / "small.txt").write_text(HLO)
    return "small.txt"


def test_hardware_gives_a_bound_by_resource(cli: Run, dump: str) -> None:
    done = cli("hlo", "roofline", dump, "--mesh", "data=2,fsdp=2", "--target", "tpu:v5e:2x2", "--format", "json")
    data = json.loads(done.stdout)
    assert {row["name"] for row in data["resources"]} == {"compute", "HBM", "ICI over fsdp"}
    assert data["matrix_flops"] == {"bf16": 2 * 64**3}
    assert data["collective_bytes"] == [{"axes": ["fsdp"], "link_bytes": 64 * 64 * 4, "network_bytes": 0}]
    text = cli("hlo", "roofline", dump, "--target", "tpu:v5e:2x2", env={"COLUMNS": "80"}).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("small: 524 kFLOP a step on each of 4 devices; at least")


def capture(folder: Path, target: str, effort: str) -> str:
    shape = {"shape": [64, 64], "local_shape": [64, 64], "dtype": "bfloat16", "spec": [[], []], "bytes": 64 * 64 * 2}
    facts = {
        "step": "train",
        "entry": "m:build",
        "argument_names": ["x"],
        "arguments": [{"argument": "x", "path": "", "parameter": 0} | shape],
        "jaxpr": {"equations": 1},
    }
    files = {
        "train/facts.json": json.dumps(facts).encode(),
        "train/stderr.txt": b"",
        "train/optimized.hlo.txt.gz": gzip.compress(HLO.encode()),
    }
    (folder / "cap/train").mkdir(parents=True)
    for name, data in files.items():
        (folder / "cap" / name).write_bytes(data)
    manifest = {
        "schema_version": 1,
        "provenance": {"tool": "0", "python": "3", "contract_digest": "d", "target": target, "effort": effort},
        "devices": 4,
        "device_kind": "x",
        "mesh": {"axes": {"data": 2, "fsdp": 2}},
        "steps": ["train"],
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    (folder / "cap/manifest.json").write_text(json.dumps(manifest))
    return "cap"


@pytest.mark.parametrize(
    ("own", "effort", "asked", "fast", "other"),
    [
        ("tpu:v5e:2x2", "fast", None, True, False),
        ("tpu:v5e:2x2", "full", "tpu:v6e:2x2", False, False),
        ("tpu:v5e:2x2", "fast", "cuda:h100:1x4", True, True),
        ("cpu:4", "full", "tpu:v5e:2x2", False, True),
        ("cpu:4", "full", None, False, False),
    ],
)
def test_a_capture_says_what_it_was_compiled_for(
    cli: Run, tmp_path: Path, own: str, effort: str, asked: str | None, fast: bool, other: bool
) -> None:
    source = capture(tmp_path, own, effort)
    more = ("--target", asked) if asked else ()
    said = json.loads(cli("hlo", "roofline", source, *more, "--format", "json").stdout)["assumptions"]
    assert said[0].startswith(f"the program was compiled for {own} at effort {effort}")
    assert (f"not for {asked}" in said[0]) is other
    assert ("at full effort it may move fewer bytes" in said[1]) is fast
    for form in ("text", "markdown"):
        text = cli("hlo", "summary", source, "--format", form, env={"COLUMNS": "80"}).stdout
        assert f"ompiled for {own} at effort {effort}" in text
    data = json.loads(cli("hlo", "summary", source, "--format", "json").stdout)
    assert (data["target"], data["effort"]) == (own, effort)


def test_a_dump_was_compiled_for_nothing_that_is_known(cli: Run, dump: str) -> None:
    for ledger in ("roofline", "summary"):
        assert "ompiled for" not in cli("hlo", ledger, dump).stdout


def test_without_hardware_there_is_no_time(cli: Run, dump: str) -> None:
    done = cli("hlo", "roofline", dump)
    assert done.returncode == 0
    assert "no time bound: no target is named" in done.stdout.splitlines()[0]


@pytest.mark.parametrize("target", ["tpu:v99:2x2", "gpu", ""])
def test_a_target_that_is_none_is_one_sentence(target: str, cli: Run, dump: str) -> None:
    done = cli("hlo", "roofline", dump, "--target", target)
    if not target:
        assert "no target is named" in done.stdout
        return
    assert done.returncode == 2
    assert "expected" in done.stderr and "Traceback" not in done.stderr


def test_a_kind_alone_is_the_smallest_target_that_holds_the_program(cli: Run, dump: str) -> None:
    data = json.loads(cli("hlo", "roofline", dump, "--hardware", "v5e", "--format", "json").stdout)
    assert data["target"] == "tpu:v5e:2x2"
    assert "4 x v5e is taken to be tpu:v5e:2x2" in data["assumptions"]
    assert json.loads(cli("hlo", "roofline", dump, "--hardware", "v7x", "--format", "json").stdout)["target"] == (
        "tpu:7x:1x1x2"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--hardware", "v99"), "no such device"), (("--hardware", "v5e", "--target", "tpu:v5e:2x2"), "give one of them")],
)
def test_a_kind_that_is_none_or_too_much(arguments: tuple[str, ...], said: str, cli: Run, dump: str) -> None:
    done = cli("hlo", "roofline", dump, *arguments)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("width", [80, 120])
def test_a_schedule_says_where_the_time_goes(cli: Run, tmp_path: Path, width: int) -> None:
    (tmp_path / "scheduled.txt").write_text(HLO.replace("HloModule small,", "HloModule small, is_scheduled=true,"))
    arguments = ("hlo", "roofline", "scheduled.txt", "--hardware", "v5e")
    text = cli(*arguments, env={"COLUMNS": str(width)}).stdout
    assert "as scheduled" in text and "Time as scheduled" in text and "As scheduled a step takes at least" in text
    assert max(map(len, text.splitlines())) <= width
    data = json.loads(cli(*arguments, "--format", "json").stdout)["scheduled"]
    assert sum(data["by_resource"].values()) == pytest.approx(data["seconds"])
    assert {each["name"] for each in data["operations"]} == {"y", "r"}
    markdown = cli(*arguments, "--format", "markdown").stdout
    assert "| time as scheduled | at least | share | mostly |" in markdown


def test_the_time_of_what_is_not_named_is_a_row(cli: Run, tmp_path: Path) -> None:
    """Shares of a table add up to the whole, however many operations there are."""
    chain = "".join(f"  y{n} = f32[512] negate({f'y{n - 1}' if n else 'x'})\n" for n in range(12))
    entry = f"ENTRY e {{\n  x = f32[512] parameter(0)\n{chain}  ROOT r = f32[512] negate(y11)\n}}\n"
    (tmp_path / "chain.txt").write_text(f"HloModule chain, is_scheduled=true\n{entry}")
    said = cli("hlo", "roofline", "chain.txt", "--hardware", "v5e").stdout
    rows = [line.split() for line in said.partition("Time as scheduled")[2].partition("As scheduled")[0].splitlines()]
    operations = [row for row in rows if row and (row[0][0] in "yr" or "others)" in row)]
    assert len(operations) == 9 and operations[-1][:2] == ["(5", "others)"]
    assert sum(float(row[row.index("%") - 1]) for row in operations) == pytest.approx(100, abs=1)


def test_a_bound_on_other_hardware_says_so(cli: Run, tmp_path: Path) -> None:
    """A finished program is one compiler's: of another platform it says what this very program would take there."""
    finished = HLO.replace("num_partitions=4", "is_scheduled=true, num_partitions=4")
    tiled = finished.replace("{1,0}", "{1,0:T(8,128)}")
    (tmp_path / "cpu.txt").write_text(finished)
    (tmp_path / "tpu.txt").write_text(tiled)
    for name, target, platform in (
        ("cpu.txt", "tpu:v5e:2x2", "cpu"),
        ("tpu.txt", "cuda:h100:1x4", "tpu"),
        ("tpu.txt", "tpu:v5e:2x2", None),
    ):
        text = cli("hlo", "roofline", name, "--target", target, env={"COLUMNS": "140"}).stdout
        assert (f"; as compiled for {platform} at least" in text.splitlines()[0]) is (platform is not None)
        assert (f"the program was compiled for {platform}, not for {target}" in text) is (platform is not None)
    assert "the program is for 4 devices, tpu:v5e:4x4 has 16" in " ".join(
        cli("hlo", "roofline", "tpu.txt", "--target", "tpu:v5e:4x4").stdout.split()
    )
