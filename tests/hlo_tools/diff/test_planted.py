"""One change planted in a training step is named first, in what was asked for and in what runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.diff import Diff, Side, compare
from contract_lint.hlo_tools.memory import memory
from contract_lint.hlo_tools.module import parse_hlo

CHILD = Path(__file__).parent / "planted_child.py"
VARIANTS = ("base", "gather", "no_remat", "upcast", "undonated", "callback", "one_more_layer", "scan", "scan_layer")
STAGES = ("partitioned", "optimized")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted")
    command = [sys.executable, str(CHILD), str(folder), *VARIANTS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def side(programs: Path, name: str, stage: str) -> Side:
    module = parse_hlo((programs / f"{name}.{stage}.txt").read_text())
    try:
        return Side(name, module, memory=memory(None, module))
    except ContractLintError as error:
        return Side(name, module, no_memory=error.message)


def diff(programs: Path, a: str, b: str, stage: str) -> Diff:
    return compare(side(programs, a, stage), side(programs, b, stage))


def line_of(text: str) -> str:
    """`planted_child.py:LINE` of the only line that holds a text."""
    (line,) = [n for n, line in enumerate(CHILD.read_text().splitlines(), 1) if text in line]
    return f"planted_child.py:{line}"


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    ("a", "b", "kind", "said", "line"),
    [
        ("base", "gather", "collective", "more in groups of 2", "jax.lax.all_gather"),
        ("base", "no_remat", "remat", "less is recomputed for the backward pass of block_1", None),
        ("base", "undonated", "donation", "no longer reused", None),
        ("base", "callback", "host", "1 host callback more a step", "jax.debug.callback"),
        ("base", "one_more_layer", "layers", "4 blocks block_*, not 3", None),
        ("scan", "scan_layer", "loop", "run 4 rounds, not 3", "jax.lax.scan"),
    ],
)
def test_what_was_planted_is_named_first(
    programs: Path, a: str, b: str, kind: str, said: str, line: str | None, stage: str
) -> None:
    found = diff(programs, a, b, stage)
    first = found.changes[0]
    assert (first.kind, first.root) == (kind, True), first.what
    assert said in first.what
    if line is not None:
        assert first.source_b is not None and first.source_b.endswith(line_of(line))
    back = diff(programs, b, a, stage).changes[0]
    assert back.kind == kind, back.what


def test_a_cast_is_named_where_types_are_as_the_code_says(programs: Path) -> None:
    """The CPU compiler widens bf16 by itself: only the partitioned module knows who asked for it."""
    found = diff(programs, "base", "upcast", "partitioned")
    first = found.changes[0]
    assert (first.kind, first.before, first.after) == ("dtype", "bf16", "f32")
    assert first.source_b is not None and first.source_b.endswith(line_of("jnp.tanh"))
    assert found.roots == [first]
    assert all(change.follows == first.what for change in found.changes[1:])


def test_a_lost_donation_explains_what_memory_does(programs: Path) -> None:
    found = diff(programs, "base", "undonated", "optimized")
    assert [change.kind for change in found.roots] == ["donation"]
    assert found.changes[0].before == 3 * 2 * 128 * 512 * 4 // 4
    output = next(change for change in found.changes if change.what.startswith("output at the peak"))
    assert output.delta == found.changes[0].before and output.follows == found.changes[0].what


@pytest.mark.parametrize("stage", STAGES)
def test_one_program_compiled_once_is_one(programs: Path, stage: str) -> None:
    assert diff(programs, "base", "base", stage).verdict == "same"
