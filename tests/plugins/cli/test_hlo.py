"""`hlo` on dumps: from a file or standard input, with and without a mesh; what is no program is one sentence."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

HLO = """\
HloModule small, entry_computation_layout={(f32[8]{0})->f32[8]{0}}, num_partitions=4

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = f32[8]{0} parameter(0)
  ROOT r = f32[8]{0} all-reduce(x), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=add
}
"""


def ledger(text: str) -> list[dict]:
    return json.loads(text)["collectives"]


def test_file_and_standard_input_and_gzip_give_the_same(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text(HLO)
    (tmp_path / "small.txt.gz").write_bytes(gzip.compress(HLO.encode()))
    outputs = [
        cli("hlo", "collectives", "small.txt", "--format", "json").stdout,
        cli("hlo", "collectives", "small.txt.gz", "--format", "json").stdout,
        cli("hlo", "collectives", "-", "--format", "json", input=HLO).stdout,
    ]
    assert outputs[0] == outputs[1] == outputs[2]
    (row,) = ledger(outputs[0])
    assert (row["kind"], row["axes"], row["count"], row["elements"], row["ring_bytes"]) == (
        "all-reduce",
        None,
        1,
        8,
        32,
    )


def test_a_mesh_names_the_axes(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text(HLO)
    (row,) = ledger(cli("hlo", "collectives", "small.txt", "--mesh", "data=2,fsdp=2", "--format", "json").stdout)
    assert row["axes"] == ["fsdp"]
    text = cli("hlo", "collectives", "small.txt", "--mesh", "data=2,fsdp=2", env={"COLUMNS": "80"}).stdout
    assert "all-reduce" in text and "fsdp" in text and max(map(len, text.splitlines())) <= 80
    assert (
        "| all-reduce | fsdp | 1 | 8 |"
        in cli("hlo", "collectives", "small.txt", "--mesh", "data=2,fsdp=2", "--format", "markdown").stdout
    )


@pytest.mark.parametrize(
    ("verb", "content", "said"),
    [
        ("summary", b"", "is empty"),
        ("summary", b"\x1f\x8b\x08\x00cut", "gzip"),
        ("summary", b"HloModule x\xff\xfe\n", "invalid UTF-8"),
        ("collectives", HLO[:150].encode(), "small.txt:"),
        ("memory", HLO.encode(), "small.txt: the program is not scheduled"),
        ("tensors", HLO.encode(), "does not say what its arguments are"),
        ("summary", b"not a program", "small.txt"),
        ("summary", b"\x00\x01\x02\x03" * 50, "small.txt"),
    ],
)
def test_what_is_no_program_is_one_sentence(verb: str, content: bytes, said: str, cli: Run, tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_bytes(content)
    done = cli("hlo", verb, "small.txt")
    assert done.returncode == 2, done
    assert said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("mesh", ["data", "data=2,data=2", "data=0", "=4", "data=2;fsdp=2"])
def test_a_mesh_that_is_none(mesh: str, cli: Run, tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text(HLO)
    done = cli("hlo", "collectives", "small.txt", "--mesh", mesh)
    assert done.returncode == 2 and "--mesh" in done.stderr


def test_one_very_long_line_takes_linear_time(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text("HloModule " + "a" * 20_000_000)
    start = time.monotonic()
    done = cli("hlo", "summary", "small.txt")
    assert done.returncode == 2 and len(done.stderr) < 6_000
    assert time.monotonic() - start < 60


@pytest.mark.parametrize("command", ["collectives", "summary", "lint"])
@pytest.mark.parametrize(("mesh", "devices"), [("data=2,fsdp=4", 8), ("data=2", 2), ("data=3", 3)])
def test_a_mesh_of_another_size(command: str, mesh: str, devices: int, cli: Run, tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text(HLO)
    done = cli("hlo", command, "small.txt", "--mesh", mesh)
    assert done.returncode == 2 and f"the mesh {mesh} has {devices} devices, the program 4" in done.stderr
    (tmp_path / "cut.txt").write_text(HLO[HLO.index("add {") :])
    done = cli("hlo", command, "cut.txt", "--mesh", mesh)
    assert (done.returncode == 2) is (devices < 4), done.stderr


@pytest.mark.parametrize("command", ["collectives", "memory", "lint"])
@pytest.mark.parametrize("choice", [("--step", "train"), ("--stage", "partitioned")])
def test_nothing_is_chosen_of_one_program(command: str, choice: tuple[str, str], cli: Run, tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text(HLO.replace("num_partitions=4", "is_scheduled=true, num_partitions=4"))
    done = cli("hlo", command, "small.txt", *choice)
    assert done.returncode == 2 and done.stderr.startswith(f"error: small.txt: {' '.join(choice)}: ")
    assert cli("hlo", command, "small.txt").returncode == 0


def test_without_a_mesh_one_line_says_how_to_name_the_axes(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text(HLO)
    hint = "Axes are not named: add their sizes, outermost first, e.g. --mesh data=2,fsdp=2"
    for ledger_name in ("collectives", "summary"):
        assert hint in cli("hlo", ledger_name, "small.txt", env={"COLUMNS": "80"}).stdout.splitlines()
    assert "not named" not in cli("hlo", "collectives", "small.txt", "--mesh", "data=2,fsdp=2").stdout


def test_both_modules_of_a_capture_are_shown_by_what_they_do(cli: Run, tmp_path: Path) -> None:
    leaf = {"argument": "x", "path": "", "shape": [8], "dtype": "float32", "spec": [[]], "local_shape": [8]}
    leaf |= {"bytes": 32, "parameter": 0}
    facts = {"step": "train", "entry": "m:build", "arguments": [leaf], "jaxpr": {"equations": 1}}
    files = {
        "train/facts.json": json.dumps(facts).encode(),
        "train/partitioned.hlo.txt.gz": gzip.compress(HLO.encode()),
        "train/optimized.hlo.txt.gz": gzip.compress(HLO.encode()),
    }
    for name, data in files.items():
        (tmp_path / "c" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "c" / name).write_bytes(data)
    manifest = {
        "schema_version": 1,
        "provenance": {"tool": "0", "python": "3", "contract_digest": "d", "target": "cpu:4"},
        "devices": 4,
        "device_kind": "cpu",
        "mesh": {"axes": {"data": 2, "fsdp": 2}, "device_ids": [0, 1, 2, 3]},
        "steps": ["train"],
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    (tmp_path / "c" / "manifest.json").write_text(json.dumps(manifest))
    for stage in ("partitioned", "optimized"):
        (row,) = ledger(cli("hlo", "collectives", "c", "--stage", stage, "--format", "json").stdout)
        assert (row["kind"], row["axes"], row["elements"]) == ("all-reduce", ["fsdp"], 8)
    assert "8 f32" in cli("hlo", "collectives", "c").stdout


SLICED = (
    HLO.replace("->f32[8]{0}", "->f32[4]{0}").replace(
        "  ROOT r = f32[8]{0}", "  table = s32[4] constant({0, 4, 0, 4})\n  me = u32[] partition-id()\n  r = f32[8]{0}"
    )[:-2]
    + """
  cell = s32[1] dynamic-slice(table, me), dynamic_slice_sizes={1}
  start = s32[] reshape(cell)
  ROOT mine = f32[4]{0} dynamic-slice(r, start), dynamic_slice_sizes={4}
}
"""
)


def test_collectives_are_named_by_what_they_do_and_raw_by_what_is_printed(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text(SLICED)
    found = [ledger(cli("hlo", "collectives", "small.txt", "--format", "json", *raw).stdout) for raw in ([], ["--raw"])]
    assert [[row["kind"] for row in rows] for rows in found] == [["reduce-scatter"], ["all-reduce"]]
    assert found[0][0].keys() == found[1][0].keys()
    assert [rows[0]["ring_bytes"] for rows in found] == [16, 32]


FUSED = """HloModule fused, is_scheduled=true, num_partitions=2

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

