"""Exit codes and what stands on standard error: a sentence with its place, never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.finding import Location
from contract_lint.plugins.cli import boundary
from contract_lint.plugins.cli.output import emit
from contract_lint.plugins.pipeline.report import report

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_clean_is_0_and_findings_are_1(cli: Run, tmp_path: Path, contract_text: str) -> None:
    (tmp_path / "a.contract.yaml").write_text(contract_text)
    clean = cli("check")
    assert (clean.returncode, clean.stderr) == (0, "")
    assert clean.stdout.startswith("PASS 1 contract: no finding.")
    (tmp_path / "b.contract.yaml").write_text(contract_text.replace("mesh:", "mesch:"))
    broken = cli("check")
    assert broken.returncode == 1
    assert "b.contract.yaml:7:1" in broken.stdout.splitlines()[0] and "mesch" in broken.stdout
    assert cli("check", "--fail-on", "never").returncode == 0
    assert cli("check", "--ignore", "JIT002").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "missing"), "missing"),
        (("chek",), "Did you mean `check`?"),
        (("check", "--format", "yaml"), "'yaml' is not one of 'text', 'concise', 'json'"),
        (("verify", "missing.contract.yaml"), "missing.contract.yaml"),
        (("verify", "a.contract.yaml", "--steps", "3"), "--steps needs --run"),
        (("verify", "a.contract.yaml", "--capture", "empty"), "empty"),
        (("verify", "a.contract.yaml", "--capture", "empty", "--python", "python"), "--python: --capture judges"),
        (("verify", "a.contract.yaml", "--capture", "empty", "--timeout", "9", "--no-cache"), "--timeout, --no-cache"),
        (("verify", "a.contract.yaml", "--capture", "empty", "--run", "--steps", "3"), "--steps: --capture judges"),
        (("explain", "SHD999"), "no rule has the code or name 'SHD999'\n  help: `contract-lint rules` lists them"),
        (("explain", "unplanned-colective"), "did you mean `unplanned-collective`?"),
        (("check", "--select", "SHD2,MEN"), "no rule has the code, prefix or name 'MEN'"),
        (("check", "--ignore", "unknown-kee"), "did you mean `unknown-key`?"),
        (("train", "a.contract.yaml"), "no step of this contract is the reference trainer: my_pkg.train:build"),
        (("init", "no_such_module_of_mine:build", "--target", "abacus"), "abacus"),
        (("init", "x:build", "--target", "cpu:2", "--arg", "nothing"), "expected NAME=VALUE"),
        (("check", "--output", "no/such/folder/out.txt"), "no/such/folder/out.txt: cannot be written"),
    ],
)
def test_wrong_usage_is_2(arguments: tuple[str, ...], said: str, cli: Run, tmp_path: Path, contract_text: str) -> None:
    (tmp_path / "a.contract.yaml").write_text(contract_text)
    (tmp_path / "empty").mkdir()
    done = cli(*arguments)
    assert done.returncode == 2, done
    assert said in done.stderr and "Traceback" not in done.stderr and "internal error" not in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[tool.contract-lint]\nselct = []\n",
            "pyproject.toml:2: unknown key `selct` in [tool.contract-lint]\n  help: did you mean `select`?",
        ),
        (
            "[tool.contract-lint]\n\nfail-on = 'fatal'\n",
            "pyproject.toml:3: `fail-on` must be one of error, warning, info, never",
        ),
        ("[tool.contract-lint]\nignore = 'JIT'\n", "pyproject.toml:2: `ignore` must be a list of strings"),
        ("[tool\n", "pyproject.toml: is not valid TOML"),
    ],
)
def test_wrong_settings_are_2(text: str, said: str, cli: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    done = cli("check")
    assert done.returncode == 2 and said in done.stderr.replace(f"{tmp_path.as_posix()}/", "")


def test_settings_are_read_from_the_nearest_pyproject(cli: Run, tmp_path: Path, contract_text: str) -> None:
    (tmp_path / "b.contract.yaml").write_text(contract_text.replace("mesh:", "mesch:"))
    (tmp_path / "pyproject.toml").write_text("[tool.contract-lint]\nexclude = ['b.*']\n")
    assert cli("check").stdout.startswith("NOTHING CHECKED: the one contract at")
    (tmp_path / "pyproject.toml").write_text("[tool.contract-lint]\nignore = ['unknown-key']\n")
    assert cli("check").returncode == 0


def test_report_goes_to_a_file_and_the_verdict_to_stderr(cli: Run, tmp_path: Path, contract_text: str) -> None:
    (tmp_path / "a.contract.yaml").write_text(contract_text)
    done = cli("check", "--format", "json", "--output", "out.json")
    assert done.stdout == "" and done.stderr.startswith("PASS 1 contract")
    assert json.loads((tmp_path / "out.json").read_text())["summary"] == {"error": 0, "warning": 0, "info": 0}


def group_that(raises: BaseException) -> click.Group:
    @click.group()
    @click.option("--debug", is_flag=True)
    def group(debug: bool) -> None: ...

    @group.command()
    def verb() -> None:
        raise raises

    return group


def test_bad_input_is_2_with_place_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    error = ContractLintError("is\x1b[31m bad", Location("a.yaml", 3, 4), "do this")
    assert boundary.run(group_that(error), ["verb"]) == 2
    assert capsys.readouterr().err == "error: a.yaml:3:4: is\\x1b[31m bad\n  help: do this\n"


def test_own_bug_is_3_and_says_how_to_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert boundary.run(group_that(KeyError("x")), ["verb"]) == 3
    err = capsys.readouterr().err
    assert err.startswith("internal error: KeyError: 'x' (") and "bug in contract-lint" in err
    assert "Traceback" not in err
    assert boundary.run(group_that(KeyError("x")), ["--debug", "verb"]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_interrupt_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert boundary.run(group_that(KeyboardInterrupt()), ["verb"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_closed_pipe_is_quiet(tmp_path: Path, cli: Run) -> None:
    done = subprocess.run(
        f"{sys.executable} -m contract_lint schema | head -c 10",
        shell=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stderr == "" and len(done.stdout) == 10


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [("schema",), ("--help",), ("targets", "--format", "json")])
def test_a_full_disk_is_a_sentence(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "contract_lint", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("error: the output or a temporary file cannot be written: No space left on device\n")
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.parametrize(("closed", "code"), [(">&-", 0), ("2>&-", 0), (">&- 2>&-", 0)])
def test_closed_streams_change_nothing(closed: str, code: int) -> None:
    done = subprocess.run(
        f"{sys.executable} -m contract_lint rules {closed}", shell=True, capture_output=True, text=True
    )
    assert done.returncode == code and done.stderr == ""


def test_what_was_not_looked_at_is_said_beside_a_clean_report(capsys: pytest.CaptureFixture[str]) -> None:
    emit(report((), verb="verify", subject="s", notes=("not tried: a mesh",)), "text", None)
    said = capsys.readouterr()
    assert said.out.startswith("PASS s") and said.err == "contract-lint: not tried: a mesh\n"
