"""Notebooks: cells as one text, places as places in cells, fixes inside of cells."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from contract_lint.contracts.finding import Edit, Location
from contract_lint.linters.source.analyse import check_sources
from contract_lint.linters.source.notebook import edited, read_notebook
from contract_lint.linters.source.text import Unreadable
from hypothesis import given
from hypothesis import strategies as st


def notebook(*cells: str | list[str], **metadata: Any) -> bytes:
    """A notebook as Jupyter writes it, with a cell of text before each cell of code."""
    listed: list[dict[str, Any]] = []
    for cell in cells:
        listed.append({"cell_type": "markdown", "metadata": {}, "source": ["é text\n", "%x"]})
        source = cell if isinstance(cell, list) else cell.splitlines(keepends=True)
        listed.append({"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": source})
    tree = {"cells": listed, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(tree, indent=1, ensure_ascii=False) + "\n").encode()


def text_of(data: bytes) -> str:
    source, found = read_notebook(data, "n.ipynb")
    assert source is not None and found == []
    return source.text


def test_cells_follow_each_other_and_lines_know_their_cell() -> None:
    source, found = read_notebook(notebook("import jax\nx = 1", "y = 2\n", "", "z = 3"), "n.ipynb")
    assert source is not None and source.notebook is not None and found == []
    assert source.text == "import jax\nx = 1\ny = 2\n\n\nz = 3\n"
    located = [source.notebook.locate(Location("n.ipynb", line, 1)) for line in (1, 2, 3, 6)]
    assert [(place.cell, place.line) for place in located] == [(2, 1), (2, 2), (4, 1), (8, 1)]
    assert str(located[2]) == "n.ipynb:cell 4:1:1"
    spanning = source.notebook.locate(Location("n.ipynb", 2, 1, 3, 2))
    assert (spanning.end_line, spanning.end_column) == (None, None)


def test_a_message_names_lines_of_their_cell() -> None:
    source, _ = read_notebook(
        notebook("import jax\nkey = jax.random.key(0)", "a = jax.random.normal(key)", "b = jax.random.normal(key)"),
        "n.ipynb",
    )
    assert source is not None
    (finding,) = [each for each in check_sources([source]) if each.name == "key-reuse"]
    assert "jax.random.normal on line 1 of cell 4" in finding.message


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("!pip install jax\nx = 1", "pass\nx = 1"),
        ("if x:\n    %time f()\n", "if x:\n    pass\n"),
        ("files = !ls\nx = 1", "files = None\nx = 1"),
        ("t = %timeit -o f()", "t = None"),
        ("jax.jit?", "pass"),
        ("?jax.jit", "pass"),
        ("%%bash\nls -l\n", "\n\n"),
        ("%%time\nx = f()", "\nx = f()"),
        ("x = (a\n% b)", "x = (a\n% b)"),
        ("x = '''\n%not magic\n'''", "x = '''\n%not magic\n'''"),
        ("await f()", "await f()"),
        ("!pip install \\\n  jax\nx = 1", "pass\n\nx = 1"),
        ("%env A=b \\\n  c", "pass\n"),
        ("!cd a && \\\n  ls && \\\n  pwd\nx = 2", "pass\n\n\nx = 2"),
        ("y = !ls \\\n  -l", "y = None\n"),
        ("x: int = !ls", "x: int = None"),
        ("  x = 1\n  y = 2", "x = 1\ny = 2"),
        ("    %time x\n", "pass\n"),
        ("x = 1 # what?\n!ls", "x = 1 # what?\npass"),
        ("d = {\n 'a': 1, # ok?\n}\n!ls", "d = {\n 'a': 1, # ok?\n}\npass"),
        ("x = 3 if True else \\\n  4\n!ls", "x = 3 if True else \\\n  4\npass"),
    ],
)
def test_what_only_ipython_understands_is_blanked(cell: str, shown: str) -> None:
    text = text_of(notebook(cell))
    assert text == shown + "\n"
    ast.parse(text)


def test_a_cell_that_is_no_python_is_a_finding_and_the_others_are_checked() -> None:
    source, found = read_notebook(notebook("x = 1", "y = = 2\n", "z = 3"), "n.ipynb")
    assert source is not None and source.text == "x = 1\n\n\nz = 3\n"
    assert [(str(f.location), f.name) for f in found] == [("n.ipynb:cell 4:1:5", "unparseable-file")]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "Expecting value"),
        (b"{", "is no notebook"),
        (b"[]", "it has no list of cells"),
        (b'{"cells": 3}', "it has no list of cells"),
        (b'{"cells": [{"cell_type": "code", "source": 3}]}', "the source of cell 1 is no text"),
        (b"\xff\xfe{}", "is not UTF-8"),
        (b"[" * 100_000, "is no notebook"),
        (b'{"cells": ' + b"1" * 10_000 + b"}", "is no notebook"),
    ],
)
def test_what_is_no_notebook(data: bytes, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        read_notebook(data, "n.ipynb")


def test_cells_of_other_languages_and_older_formats() -> None:
    assert read_notebook(notebook("x <- 1", language_info={"name": "R"}), "n.ipynb") == (None, [])
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1\n", "y = 2"]}]}], "nbformat": 3}
    assert text_of(json.dumps(old).encode()) == "x = 1\ny = 2\n"
    assert text_of(b'{"cells": [7, {"cell_type": "code", "source": ["x = 1"]}]}') == "x = 1\n"


def edit(line: int, column: int, end_line: int, end_column: int, text: str) -> Edit:
    return Edit(Location("n.ipynb", line, column, end_line, end_column), text)


def test_an_edit_changes_its_cell_and_nothing_else() -> None:
    data = notebook("%matplotlib inline\nx = 1", "y = 2\n")
    source, _ = read_notebook(data, "n.ipynb")
    assert source is not None and source.notebook is not None
    made = edited(source.notebook, [edit(2, 1, 2, 2, "é"), edit(3, 5, 3, 6, "3\n")])
    assert made.encode() == notebook("%matplotlib inline\né = 1", "y = 3\n\n")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (edit(1, 1, 1, 5, ""), "only IPython understands"),
        (edit(2, 1, 3, 2, ""), "from one cell into another"),
    ],
)
def test_what_cannot_be_edited(change: Edit, said: str) -> None:
    source, _ = read_notebook(notebook("%matplotlib inline\nx = 1", "y = 2"), "n.ipynb")
    assert source is not None and source.notebook is not None
    with pytest.raises(Unreadable, match=said):
        edited(source.notebook, [change])


def test_a_file_that_jupyter_would_write_otherwise_is_left_alone() -> None:
    data = notebook("x = 1").replace(b'"nbformat": 4', b'"nbformat" :4')
    source, _ = read_notebook(data, "n.ipynb")
    assert source is not None and source.notebook is not None
    with pytest.raises(Unreadable, match="not written as Jupyter writes it"):
        edited(source.notebook, [edit(1, 1, 1, 2, "y")])


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=40), max_size=5))
def test_any_cells_give_a_text_that_parses_line_for_line(cells: list[str]) -> None:
    source, _ = read_notebook(notebook(*([cell] for cell in cells)), "n.ipynb")
    assert source is not None and source.notebook is not None
    for cell in source.notebook.cells:
        rows = source.lines[cell.first_line - 1 : cell.first_line - 1 + len(cell.source.split("\n"))]
        ast.parse("\n".join(rows))


def test_a_notebook_of_many_cells_is_read_at_once() -> None:
    source, _ = read_notebook(notebook(*["x = 1\n" * 20] * 2_000), "n.ipynb")
    assert source is not None and len(source.lines) == 2_000 * 21 + 1