%all-reduce-scatter (p: f32[8]) -> f32[4] {
  %p = f32[8]{0} parameter(0)
  %sum = f32[8]{0} all-reduce(%p), replica_groups={{0,1}}, channel_id=1, use_global_device_ids=true, to_apply=%add
  %me = u32[] partition-id()
  %table = s32[2]{0} constant({0, 4})
  %cell = s32[1]{0} dynamic-slice(%table, %me), dynamic_slice_sizes={1}
  %start = s32[] reshape(%cell)
  ROOT %mine = f32[4]{0} dynamic-slice(%sum, %start), dynamic_slice_sizes={4}
}

ENTRY %main (x: f32[8]) -> f32[4] {
  %x = f32[8]{0} parameter(0)
  ROOT %fusion = f32[4]{0} fusion(%x), kind=kCustom, calls=%all-reduce-scatter
}
"""


def test_a_sum_that_its_own_fusion_slices_is_printed_as_a_sum(cli: Run, tmp_path: Path) -> None:
    """As libtpu spells a reduce-scatter."""
    (tmp_path / "fused.txt").write_text(FUSED)
    found = [ledger(cli("hlo", "collectives", "fused.txt", "--format", "json", *raw).stdout) for raw in ([], ["--raw"])]
    assert [[row["kind"] for row in rows] for rows in found] == [["reduce-scatter"], ["all-reduce"]]
    summary = json.loads(cli("hlo", "summary", "fused.txt", "--format", "json").stdout)
    assert [total["kind"] for total in summary["collectives"]] == ["all-reduce"]


LOOP = """HloModule loop, is_scheduled=true, num_partitions=2

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

%body (c: f32[8]) -> f32[8] {
  %c = f32[8]{0} parameter(0)
  ROOT %sum = f32[8]{0} all-reduce(%c), replica_groups={{0,1}}, channel_id=1, use_global_device_ids=true, to_apply=%add
}

