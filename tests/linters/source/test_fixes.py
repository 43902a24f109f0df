"""Fixes on text: whole, apart, parsing, and written without loss."""

from __future__ import annotations

import ast
import json
import os
import stat
from pathlib import Path

import pytest
from contract_lint.contracts.finding import Edit, Finding, Fix, Location
from contract_lint.linters.source.fixes import NotFixable, NotFixed, NotWritten, fixable, mend, write_source
from contract_lint.linters.source.notebook import read_notebook
from contract_lint.linters.source.text import SourceText, plain_source, source_text
from hypothesis import given
from hypothesis import strategies as st


def finding(
    *edits: tuple[int, int, int, int, str], safe: bool = True, path: str = "a.py", **more: tuple[str, ...]
) -> Finding:
    places = tuple(Edit(Location(path, *edit[:4]), edit[4]) for edit in edits)
    return Finding(
        code="JIT120",
        name="removed-jax-api",
        severity="error",
        message="m",
        subject="s",
        location=Location(path, edits[0][0] if edits else 1, 1),
        fix=Fix("mend it", places, safe, **more),
    )


def mended(text: str, *findings: Finding) -> str | None:
    made = mend(plain_source("a.py", text), findings)
    return None if made is None else made.source.text


def test_edits_of_all_fixes_are_made_from_the_end() -> None:
    text = "a = f(1)\nb = g(2)\n"
    assert mended(text, finding((1, 5, 1, 6, "ff")), finding((2, 5, 2, 6, "gg"), (1, 1, 1, 2, "aa"))) == (
        "aa = ff(1)\nb = gg(2)\n"
    )


def test_fixes_that_touch_wait_and_equal_edits_are_one() -> None:
    text = "a = f(1)\n"
    outer, inner = finding((1, 5, 1, 9, "h(1)")), finding((1, 7, 1, 8, "2"))
    made = mend(plain_source("a.py", text), [inner, outer])
    assert made is not None and made.source.text == "a = h(1)\n" and made.applied == (outer,)
    shared = (1, 1, 1, 1, "import jax\n")
    both = [finding(shared, (1, 5, 1, 6, "g")), finding(shared, (1, 7, 1, 8, "2"))]
    assert mended(text, *both) == "import jax\na = g(2)\n"


def test_a_fix_that_breaks_the_file_is_left_out_and_the_others_are_not() -> None:
    text = "a = f(1)\nb = g(2)\n"
    broken, good = finding((1, 6, 1, 7, "")), finding((2, 5, 2, 6, "gg"))
    made = mend(plain_source("a.py", text), [broken, good])
    assert made is not None and made.source.text == "a = f(1)\nb = gg(2)\n" and made.applied == (good,)
    assert mended(text, broken) is None


@pytest.mark.parametrize(
    "edit", [(9, 1, 9, 2, "x"), (1, 99, 1, 99, "x"), (2, 1, 1, 1, "x"), (1, 1, 7, 1, "x"), (0, 0, 0, 0, "x")]
)
def test_a_place_that_is_not_there_is_no_fix(edit: tuple[int, int, int, int, str]) -> None:
    assert mended("a = 1\n", finding(edit)) is None
    assert mended("a = 1\n", finding((1, 1, 1, 2, "b"), path="other.py")) is None


def test_only_new_findings_and_safe_fixes_unless_asked() -> None:
    from dataclasses import replace

    safe, unsafe = finding((1, 1, 1, 1, "")), finding((1, 1, 1, 1, ""), safe=False)
    aside = replace(safe, status="suppressed")
    assert fixable([safe, unsafe, aside, finding()], unsafe=False) == [safe]
    assert fixable([safe, unsafe, aside, finding()], unsafe=True) == [safe, unsafe]


def test_imports_come_and_go_with_the_fix() -> None:
    text = '"""doc"""\nfrom __future__ import annotations\nfrom jax import jit, tree_map  # jit\n\ny = tree_map(f, x)\n'
    fix = finding((5, 5, 5, 13, "jax.tree.map"), needs=("jax",), leaves=("jax:tree_map",))
    result = mended(text, fix)
    assert result is not None and "import jax\n" in result and "from jax import jit  # jit\n" in result
    assert result.startswith('"""doc"""\nfrom __future__') and result.endswith("y = jax.tree.map(f, x)\n")
    still_used = mended(text + "z = tree_map\n", fix)
    assert still_used is not None and "jit, tree_map" in still_used


