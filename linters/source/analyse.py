"""From texts to findings: every file is interpreted once for its summary, the program linked, then each file judged.

summarise(source)          -> FileSummary      what others need of a file: JSON, cached by content
program.link(summaries)    -> Program          which functions are traced, what names mean across files
analyse_file(source, prog) -> FileFacts        a file's own records, linked
check_file(facts, rules)   -> [Finding]        what the rules say of it

`run` does this for a whole project, with a cache and in processes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from ...contracts.finding import Finding, Location, sort_key, tell_apart
from ...contracts.problems import UNPARSEABLE
from ..registry import rules
from .facts import FileFacts
from .modules import module_name
from .options import SourceOptions
from .parse import Unparsed, parse
from .program import Program
from .records import Module
from .rule import SourceRule
from .summary import FileSummary
from .summary import summarise as summary_of
from .text import SourceText
from .values.interpreter import interpret


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
    """The findings of the rules on these files, understood as one program, ordered as reports are; nothing is kept.

    A bug of ours raises, where `check` makes it a finding on the file.
    """
    from .run import Run, analysed

    found = analysed(list(sources), (), Run(options or SourceOptions(), rules=selected, raises=True))
    return sorted(tell_apart(found), key=sort_key)


def unparsed(source: SourceText, problem: Unparsed) -> Finding:
    """The finding that a file is no Python that can be read here."""
    needs = f"; this is the grammar of Python {problem.needs}: run contract-lint on it" if problem.needs else ""
    place = Location(source.path, problem.line, problem.column)
    return UNPARSEABLE.at(place, problem.reason + needs, subject=problem.reason)
