"""Jupyter notebooks as one text: code cells one after another, with what only IPython understands blanked.

Lines keep their count and columns, so a place in the text is a place in a cell.
"""

from __future__ import annotations

import ast
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...contracts.finding import Edit, Finding, Location
from ...contracts.problems import UNPARSEABLE
from .pattern import Pattern
from .text import SourceText, Unreadable, digest_of, plain_source

_CELL_MAGIC = Pattern(r"\s*%%(\w*)")
_PYTHON_CELLS = frozenset({"time", "timeit", "capture", "prun", "debug"})
"""Cell magics whose cell is Python all the same."""
# The last: a request for help, which no comment is.
_MAGIC = Pattern(r"(\s*)(?:[%!/,;]|\?|[^#\s][^#]*\?\s*$)")
_ASSIGNED = Pattern(r"(\s*[\w.,:\s\[\]'\"]+?=\s*)[!%]\S")


class Unwritable(Unreadable):
    """Nothing in the notebook can be changed without changing more."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One code cell: its number among all cells, its first line in the text, and its source as the notebook has it."""

    number: int
    first_line: int
    source: str


@dataclass(frozen=True, slots=True)
class Notebook:
    """The code cells of a notebook, in order. `raw` is the file's JSON text."""

    cells: tuple[Cell, ...]
    blanked: frozenset[int]
    raw: str

    @property
    def lines(self) -> list[str]:
        """The lines of the cells as the notebook has them, magics among them; as many as the text has."""
        return [line for cell in self.cells for line in cell.source.split("\n")]

    def cell_at(self, line: int) -> Cell | None:
        """The cell that a line of the text belongs to."""
        index = bisect_right([cell.first_line for cell in self.cells], line) - 1
        return self.cells[index] if index >= 0 else None

    def locate(self, place: Location) -> Location:
        """A place in the text as one within its cell; an end in another cell is left out."""
        cell = None if place.line is None else self.cell_at(place.line)
        if place.line is None or cell is None:
            return place
        before = cell.first_line - 1
        end = place.end_line
        same = end is not None and self.cell_at(end) == cell
        return Location(
            place.path,
            place.line - before,
            place.column,
            end - before if same and end is not None else None,
            place.end_column if same else None,
            cell.number,
        )


def read_notebook(data: bytes, path: str, file: str = "") -> tuple[SourceText | None, list[Finding]]:
    """The text of a notebook's Python cells (None where its kernel is another language's), and cells that do not parse.

    Raises Unreadable for bytes that are no notebook.
    """
    try:
        raw = data.decode("utf-8-sig")
        tree = json.loads(raw)
    except UnicodeDecodeError as error:
        raise Unreadable(f"byte 0x{data[error.start]:02x} is not UTF-8, which notebooks are") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"is no notebook: {error.msg}", error.lineno, error.colno) from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is no notebook: {error}") from None
    cells = _cells(tree)
    if not _is_python(tree):
        return None, []
    line, kept, lines, blanked = 1, [], [], set()
    findings: list[Finding] = []
    for number, source in cells:
        shown, problem = _as_python(source)
        if problem is not None:
            place = Location(path, problem.line, problem.column, cell=number)
            findings.append(UNPARSEABLE.at(place, problem.reason, subject=f"cell {number}: {problem.reason}"))
        rows = source.split("\n")
        blanked |= {line + at for at, (one, other) in enumerate(zip(rows, shown, strict=True)) if one != other}
        kept.append(Cell(number, line, source))
        lines += shown
        line += len(shown)
    notebook = Notebook(tuple(kept), frozenset(blanked), raw)
    return SourceText(path, "\n".join(lines) + "\n", digest_of(data), file, notebook=notebook), findings


def as_cells(finding: Finding, notebook: Notebook) -> Finding:
    """The finding with every place in it counted within its cell."""
    place, fix = finding.location, finding.fix
    if fix is not None:
        fix = replace(fix, edits=tuple(replace(each, location=notebook.locate(each.location)) for each in fix.edits))
    return finding if place is None else replace(finding, location=notebook.locate(place), fix=fix)


def edited(notebook: Notebook, edits: Iterable[Edit]) -> str:
    """The notebook's JSON with edits, whose places count in the joined text, made in its cells.

    Raises Unreadable where an edit spans cells or touches what only IPython understands, and Unwritable where the file
    is not written as Jupyter writes notebooks: then more than the cells would change.
    """
    tree = json.loads(notebook.raw)
    written = _writer(tree, notebook.raw)
    by_cell: dict[int, list[Edit]] = {}
    for edit in edits:
        place = edit.location
        first = place.line or 0
        last = place.end_line or first
        # An edit may end before the first character of the line after the last one that it changes.
        touched = range(first, last if last > first and place.end_column == 1 else last + 1)
        cell = notebook.cell_at(first)
        if cell is None or any(notebook.cell_at(line) != cell for line in touched):
            raise Unreadable("a fix would reach from one cell into another")
        if notebook.blanked.intersection(touched):
            raise Unreadable("a fix would change what only IPython understands")
        by_cell.setdefault(cell.number, []).append(edit)
    sources = cell_sources(tree)
    for cell in notebook.cells:
        if cell.number in by_cell:
            lines = _edited(cell, by_cell[cell.number])
            holder = sources[cell.number - 1]
            key = "source" if "source" in holder else "input"
            holder[key] = lines if isinstance(holder[key], list) else "".join(lines)
    return written(tree)


