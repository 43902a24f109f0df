"""The default of a build function's argument, read off its source: nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ...contracts.load import LoadedContract
from .view import View

UNKNOWN: Final = object()
"""The function is not found, or what its default is cannot be told without running it."""
_PACKAGE = Path(__file__).parents[2]
"""This package: the reference trainer lies in it, whatever its folder is called."""
_OWN = __name__.partition(".")[0]


def build_default(loaded: LoadedContract, step: str, argument: str) -> Any:
    """What a step's `entry` takes for an argument that nobody gives; None as a default says nothing."""
    module, _, function = (View(loaded).text("step", step, "entry") or "").partition(":")
    for file in _files(loaded, step, module.split(".")) if function else ():
        if file.is_file():
            try:
                return _default(ast.parse(file.read_bytes()), function, argument)
            except (OSError, ValueError, SyntaxError, RecursionError):
                return UNKNOWN
    return UNKNOWN


def _files(loaded: LoadedContract, step: str, parts: list[str]) -> Iterator[Path]:
    """Where the module may lie, in the order in which it is searched."""
    key = ("step", step, "path")
    named = [folder for _, folder in View(loaded).items(*key) if isinstance(folder, str)]
    if parts[0] == _OWN:
        folders, parts = [_PACKAGE], parts[1:]
    elif named:
        folders = [loaded.document.folder(key) / folder for folder in named]
    else:
        folders = [loaded.document.source.path.parent, Path.cwd()]
    for folder in folders:
        file = folder.joinpath(*parts)
        yield file.with_name(f"{file.name}.py")
        yield file / "__init__.py"


def _default(tree: ast.Module, function: str, argument: str) -> Any:
    found = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == function]
    if len(found) != 1 or found[0].decorator_list:  # a decorator may give another function
        return UNKNOWN
    given = found[0].args
    positional = [*given.posonlyargs, *given.args]
    behind = zip(positional[len(positional) - len(given.defaults) :], given.defaults, strict=True)
    defaults = {each.arg: value for each, value in (*behind, *zip(given.kwonlyargs, given.kw_defaults, strict=True))}
    value = defaults.get(argument)
    if not isinstance(value, ast.Constant | ast.UnaryOp):
        return UNKNOWN
    plain = ast.literal_eval(value)
    return UNKNOWN if plain is None else plain