%goes_on (d: f32[8]) -> pred[] {
  %d = f32[8]{0} parameter(0)
  %first = f32[1]{0} slice(%d), slice={[0:1]}
  %value = f32[] reshape(%first)
  %limit = f32[] constant(8)
  ROOT %less = pred[] compare(%value, %limit), direction=LT
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %until = f32[8]{0} while(%x), condition=%goes_on, body=%body
}
"""


def test_a_summary_names_loops_of_unknown_length(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "loop.txt").write_text(LOOP)
    done = cli("hlo", "summary", "loop.txt")
    assert done.returncode == 0 and "Loops of unknown length, counted once: until" in done.stdout, done
    assert json.loads(cli("hlo", "summary", "loop.txt", "--format", "json").stdout)["unknown_loops"] == ["until"]


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_a_pasted_report_says_what_to_do_first(form: str, cli: Run, tmp_path: Path) -> None:
    (tmp_path / "oom.txt").write_text(
        "Ran out of memory in memory space hbm. Used 41.74G of 16.00G hbm.\n\n  1. Size: 32.00G\n"
        "     Shape: s32[8388608,8,4]{2,1,0:T(8,128)}\n     XLA label: %c = s32[8388608,8,4] copy(%<b>)\n"
    )
    done = cli("hlo", "memory", "oom.txt", "--format", form)
    assert done.returncode == 0, done
    if form == "json":
        assert json.loads(done.stdout)["buffers"][0]["unpadded_bytes"] == 1 << 30
    else:
        assert "frees 31.00 GiB" in " ".join(done.stdout.split()) and "<b>" not in done.stdout


@pytest.mark.parametrize(
    "said",
    [
        "Ran out of memory in memory space hbm. Used 41.74G of 16.00G hbm.\n\n  1. Size: 32.00G\n"
        "     Shape: s32[8388608,8,4]{2,1,0:T(8,128)}\n     XLA label: %c = s32[8388608,8,4] copy(%b)\n",
        "Can't reduce memory use below 37.00GiB by rematerialization; only reduced to 60.00GiB",
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 13421772800 bytes.",
    ],
)
def test_lint_says_who_reads_a_report_of_memory(cli: Run, tmp_path: Path, said: str) -> None:
    (tmp_path / "oom.txt").write_text(said)
    done = cli("hlo", "lint", "oom.txt")
    assert done.returncode == 2
    assert "oom.txt: is a report of memory that ran out" in done.stderr and "hlo memory" in done.stderr


def test_a_part_of_a_program_is_called_after_its_file(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "part.txt").write_text(
        "  %g = f32[8] all-gather(f32[4] %p), channel_id=1, replica_groups={{0,1}}, dimensions={0}"
    )
    for verb in ("summary", "collectives"):
        assert cli("hlo", verb, "part.txt").stdout.startswith("part.txt: ")


def test_lint_counts_collectives_as_their_ledger_does(cli: Run) -> None:
    """Windowed products print hundreds of permutes for what is one gather each."""
    name = "compiled/train_1b.tpu_v5e256.jax0.10.2-libtpu0.0.52.opt.hlo.txt.gz"
    path = Path(os.environ.get("CONTRACT_LINT_CORPUS") or ".") / "corpus" / name
    if not path.is_file():
        pytest.skip(f"CONTRACT_LINT_CORPUS does not hold corpus/{name}")
    counted = sum(row["count"] for row in ledger(cli("hlo", "collectives", str(path), "--format", "json").stdout))
    said = " ".join(cli("hlo", "lint", str(path)).stdout.split())
    assert f" {counted:,} collectives a step looked at" in said


@pytest.mark.parametrize("command", ["summary", "collectives", "memory", "roofline", "kernels", "lint", "diff"])
def test_what_xla_refuses_no_command_reads(command: str, cli: Run, tmp_path: Path) -> None:
    scheduled = HLO.replace("num_partitions=4", "is_scheduled=true, num_partitions=4")
    (tmp_path / "good.txt").write_text(scheduled)
    (tmp_path / "bad.txt").write_text(scheduled.replace("{2,3}", "{1,3}"))
    verb = ("diff", "good.txt") if command == "diff" else ("hlo", command)
    assert cli(*verb, "good.txt").returncode == 0
    done = cli(*verb, "bad.txt")
    assert done.returncode == 2 and "its groups name device 1 twice: {{0,1},{1,3}}" in done.stderr
    assert re.search(r"bad\.txt:\d+:\d+: ", done.stderr)


def test_a_size_without_a_bound_is_a_note(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "open.txt").write_text(HLO.replace("f32[8]", "f32[?]"))
    done = cli("hlo", "collectives", "open.txt")
    assert done.returncode == 0 and "note: open.txt: sizes without a bound: f32[?]" in done.stderr


def test_an_opcode_of_a_newer_xla_is_a_note_and_no_error(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "newer.txt").write_text(HLO.replace("ROOT r =", "y = f32[8]{0} frobnicate(x)\n  ROOT r ="))
    done = cli("hlo", "collectives", "newer.txt", "--format", "json")
    assert done.returncode == 0 and len(ledger(done.stdout)) == 1
    assert done.stderr.count("frobnicate (1)") == 1 and done.stderr.startswith("note: newer.txt: unknown opcodes")
