"""`diff` as it is called: formats, thresholds and exit codes, and one sentence for what cannot be compared."""

from __future__ import annotations

import gzip
import json
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

HLO = """\
HloModule step, input_output_alias={{ {{}}: (0, {{}}, may-alias) }}, num_partitions=4

add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}}

ENTRY main {{
  x = f32[8]{{0}} parameter(0), metadata={{op_name="state"}}
  {more}
  ROOT r = f32[8]{{0}} all-reduce({last}), channel_id=1, replica_groups={{{{0,1}},{{2,3}}}}, use_global_device_ids=true, to_apply=add, metadata={{op_name="jit(f)/mlp/psum" source_file="train.py" source_line=9}}
}}
"""  # noqa: E501
GATHER = (
    "g = f32[16]{0} all-gather(x), channel_id=2, replica_groups={{0,1},{2,3}}, dimensions={0}, "
    'use_global_device_ids=true, metadata={op_name="jit(f)/<b>mlp|`/all_gather" source_file="<script>train.py" '
    "source_line=7}\n  s = f32[8]{0} slice(g), slice={[0:8]}"
)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text(HLO.format(more="", last="x"))
    (tmp_path / "b.txt").write_text(HLO.format(more=GATHER, last="s"))
    return tmp_path


def test_the_cause_is_in_the_first_line(cli: Run, programs: Path) -> None:
    done = cli("diff", "a.txt", "b.txt", "--mesh", "data=2,fsdp=2")
    first = done.stdout.splitlines()[0]
    assert first.startswith("1 all-gather more over fsdp at <script>train.py:7") and done.returncode == 0
    assert cli("diff", "a.txt", "a.txt").stdout.startswith("no change")


@pytest.mark.parametrize("columns", ["80", "120"])
def test_text_keeps_to_the_terminal(columns: str, cli: Run, programs: Path) -> None:
    shown = cli("diff", "a.txt", "b.txt", env={"COLUMNS": columns}).stdout
    assert max(map(len, shown.splitlines())) <= int(columns)


def test_json_is_stable_and_complete(cli: Run, programs: Path) -> None:
    done = cli("diff", "a.txt", "b.txt", "--format", "json", "--threshold", "new-collective")
    said = json.loads(done.stdout)
    assert {"schema_version", "a", "b", "verdict", "placement", "changes", "metrics", "notes", "broken"} <= said.keys()
    first = said["changes"][0]
    assert {
        "kind",
        "what",
        "before",
        "after",
        "delta",
        "unit",
        "source_a",
        "source_b",
        "root",
        "follows",
    } <= first.keys()
    assert (first["kind"], first["before"], first["after"], first["delta"]) == ("collective", 0, 32, 32)
    assert said["metrics"]["ring_bytes"] == {"before": 32, "after": 64, "delta": 32, "unit": "bytes"}
    assert done.returncode == 1 and said["broken"][0]["threshold"] == "new-collective"
    assert done.stdout == cli("diff", "a.txt", "b.txt", "--format", "json", "--threshold", "new-collective").stdout


def test_every_string_is_escaped_in_html_and_markdown(cli: Run, programs: Path) -> None:
    page = cli("diff", "a.txt", "b.txt", "--format", "html").stdout
    assert (
        "<script>" not in page and "&lt;script&gt;train.py:7" in page and "http" not in page.replace("http-equiv", "")
    )
    comment = cli("diff", "a.txt", "b.txt", "--format", "markdown").stdout
    assert "<script>" not in comment and "<b>" not in comment and len(comment) < 60_000


@pytest.mark.parametrize(
    ("threshold", "code"),
    [
        ("ring_bytes>+99%", 1),
        ("ring_bytes>+100%", 0),
        ("ring_bytes>+1%,new-collective", 1),
        ("new-host-call,lost-donation", 0),
        ("host_calls>0", 0),
        ("peak>+1%", 2),
        ("ring_byte>+1%", 2),
        ("", 2),
    ],
)
def test_thresholds(threshold: str, code: int, cli: Run, programs: Path) -> None:
    done = cli("diff", "a.txt", "b.txt", "--threshold", threshold)
    assert done.returncode == code, done
    assert ("--threshold" in done.stderr) is (code == 2)
    if code < 2:
        assert done.stdout.startswith(("PASS: ", "FAIL: ")[code])
        assert (f"kept: {threshold}" in done.stdout) is (code == 0)
        comment = cli("diff", "a.txt", "b.txt", "--format", "markdown", "--threshold", threshold).stdout
        assert comment.startswith(("### PASS: ", "### FAIL: ")[code])


@pytest.mark.parametrize(
    ("groups", "size", "code"),
    [("{{0,2},{1,3}}", 8, 1), ("{{0,1},{2,3}}", 4, 0)],
    ids=["over other devices", "smaller"],
)
def test_what_a_new_collective_is(groups: str, size: int, code: int, cli: Run, programs: Path) -> None:
    """One over devices that A has none over, at the same line; not one that only moves another amount."""
    text = (programs / "a.txt").read_text().replace("{{0,1},{2,3}}", groups)
    (programs / "b.txt").write_text(text.replace("f32[8]{0}", f"f32[{size}]{{0}}"))
    done = cli("diff", "a.txt", "b.txt", "--mesh", "data=2,fsdp=2", "--threshold", "new-collective")
    assert done.returncode == code, done.stdout