@given(
    st.lists(st.sampled_from(["a = f(1)", "é = 'ü'", "if a:\n    b = 2", "", "# c"]), min_size=1, max_size=6),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(
        st.tuples(st.integers(1, 8), st.integers(1, 9), st.integers(0, 4), st.text("xyz(1) \n", max_size=5)), max_size=5
    ),
)
def test_whatever_is_applied_parses_and_touches_nothing_else(
    lines: list[str], end: str, edits: list[tuple[int, int, int, str]]
) -> None:
    text = "\n".join(lines).replace("\n", end)
    source = plain_source("a.py", text)
    made = mend(source, [finding((line, column, line, column + length, new)) for line, column, length, new in edits])
    if made is not None:
        ast.parse(made.source.text)
        assert made.applied and set(made.source.text.replace(end, "")) <= set(text.replace(end, "") + "xyz(1) \n")
        if end == "\r\n" and end in text:
            assert "\n" not in made.source.text.replace("\r\n", "")


CONTENTS = [
    b"a = f(1)\n",
    b"a = f(1)\r\nb = 2\r\n",
    b"\xef\xbb\xbfa = f(1)\n",
    b"# coding: latin-1\na = '\xe9'\n",
    b"a = f(1)\nb = 2\r\nc = 3\r",
    b"a = f(1)",
]


@pytest.mark.parametrize("content", CONTENTS)
def test_writing_keeps_encoding_line_ends_and_mode(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(content)
    path.chmod(0o751)
    source = source_text(content, "a.py", str(path))
    line = next(n for n, text in enumerate(source.lines, 1) if text.startswith("a"))
    made = mend(source, [finding((line, 1, line, 2, "abc"))])
    assert made is not None
    write_source(made.source, source.digest)
    assert path.read_bytes() == content.replace(b"a = ", b"abc = ")
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert sorted(os.listdir(tmp_path)) == ["a.py"]
    assert source_text(path.read_bytes(), "a.py").digest == made.source.digest


def written(tmp_path: Path) -> tuple[Path, SourceText, SourceText]:
    path = tmp_path / "a.py"
    path.write_text("a = 1\n")
    source = source_text(path.read_bytes(), "a.py", str(path))
    made = mend(source, [finding((1, 1, 1, 2, "b"))])
    assert made is not None
    return path, source, made.source


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path, source, new = written(tmp_path)
    path.write_text("a = 2\n")
    with pytest.raises(NotFixed, match="has changed"):
        write_source(new, source.digest)
    assert path.read_text() == "a = 2\n"


def test_another_name_of_a_file_that_is_fixed_already_is_fine(tmp_path: Path) -> None:
    path, source, new = written(tmp_path)
    path.write_text("b = 1\n")
    write_source(new, source.digest)
    assert path.read_text() == "b = 1\n"


def test_what_the_file_system_refuses_is_told_apart(tmp_path: Path) -> None:
    path, source, new = written(tmp_path)
    path.chmod(0o444)
    with pytest.raises(NotWritten, match="cannot be written: it is read-only"):
        write_source(new, source.digest)
    assert path.read_text() == "a = 1\n"


def test_a_fix_that_a_notebook_cannot_take_leaves_the_others() -> None:
    cells = ["import jax\nx = 1", "y = 1"]
    tree = {"cells": [{"cell_type": "code", "source": each} for each in cells], "nbformat": 4}
    source, _ = read_notebook(json.dumps(tree, indent=1).encode(), "a.py")
    assert source is not None
    over, importing = finding((1, 1, 3, 2, "z")), finding((1, 1, 1, 2, "i"), needs=("jax.tree",))
    with pytest.raises(NotFixed, match="from one cell into another"):
        mend(source, [over])
    made = mend(source, [over, importing, finding((3, 1, 3, 2, "zz"))])
    assert made is not None and made.source.text == "import jax\nx = 1\nzz = 1\n" and len(made.applied) == 1
    compact, _ = read_notebook(json.dumps(tree, separators=(",", ":")).encode(), "a.py")
    assert compact is not None
    with pytest.raises(NotFixable, match="not written as Jupyter"):
        mend(compact, [finding((3, 1, 3, 2, "zz"))])


def test_a_character_that_the_encoding_lacks() -> None:
    source = source_text(b"# coding: latin-1\na = 1\n", "a.py")
    bad, good = finding((2, 5, 2, 6, "'€'")), finding((2, 1, 2, 2, "é"))
    made = mend(source, [bad, good])
    assert made is not None and made.source.lines[1] == "é = 1" and made.applied == (good,)
