"""From texts to findings: every file is interpreted once for its summary, the program linked, then each file judged.

summarise(source)          -> FileSummary      what others need of a file: JSON, cached by content
link(summaries)            -> Program          which functions are traced, what names mean across files
analyse_file(source, prog) -> FileFacts        a file's own records, linked
outside_facts(prog, path)  -> tuple            all that a file's findings depend on beyond its own text
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath

from ...contracts.finding import Finding, Location, sort_key, tell_apart
from ...contracts.problems import UNPARSEABLE
from ..registry import rules
from .facts import FileFacts
from .options import SourceOptions
from .parse import Unparsed, parse
from .program import Program, link
from .records import Module
from .rule import SourceRule
from .summary import FileSummary
from .summary import summarise as summary_of
from .text import SourceText
from .values.interpreter import deep_recursion, interpret

HELD = 120
"""Files whose trees stay in memory between the two phases: those of a usual repository are parsed once."""


@contextmanager
def no_collection() -> Iterator[None]:
    """Trees and values form no garbage until a file is done; the collector would only walk them again and again."""
    was = gc.isenabled()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        # What is left is out of the collector's sight as well: it would go through all of it at once now.
        gc.freeze()
        if was:
            gc.enable()


def module_name(source: SourceText, packages: frozenset[str] = frozenset()) -> tuple[str, bool]:
    """The name that a file is imported by, and whether it is a package's `__init__`.

    Folders that hold an `__init__.py` (on disk, or among `packages`, the folders of the files at hand) belong to it.
    """
    path = PurePosixPath(source.path)
    parts = [path.stem] if path.stem != "__init__" else []
    folder = path.parent
    real = os.path.dirname(source.file) if source.file else ""
    while folder.name and (
        folder.as_posix() in packages or (real and os.path.exists(os.path.join(real, "__init__.py")))
    ):
        parts.insert(0, folder.name)
        folder = folder.parent
        real = os.path.dirname(real) if real else ""
    if not parts or (len(parts) == 1 and not real):
        parts = [
            each for each in (*path.parent.parts, *([path.stem] if path.stem != "__init__" else [])) if each != "/"
        ]
    return ".".join(parts) or "__init__", path.stem == "__init__"


def modules_of(source: SourceText, name: str, package: bool = False) -> Module | Unparsed:
    """The interpreted file."""
    tree = parse(source)
    if isinstance(tree, Unparsed):
        return tree
    return interpret(Module(name, source, tree, is_package=package))


def summarise(source: SourceText, packages: frozenset[str] = frozenset()) -> FileSummary | Unparsed:
    """The summary of one file."""
    module = modules_of(source, *module_name(source, packages))
    return module if isinstance(module, Unparsed) else summary_of(module)


def analyse_file(source: SourceText, program: Program, module: Module | None = None) -> FileFacts | Unparsed:
    """The facts of one file of a linked program."""
    if module is None:
        known = next((each for each in program.files.values() if each.path == source.path), None)
        name, package = (known.module, known.data["package"]) if known else module_name(source)
        made = modules_of(source, name, package)
        if isinstance(made, Unparsed):
            return made
        module = made
    return FileFacts(module, program)


def check_file(facts: FileFacts, selected: Sequence[SourceRule]) -> list[Finding]:
    """The findings of the rules on one file."""
    found: list[Finding] = []
    for rule in selected:
        if rule.skips_tests and facts.is_test:
            continue
        try:
            found += rule.check(facts)
        except RecursionError:
            message = f"{rule.name} could not follow this file: its values are nested too deep"
            found.append(UNPARSEABLE.at(Location(facts.path, 1), message, subject=f"too deep for {rule.code}"))
    for line in facts.module.too_deep:
        message = "this function nests too deep to be followed"
        found.append(UNPARSEABLE.at(Location(facts.path, line), message, subject=message))
    return found


def source_rules() -> tuple[SourceRule, ...]:
    """All rules about source."""
    return tuple(rule for rule in rules("source") if isinstance(rule, SourceRule))


def check_sources(
    sources: Iterable[SourceText],
    options: SourceOptions | None = None,
    selected: Sequence[SourceRule] | None = None,
) -> list[Finding]:
    """The findings of the rules on these files, understood as one program, ordered as reports are."""
    files = list(sources)
    chosen = source_rules() if selected is None else selected
    packages = frozenset(
        str(PurePosixPath(each.path).parent) for each in files if PurePosixPath(each.path).name == "__init__.py"
    )
    found: list[Finding] = []
    summaries: list[FileSummary] = []
    held: dict[int, Module] = {}
    names: dict[int, str] = {}
    taken: set[str] = set()
    with no_collection(), deep_recursion():
        for at, source in enumerate(files):
            name, package = module_name(source, packages)
            while name in taken:
                name = (
                    f"{source.path.removesuffix('.py').replace('/', '.')}" if name not in names.values() else f"{name}_"
                )
            module = modules_of(source, name, package)
            if isinstance(module, Unparsed):
                found.append(unparsed(source, module))
                continue
            taken.add(name)
            names[at] = name
            summaries.append(summary_of(module))
            if len(held) < HELD:
                held[at] = module
            else:
                module.dismantle()
        program = link(summaries, options)
        for at, source in enumerate(files):
            if at not in names:
                continue
            module = held.pop(at, None)
            if module is None:
                made = modules_of(source, names[at], PurePosixPath(source.path).name == "__init__.py")
                if isinstance(made, Unparsed):
                    continue
                module = made
            found += check_file(FileFacts(module, program), chosen)
            program.forget()
            module.dismantle()
        program.dismantle()
    return sorted(tell_apart(found), key=sort_key)


def unparsed(source: SourceText, problem: Unparsed) -> Finding:
    """The finding that a file is no Python that can be read here."""
    needs = f"; this is the grammar of Python {problem.needs}: run contract-lint on it" if problem.needs else ""
    place = Location(source.path, problem.line, problem.column)
    return UNPARSEABLE.at(place, problem.reason + needs, subject=problem.reason)


def why(program: Program, path: str, line: int) -> list[str]:
    """Why the innermost function at a line is traced: its chain, or that it is not."""
    inside = [
        (data["l"], id)
        for id, (data, file) in program.function_data.items()
        if file.path == path and data["l"] <= line <= data.get("e", line) and data["n"] != "<module>"
    ]
    if not inside:
        return [f"{path}:{line} is not in a function"]
    id = max(inside)[1]
    name = program.function_data[id][0]["n"]
    traced = program.traced_functions.get(id)
    if traced is None:
        return [f"{name} is not traced by anything known here"]
    states = [f"{parameter}: {state}" for parameter, state in traced.parameters.items()]
    return [f"{traced} ({name})", *(["parameters: " + ", ".join(states)] if states else [])]
