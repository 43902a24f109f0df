"""Programs as they are pasted keep their lines; files that hold none are named for what they are."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.pasted import as_utf8, foreign, second_module, unwrapped
from contract_lint.plugins.pipeline.hlo import memory_or_report, open_program

PROGRAM = """HloModule jit_f

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %sin = f32[8]{0} sine(%x)
}
"""
LINES = PROGRAM.splitlines()
QUOTED = "\n".join(f"> {line}".rstrip() for line in LINES)
FENCED = f"Our dump:\n\n```hlo\n{PROGRAM}```\n\nIs it right?\n"
LOGGED = "\n".join(f"I0504 09:05:40.1 15 xla/service/dump.cc:76] {line}" for line in LINES)
COLOURED = "\n".join(f"\x1b[32mINFO\x1b[0m: {line}" for line in LINES)
AFTER_A_LINE = f"\x1b[1mdumping\x1b[0m\n{PROGRAM}"
PREFIXES = (
    "2026-05-04 09:05:4{}.123 INFO train: ",
    "2026-05-04 09:05:{} ",
    "INFO:root:",
    "[rank{}] ",
    "{}: ",
    "worker-{} | step {} | ",
)
QUOTED_FENCE = "\n".join(f"> {line}" for line in FENCED.splitlines())


@pytest.mark.parametrize(("text", "before"), [(QUOTED, 0), (FENCED, 3), (LOGGED, 0), (QUOTED_FENCE, 3)])
def test_a_pasted_program_is_read_and_its_lines_keep_their_numbers(tmp_path: Path, text: str, before: int) -> None:
    plain = unwrapped(text)
    assert plain is not None
    assert plain.splitlines()[before : before + len(LINES)] == LINES
    (tmp_path / "pasted.txt").write_text(text)
    module = open_program(str(tmp_path / "pasted.txt")).module
    assert [instruction.opcode for instruction in module.entry] == ["parameter", "sine"]
    found = module.entry.root.location
    assert found is not None and found.line == before + 5


@pytest.mark.parametrize(
    "around", ["Hi, see below\n\n{}\n\nthanks\n", "{}\nthanks\n-- \n> older mail\n", "{}\n>\n> bye\n"]
)
def test_what_is_said_around_a_quoted_program_is_left_out(tmp_path: Path, around: str) -> None:
    path = tmp_path / "mail.txt"
    path.write_text(around.format(QUOTED))
    if "> " in around:
        with pytest.raises(ContractLintError, match="expected a computation or an instruction"):
            open_program(str(path))
        return
    root = open_program(str(path)).module.entry.root
    assert root.location is not None and root.location.line == 2 + 5


def test_the_rest_of_a_long_line_that_a_mail_wrapped_is_not_left_out(tmp_path: Path) -> None:
    path = tmp_path / "mail.txt"
    path.write_text(QUOTED.replace(" sine(", "\nsine("))
    assert open_program(str(path)).module.entry.root.opcode == "sine"


@pytest.mark.parametrize("prefix", PREFIXES)
def test_any_loggers_prefix_is_learnt_from_the_first_line(tmp_path: Path, prefix: str) -> None:
    text = "\n".join(prefix.format(at, at) + line for at, line in enumerate(LINES))
    assert (unwrapped(text) or "").splitlines() == LINES
    path = tmp_path / "logged.txt"
    path.write_text(f"something before\n{text}\n")
    root = open_program(str(path)).module.entry.root
    assert root.location is not None and root.location.line == 6


@pytest.mark.parametrize(("text", "line"), [(COLOURED, 5), (AFTER_A_LINE, 6)])
def test_colours_of_a_terminal_are_no_protobuf(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "coloured.txt"
    path.write_text(text)
    root = open_program(str(path)).module.entry.root
    assert root.location is not None and root.location.line == line


def test_control_characters_in_the_strings_of_a_program_are_no_protobuf(tmp_path: Path) -> None:
    path = tmp_path / "odd.hlo"
    path.write_text(PROGRAM.replace("sine(%x)", 'sine(%x), metadata={op_name="\x1b]0;x\x07"}'))
    assert open_program(str(path)).module.entry.root.opcode == "sine"


@pytest.mark.parametrize("cut", ["Used 4", "Used 41.74G of 1", "Used 41.74G of 16.00"])
def test_a_report_that_is_cut_before_its_figures_is_said_to_be_one(tmp_path: Path, cut: str) -> None:
    path = tmp_path / "oom.txt"
    path.write_text(f"RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. {cut}")
    with pytest.raises(ContractLintError, match="out-of-memory message without figures"):
        memory_or_report(str(path))


def test_a_program_alone_is_left_as_it_is() -> None:
    assert unwrapped(PROGRAM) is None
    assert second_module(PROGRAM.encode()) is None
    assert foreign(PROGRAM.encode()) is None


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_of_the_byte_order_are_no_text(encoding: str) -> None:
    assert as_utf8(PROGRAM.encode(encoding)).decode() == PROGRAM


def test_two_programs_in_one_file_are_refused_where_the_second_begins(tmp_path: Path) -> None:
    path = tmp_path / "two.hlo"
    path.write_text(f"{PROGRAM}\n// the other one\n{PROGRAM}")
    with pytest.raises(ContractLintError, match="second HloModule") as caught:
        open_program(str(path))
    assert caught.value.location is not None
    assert caught.value.location.line == len(LINES) + 3


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"module @jit_f {\n  func.func public @main() {\n  }\n}\n", "StableHLO"),
        (b"{ lambda ; a:f32[8]. let b:f32[8] = sin a in (b,) }\n", "jaxpr"),
        (b"<!DOCTYPE html>\n<html><pre>HloModule x</pre></html>", "HTML"),
        (gzip.compress(gzip.compress(PROGRAM.encode())), "gzip data inside"),
        (b"PK\x03\x04" + bytes(64), "ZIP"),
        (b'{"traceEvents": []}', "JSON"),
        (b"contract: 1\nname: x\n", "contract"),
        (b"import jax\n\nx = 1\n", "Python"),
        (b"\x7fELF" + bytes(64), "executable"),
    ],
)
def test_what_holds_no_program_is_named(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "given"
    path.write_bytes(data)
    with pytest.raises(ContractLintError, match=said) as caught:
        open_program(str(path))
    assert caught.value.location is not None
    assert caught.value.location.path.endswith("given")
