"""`[tool.contract-lint]`: nearest file first, those above it below, and mistakes with their line."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.plugins.pipeline.settings import PerFile, cascade, load_settings
from contract_lint.plugins.pipeline.settings_file import written_at


def put(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(text)
    return folder


def test_nothing_is_written_anywhere(tmp_path: Path) -> None:
    settings = load_settings(tmp_path)
    assert settings.select == () and settings.fail_on == "error" and not settings.preview


def test_every_key(tmp_path: Path) -> None:
    put(
        tmp_path,
        """
[project]
requires-python = ">=3.10"
dependencies = ["JAX[cuda12] >=0.4.30,<0.6", "flax", "optax (>=0.2); python_version > '3'"]
optional-dependencies = { dev = ["jax>=9", "chex==0.1"] }
[tool.contract-lint]
select = ["JIT"]
ignore = ["JIT104"]
exclude = ["old"]
traced = ["a.*:f"]
module-methods = ["forward"]
context = ["src"]
fail-on = "warning"
preview = true
certain = true
baseline = "lint/base.jsonl"
root = true
[tool.contract-lint.per-file-ignores]
"tests/**" = ["SEM101", "key-reuse"]
""",
    )
    settings = load_settings(tmp_path)
    assert (settings.select, settings.ignore, settings.exclude) == (("JIT",), ("JIT104",), ("old",))
    assert (settings.traced, settings.module_methods) == (("a.*:f",), ("forward",))
    assert settings.context == (str(tmp_path / "src"),) and settings.baseline == str(tmp_path / "lint/base.jsonl")
    assert settings.fail_on == "warning" and settings.preview and settings.certain
    assert settings.per_file_ignores == (PerFile(str(tmp_path), "tests/**", ("SEM101", "key-reuse")),)
    assert dict(settings.requirements) == {
        "jax": ">=0.4.30,<0.6",
        "flax": "",
        "optax": ">=0.2",
        "chex": "==0.1",
        "python": ">=3.10",
    }


def test_nearer_tables_add_lists_and_replace_the_rest(tmp_path: Path) -> None:
    put(tmp_path, "[tool.contract-lint]\nselect = ['JIT']\nignore = ['JIT']\nfail-on = 'info'\npreview = true\n")
    inner = put(tmp_path / "pkg", "[tool.contract-lint]\nselect = ['SEM']\nignore = ['SEM']\n")
    settings = load_settings(inner)
    assert settings.select == ("SEM",) and settings.ignore == ("JIT", "SEM")
    assert settings.fail_on == "info" and settings.preview and settings.root == inner


def test_root_ends_the_search_and_a_file_without_the_table_does_not(tmp_path: Path) -> None:
    put(tmp_path, "[tool.contract-lint]\nignore = ['JIT']\n")
    put(tmp_path / "mid", "[project]\nname = 'x'\n")
    assert load_settings(tmp_path / "mid").ignore == ("JIT",)
    inner = put(tmp_path / "mid/in", "[tool.contract-lint]\nroot = true\nignore = ['SEM']\n")
    assert load_settings(inner).ignore == ("SEM",)


def test_each_file_has_the_settings_of_its_folder_and_the_command_line(tmp_path: Path) -> None:
    put(tmp_path, "[tool.contract-lint]\nignore = ['JIT']\n")
    put(tmp_path / "pkg/sub", "[tool.contract-lint]\nignore = ['SEM']\n")
    of = cascade(tmp_path / "pkg", lambda settings: settings.with_options((), ("C",)))
    assert of(str(tmp_path / "pkg/x.py")).ignore == ("JIT", "C")
    assert of(str(tmp_path / "pkg/sub/deep/x.py")).ignore == ("JIT", "SEM", "C")
    assert of(str(tmp_path / "other/x.py")).ignore == ("JIT", "C")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.contract-lint]\nselct = []\n", r"pyproject.toml:2: unknown key `selct`.*\n.*did you mean `select`"),
        ("[tool.contract-lint]\npreview = 1\n", r"pyproject.toml:2: `preview` must be true or false"),
        ("[tool.contract-lint]\n\nbaseline = ['x']\n", r"pyproject.toml:3: `baseline` must be the path of a file"),
        (
            "[tool.contract-lint]\n[tool.contract-lint.per-file-ignores]\na = 'JIT'\n",
            r"pyproject.toml:2: `per-file-ignores` must be a table of lists of rules",
        ),
        ("[tool.contract-lint]\nper-file-ignores = ['a']\n", r"pyproject.toml:2: `per-file-ignores` must be a table"),
        (
            "[tool.contract-lint]\nignore = [\n  'JIT103',\n  'tracer-brunch',\n]\n",
            r"pyproject.toml:4: no rule has the code, prefix or name 'tracer-brunch'\n.*did you mean `tracer-branch`",
        ),
        (
            "[tool.contract-lint.per-file-ignores]\n'a.py' = ['JIT103']\n'b.py' = ['XYZ']\n",
            r"pyproject.toml:3: no rule has the code, prefix or name 'XYZ'\n.*`contract-lint rules` lists them",
        ),
        ("[tool.contract-lint]\nselect = ['']\n", r"pyproject.toml:2: no rule has"),
        ("[tool]\ncontract-lint = 3\n", r"\[tool.contract-lint\] must be a table"),
    ],
)
def test_mistakes_have_a_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ContractLintError, match=said):
        load_settings(put(tmp_path, text))


def test_a_mistake_in_a_table_below_is_found_when_its_files_are(tmp_path: Path) -> None:
    put(tmp_path / "pkg", "[tool.contract-lint]\nfail = 1\n")
    of = cascade(tmp_path, lambda settings: settings)
    assert of(str(tmp_path / "a.py")).ignore == ()
    with pytest.raises(ContractLintError, match="unknown key `fail`"):
        of(str(tmp_path / "pkg/a.py"))


def test_requirement_files_tell_what_the_project_does_not(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(
        "# pinned\njax[cuda12]==0.4.30  # old\n-r more.txt\nflax>=0.8 ; python_version>'3'\n"
    )
    (tmp_path / "requirements-dev.txt").write_text("optax<0.2\n")
    assert dict(load_settings(tmp_path).requirements) == {"jax": "==0.4.30", "flax": ">=0.8", "optax": "<0.2"}
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "a"\ndependencies = ["jax>=0.6"]\n')
    assert dict(load_settings(tmp_path).requirements)["jax"] == ">=0.6"


def test_requirement_files_nearer_than_the_project_declare_it(tmp_path: Path) -> None:
    """A vendored package below another project's pyproject.toml is written for versions of its own."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "outer"\ndependencies = ["jax>=0.6"]\n')
    inner = tmp_path / "vendored" / "package" / "source"
    inner.mkdir(parents=True)
    assert dict(load_settings(inner).requirements) == {"jax": ">=0.6"}
    (tmp_path / "vendored" / "package" / "requirements.txt").write_text("jax (==0.4.26)\n")
    assert dict(load_settings(inner).requirements) == {"jax": "==0.4.26"}
    assert dict(load_settings(tmp_path / "vendored").requirements) == {"jax": ">=0.6"}