def _edited(cell: Cell, edits: list[Edit]) -> list[str]:
    """The lines of a cell, with their ends, after the edits."""
    text = plain_source("", cell.source)
    result = cell.source
    spans = set()
    for edit in edits:
        place = edit.location
        before = cell.first_line - 1
        start = text.offset((place.line or 1) - before, place.column or 1)
        end = text.offset((place.end_line or place.line or 1) - before, place.end_column or place.column or 1)
        end = len(cell.source) if end is None else end  # the line after the cell's last
        if start is None or end < start:
            raise Unreadable("a fix is about a place that is not there")
        spans.add((start, end, edit.text))
    for start, end, new in sorted(spans, reverse=True):
        result = result[:start] + new.replace("\r\n", "\n") + result[end:]
    return re.findall(r"[^\n]*\n|[^\n]+", result)


def _writer(tree: Any, raw: str) -> Callable[[Any], str]:
    """How the file was written. Raises Unwritable where no known way gives the same text."""
    end = raw[len(raw.rstrip()) :]
    found = re.search(r"\n([ \t]+)", raw)
    indent = found[1] if found else None
    for plain in (False, True):

        def write(data: Any, plain: bool = plain) -> str:
            return json.dumps(data, indent=indent, ensure_ascii=plain) + end

        if write(tree) == raw:
            return write
    raise Unwritable("its JSON is not written as Jupyter writes it, so more than the cells would change")


def cell_sources(tree: Any) -> list[dict[str, Any]]:
    """The cells of a notebook of format 4, or of the worksheets of format 3. Raises Unreadable where there are none."""
    if isinstance(tree, dict):
        sheets = tree.get("worksheets")
        holders = sheets if isinstance(sheets, list) else [tree]
        cells = [cell for sheet in holders if isinstance(sheet, dict) for cell in _listed(sheet.get("cells"))]
        if cells or any(isinstance(sheet, dict) and isinstance(sheet.get("cells"), list) for sheet in holders):
            return [cell if isinstance(cell, dict) else {} for cell in cells]
    raise Unreadable("is no notebook: it has no list of cells")


def _cells(tree: Any) -> list[tuple[int, str]]:
    """Number and source of each code cell; line ends are `\\n`."""
    found = []
    for number, cell in enumerate(cell_sources(tree), start=1):
        if cell.get("cell_type") != "code":
            continue
        source = cell.get("source", cell.get("input", ""))
        if isinstance(source, list) and all(isinstance(line, str) for line in source):
            source = "".join(source)
        if not isinstance(source, str):
            raise Unreadable(f"is no notebook: the source of cell {number} is no text")
        found.append((number, source.replace("\r\n", "\n").replace("\r", "\n")))
    return found


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _is_python(tree: Any) -> bool:
    about = tree.get("metadata") if isinstance(tree, dict) else None
    about = about if isinstance(about, dict) else {}
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        said = about.get(key)
        if isinstance(said, dict) and isinstance(said.get(name), str):
            return said[name].lower() in ("python", "ipython")
    return True


def _as_python(source: str) -> tuple[list[str], Unreadable | None]:
    """The lines of a cell as Python, and what is wrong with it: then every line is blank."""
    lines = source.split("\n")
    found = _CELL_MAGIC.match(source)
    if found is not None:
        if found[1] not in _PYTHON_CELLS:
            return _blank(lines), None
        first = source[: found.end()].count("\n")
        lines = _blank(lines[: first + 1]) + lines[first + 1 :]
    if _problem(lines) is None:
        return lines, None
    # A line may begin with `%` inside of an expression too; only a cell that is no Python has magics.
    lines = list(_without_magics(_outdented(lines)))
    problem = _problem(lines)
    return (lines, None) if problem is None else (_blank(lines), problem)


def _outdented(lines: list[str]) -> list[str]:
    """The lines of a cell that is indented as a whole, at the margin: IPython runs it so."""
    first = next((line for line in lines if line.strip()), "")
    margin = first[: len(first) - len(first.lstrip())]
    return [line.removeprefix(margin) for line in lines] if margin else lines


def _without_magics(lines: Iterable[str]) -> Iterator[str]:
    """The lines with each magic, shell command and request for help replaced, and what goes on from it blank."""
    goes_on = False
    for line in lines:
        magic, assigned = _MAGIC.match(line), _ASSIGNED.match(line)
        if goes_on:
            yield ""
        elif magic is not None:
            yield magic[1] + "pass"
        elif assigned is not None:
            yield assigned[1] + "None"
        else:
            yield line
            continue
        goes_on = line.rstrip().endswith("\\")


def _problem(lines: list[str]) -> Unreadable | None:
    text = "\n".join(lines)
    if "\0" in text:
        return Unreadable("the cell holds a null byte")
    try:
        ast.parse(text)
    except SyntaxError as error:
        return Unreadable(f"is not valid Python: {error.msg}", error.lineno, error.offset or None)
    except (RecursionError, MemoryError):
        return Unreadable("is nested too deeply to be parsed")
    except ValueError as error:
        return Unreadable(f"is not valid Python: {error}")
    return None


def _blank(lines: list[str]) -> list[str]:
    return ["" for _ in lines]
