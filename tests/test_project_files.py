"""The project's own files agree with each other: versions, commands, hooks, and what the documents name."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import contract_lint
import pytest
from contract_lint.contracts.find import SUFFIX
from contract_lint.linters.registry import rules
from contract_lint.plugins.cli.main import VERBS
from contract_lint.plugins.cli.options import FINDING_FORMATS
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MAKEFILE = (ROOT / "Makefile").read_text()
DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "docs/architecture.md",
    "docs/maxtext.md",
    "docs/source.md",
)

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def yaml(name: str) -> Any:
    return YAML(typ="safe").load((ROOT / name).read_text())


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))


def test_one_version() -> None:
    assert contract_lint.__version__ == PROJECT["project"]["version"]
    (example,) = {re.sub(r"\D", "", each) for each in re.findall(r"py31\d", str(PROJECT["tool"]["ruff"]))}
    assert PROJECT["project"]["requires-python"] == f">=3.{example[1:]}"
    assert PROJECT["tool"]["basedpyright"]["pythonVersion"] == f"3.{example[1:]}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_name_what_exists(name: str) -> None:
    text = (ROOT / name).read_text()
    code = re.findall(r"`([^`\n]+)`|^ {4,}(\S.*)$", text, re.MULTILINE)
    commands = [inline or block for inline, block in code]
    for command in commands:
        if made := re.match(r"make ([a-z][a-z-]*)", command):
            assert made[1] in make_targets(), command
        if called := re.match(r"contract-lint ([a-z]+)", command):
            assert called[1] in VERBS, command
    assert set(re.findall(r"\b(?:DAT|JIT|MEM|NUM|SEM|SHD)\d{3}\b", text)) <= {rule.code for rule in rules()}
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert ((ROOT / name).parent / link).exists(), link


def test_the_snippets_of_the_readme_name_what_there_is() -> None:
    """Hooks by their ids, and files of other tools that they can read."""
    snippets = re.findall(r"```yaml\n# (\S+)\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    read = {name: YAML(typ="safe").load(text) for name, text in snippets}
    hooks = {hook["id"] for hook in YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    (repository,) = read[".pre-commit-config.yaml"]["repos"]
    assert {hook["id"] for hook in repository["hooks"]} == hooks
    (job,) = read[".github/workflows/contract-lint.yml"]["jobs"].values()
    called = [step["run"].split() for step in job["steps"] if step.get("run", "").startswith("contract-lint")]
    assert called and {words[1] for words in called} <= set(VERBS)
    assert {words[words.index("--format") + 1] for words in called} <= set(FINDING_FORMATS)


def test_the_layout_of_the_documents_is_that_of_the_tree() -> None:
    for name in ("README.md", "docs/architecture.md"):
        folders = set(re.findall(r"^\| `([a-z_]+)/` \|", (ROOT / name).read_text(), re.MULTILINE))
        assert {"contracts", "hlo_tools", "linters", "runtime", "plugins"} <= folders
        assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def test_integration_calls_the_targets_of_the_makefile() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    called = re.findall(r"^make ([a-z-]+)$", script.read_text(), re.MULTILINE)
    assert "test" in called and set(called) <= make_targets()
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert phony is not None and set(phony[1].split()) == make_targets()


def test_the_makefile_keeps_to_what_make_3_81_knows() -> None:
    newer = re.findall(r"^\.ONESHELL|!=|::=|\$\(file |\$\(guile |^\.RECIPEPREFIX|&:", MAKEFILE, re.MULTILINE)
    assert newer == []


@needs_make
@pytest.mark.parametrize("target", ["verify", "test", "test-newest"])
def test_make_needs_no_environment(target: str, tmp_path: Path) -> None:
    """A dry run in a folder without .venv installs first, with a Python that it finds by itself."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    env = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "PYENV_ROOT")}
    done = subprocess.run(["make", "-n", target], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    folder = ".venv-newest" if target == "test-newest" else ".venv"
    assert f"-m venv {folder}" in done.stdout
    assert done.stdout.index("-m venv") < done.stdout.rindex(f"{folder}/bin/")


@needs_make
def test_make_without_python_says_what_is_needed(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    command = ["make", "verify", "PYTHON="]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and "Python 3.11 or newer is needed" in done.stderr


def test_hooks_for_others_run_the_console_script() -> None:
    hook, source = yaml(".pre-commit-hooks.yaml")
    for each in (hook, source):
        script, verb, *rest = each["entry"].split()
        assert script in PROJECT["project"]["scripts"] and verb == "check" and verb in VERBS
        assert each["language"] == "python" and "additional_dependencies" not in each
        assert rest == ([] if each is hook else ["."]) and each.get("pass_filenames", True) is (each is hook)
    assert source["types_or"] == ["python", "jupyter"]
    for path, wanted in (("a/train.contract.yaml", True), ("x.contract.yml", False), ("contract.yaml", False)):
        assert bool(re.search(hook["files"], path)) is path.endswith(SUFFIX) is wanted


def test_own_hooks_use_the_pinned_tools_and_the_published_hook() -> None:
    hooks = {hook["id"]: hook for repo in yaml(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]}
    assert set(hooks) == {"ruff", "ruff-format", "types", "contract-lint"}
    pins = (ROOT / "constraints.txt").read_text().split()
    for name in ("ruff", "ruff-format"):
        assert set(hooks[name]["additional_dependencies"]) <= set(pins)
    published, _ = yaml(".pre-commit-hooks.yaml")
    assert {key: hooks["contract-lint"][key] for key in ("entry", "files", "language")} == {
        key: published[key] for key in ("entry", "files", "language")
    }


def test_constraints_name_no_index_and_no_hash() -> None:
    assert re.findall(r"https?:|--hash|--index|--find-links|@ ", (ROOT / "constraints.txt").read_text()) == []