def test_a_file_that_is_named_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "[project]\nname = 'x'\ndependencies = ['jax>=0.6']\n[tool.contract-lint]\nnot-a-key = 1\n")
    (tmp_path / "lint.toml").write_text("[tool.contract-lint]\nignore = ['SEM']\ncontext = ['src']\n")
    (tmp_path / "other.toml").write_text("[tool.other]\n")
    monkeypatch.chdir(tmp_path)
    settings = load_settings(tmp_path, "lint.toml")
    assert settings.ignore == ("SEM",) and settings.context == (str(tmp_path / "src"),)
    assert settings.root == tmp_path and dict(settings.requirements) == {"jax": ">=0.6"}
    assert cascade(tmp_path, lambda each: each, "lint.toml")("a/b.py") == settings
    for name, said in (("other.toml", "other.toml: has no table"), ("gone.toml", "gone.toml: cannot be read: No such")):
        with pytest.raises(ContractLintError, match=said):
            load_settings(tmp_path, name)


def test_where_a_value_is_written(tmp_path: Path) -> None:
    put(tmp_path, "[tool.contract-lint]\ntraced = ['a:f',\n  'b:f']\n")
    settings = load_settings(put(tmp_path / "in", "[tool.contract-lint]\ntraced = ['c:f']\n"))
    lines = [written_at(settings.files, "traced", each) for each in (*settings.traced, "d:f")]
    assert [each and each.line for each in lines] == [2, 3, 2, None]
