"""The house: floors, packages and file sizes are as docs/architecture.md says."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOORS = {
    "contracts": set(),
    "hlo_tools": {"contracts"},
    "linters": {"contracts", "hlo_tools"},
    "runtime": {"contracts", "hlo_tools"},
    "plugins": {"contracts", "hlo_tools", "linters", "runtime"},
}
HEAVY = {"jax", "jaxlib", "flax", "optax", "orbax", "numpy"}
ARRAYS = (("linters", "batch"), ("linters", "checkpoint"))
"""Where numpy may be used below `runtime`, and only while arrays are looked at: of a batch, of two checkpoints."""


def modules() -> list[Path]:
    return sorted(path for folder in FLOORS for path in (ROOT / folder).rglob("*.py"))


def imported(path: Path) -> set[tuple[str, ...]]:
    """Absolute dotted names that a file imports, relative ones resolved below the package root."""
    package = path.relative_to(ROOT).parts[:-1]
    found: set[tuple[str, ...]] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            tail = tuple(node.module.split(".")) if node.module else ()
            if not node.level:
                found.add(tail)
            else:
                base = (".", *package[: len(package) - node.level + 1], *tail)
                found |= {(*base, alias.name) for alias in node.names} | {base}
    return found


def test_imports_never_run_up() -> None:
    wrong = []
    for path in modules():
        floor = path.relative_to(ROOT).parts[0]
        for name in imported(path):
            if (
                name[0] == "."
                and len(name) > 1
                and name[1] in FLOORS
                and name[1] != floor
                and name[1] not in FLOORS[floor]
            ):
                wrong.append(f"{path.relative_to(ROOT)} imports {'.'.join(name[1:])}")
    assert wrong == []


def test_only_runtime_imports_jax() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name[0]}"
        for path in modules()
        if path.relative_to(ROOT).parts[0] != "runtime"
        for name in imported(path)
        if name[0] in HEAVY and not (name[0] == "numpy" and path.relative_to(ROOT).parts[:2] in ARRAYS)
    ]
    assert wrong == []


def test_own_imports_are_relative() -> None:
    wrong = [str(path.relative_to(ROOT)) for path in modules() for name in imported(path) if name[0] == "contract_lint"]
    assert wrong == []


def test_no_import_circle() -> None:
    names = {path.relative_to(ROOT).with_suffix("").parts: path for path in modules()}
    names = {parts[:-1] if parts[-1] == "__init__" else parts: path for parts, path in names.items()}
    graph = {
        parts: {
            name[1:] for name in top_level_imports(path) if name[0] == "." and name[1:] in names and name[1:] != parts
        }
        for parts, path in names.items()
    }
    done: set[tuple[str, ...]] = set()
    for start in graph:
        trail: list[tuple[tuple[str, ...], list[tuple[str, ...]]]] = [(start, sorted(graph[start]))]
        on_trail = {start}
        while trail:
            node, rest = trail[-1]
            if not rest:
                trail.pop()
                on_trail.discard(node)
                done.add(node)
                continue
            following = rest.pop()
            assert following not in on_trail, f"import circle through {'.'.join(following)} and {'.'.join(node)}"
            if following not in done:
                trail.append((following, sorted(graph[following])))
                on_trail.add(following)


def top_level_imports(path: Path) -> set[tuple[str, ...]]:
    """Imports that run when the module is imported; a package's own `from .x import y` names x, not y."""
    package = path.relative_to(ROOT).parts[:-1]
    found: set[tuple[str, ...]] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            tail = tuple(node.module.split(".")) if node.module else ()
            base = (".", *package[: len(package) - node.level + 1], *tail)
            found |= {base} if node.module else {(*base, alias.name) for alias in node.names}
    return found


def test_package_list_is_complete() -> None:
    declared = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    present = {"contract_lint"}
    for folder in FLOORS:
        present |= {
            ".".join(("contract_lint", *path.parent.relative_to(ROOT).parts)) for path in (ROOT / folder).rglob("*.py")
        }
    assert declared == present


def test_files_are_short_and_have_names() -> None:
    tracked = [*modules(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    assert [f"{p.relative_to(ROOT)}: {n} lines" for p in tracked if (n := len(p.read_text().splitlines())) > 500] == []
    assert [str(p.relative_to(ROOT)) for p in tracked if p.name in ("utils.py", "helpers.py", "misc.py")] == []


def test_no_folder_holds_one_lonely_file() -> None:
    lonely = [
        str(folder.relative_to(ROOT))
        for floor in FLOORS
        for folder in [ROOT / floor, *(ROOT / floor).rglob("*/")]
        if folder.name != "__pycache__"
        and len([p for p in folder.iterdir() if p.name not in ("__pycache__", "__init__.py")]) == 1
    ]
    assert lonely == []


@pytest.mark.parametrize(
    "code",
    [
        "import contract_lint",
        "from contract_lint import parse_hlo",
        "from contract_lint.linters.judge import judge",
        "from contract_lint.plugins.cli.main import main",
        "from contract_lint.runtime import launch",
    ],
)
def test_no_jax_below_the_child_process(code: str) -> None:
    probe = f"{code}\nimport sys\nprint(sorted({HEAVY!r} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    assert out.stdout.strip() == "[]"