def test_folders_of_a_compiler_are_read_like_their_programs(cli: Run, programs: Path) -> None:
    for name in ("a", "b"):
        (programs / name).mkdir()
        (programs / name / "module_0000.jit_step.cpu_after_optimizations.txt").write_text(
            (programs / f"{name}.txt").read_text()
        )
    said = cli("diff", "a", "b").stdout.splitlines()
    assert said[0] == cli("diff", "a.txt", "b.txt").stdout.splitlines()[0]
    # A step is chosen of the folder; the file beside it is one program. Of two files nothing is chosen.
    assert cli("diff", "a", "a.txt", "--step", "jit_step").stdout.startswith("no change")
    assert "holds no program 'other'" in cli("diff", "a", "a.txt", "--step", "other").stderr
    done = cli("diff", "a.txt", "b.txt", "--step", "jit_step")
    assert done.returncode == 2 and "a.txt: --step jit_step: this is one program" in done.stderr
    (programs / "empty").mkdir()
    done = cli("diff", "a", "empty")
    assert done.returncode == 2 and "neither a capture (manifest.json) nor a compiler's dump" in done.stderr


def test_units_are_said_once(cli: Run, programs: Path) -> None:
    """`32 B -> 0 B bytes` names them twice."""
    for form in ("text", "markdown", "html"):
        shown = re.sub(r"<[^>]*>", "", cli("diff", "a.txt", "b.txt", "--format", form).stdout)
        assert "32 B sent by each device" in shown and "B bytes" not in shown and "ring bytes" not in shown


def test_a_long_path_breaks_between_folders_of_a_page(cli: Run, programs: Path) -> None:
    folder = programs / "runs" / "of-today"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text((programs / "a.txt").read_text())
    page = cli("diff", "runs/of-today/a.txt", "b.txt", "--format", "html").stdout
    assert "<th>A runs/<wbr>of-today/<wbr>a.txt</th>" in page and "<title>" in page and "</<wbr>" not in page


def test_help_says_which_thresholds_there_are(cli: Run) -> None:
    said = cli("diff", "--help").stdout
    assert all(word in said for word in ("ring_bytes", "peak", "new-collective", "lost-donation", "KiB"))


def test_output_goes_to_a_file(cli: Run, programs: Path) -> None:
    done = cli("diff", "a.txt", "b.txt", "--format", "html", "--output", "page.html")
    assert done.stdout == "" and "all-gather" in done.stderr
    assert (programs / "page.html").read_text().startswith("<!doctype html>")


def test_gzip_and_standard_input(cli: Run, programs: Path) -> None:
    (programs / "b.txt.gz").write_bytes(gzip.compress((programs / "b.txt").read_bytes()))
    assert cli("diff", "b.txt.gz", "b.txt").stdout.startswith("no change")
    assert cli("diff", "-", "b.txt", input=(programs / "b.txt").read_text()).stdout.startswith("no change")
    assert cli("diff", "-", "-").returncode == 2


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a program",
        b"\x00\x01\x02\x03" * 50,
        b"\x1f\x8b\x08\x00cut",
        b"HloModule x\xff\xfe\n",
        HLO.format(more="", last="x")[:200].encode(),
        b"HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] call(x), to_apply=e\n}\n",
        b"HloModule m\nENTRY e {\n  y = f32[4] add(z, y)\n  ROOT z = f32[4] add(y, z)\n}\n",
        b"HloModule m\nENTRY e {\n  ROOT y = f32[99999999999999999999] parameter(0)\n}\n",
        b"HloModule m, input_output_alias={ {}: (99999999999999999999, {}, may-alias) }\nENTRY e {\n ROOT y = x()}",
    ],
)
def test_what_cannot_be_compared_is_one_sentence(content: bytes, cli: Run, programs: Path) -> None:
    (programs / "bad.txt").write_bytes(content)
    for pair in (("bad.txt", "a.txt"), ("a.txt", "bad.txt"), ("bad.txt", "bad.txt")):
        done = cli("diff", *pair)
        assert done.returncode in (0, 2), done.stderr
        assert "internal error" not in done.stderr
    assert cli("diff", "a.txt", "missing.txt").returncode == 2


def test_bytes_changed_at_random_never_cause_an_internal_error(cli: Run, programs: Path) -> None:
    chance = random.Random(5)
    text = (programs / "b.txt").read_bytes()
    for _ in range(150):
        data = bytearray(text)
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(len(data))] = chance.choice(b' {}(),=%"0123456789abfx[]->')
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        (programs / "bad.txt").write_bytes(data)
        done = cli("diff", "a.txt", "bad.txt", "--format", chance.choice(("text", "markdown", "json", "html")))
        assert done.returncode in (0, 2) and "internal error" not in done.stderr, done.stderr


def test_a_folder_that_is_no_capture(cli: Run, programs: Path) -> None:
    (programs / "folder").mkdir()
    done = cli("diff", "folder", "a.txt")
    assert done.returncode == 2 and "capture" in done.stderr
