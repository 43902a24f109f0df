"""The catalogue of rules: every module in a `rules/` folder here, and those of the entry point group.

A third-party package adds rules with

    [project.entry-points."contract_lint.rules"]
    my_rules = "my_package.rules:RULES"

where RULES is a list of `contract_lint.linters.rule.Rule`.
"""

from __future__ import annotations

import os
import pkgutil
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module

from ..contracts.errors import ContractLintError
from .rule import Evidence, Rule

FOLDERS: tuple[Evidence, ...] = ("contract", "source", "trace", "program", "run", "verdict", "dump", "batch", "data")
ENTRY_POINT_GROUP = "contract_lint.rules"


@cache
def builtin_rules(evidence: Evidence) -> tuple[Rule, ...]:
    """The rules of one folder, ordered by code."""
    package = import_module(f".{evidence}.rules", __package__)
    modules = (import_module(f".{info.name}", package.__name__) for info in pkgutil.iter_modules(package.__path__))
    return tuple(sorted((module.RULE for module in modules), key=lambda rule: rule.code))


@cache
def third_party_rules() -> tuple[Rule, ...]:
    """Rules that other packages register.

    Raises ContractLintError, with the name of the entry point, where one does not load or is not a list of rules.
    """
    if not _registered():
        return ()
    from importlib.metadata import entry_points

    found: list[Rule] = []
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            rules = point.load()
        except Exception as error:
            raise ContractLintError(
                f"entry point {point.name!r} of {ENTRY_POINT_GROUP} does not load: {type(error).__name__}: {error}",
                help="reinstall or remove the package that provides it",
            ) from error
        if not isinstance(rules, (list, tuple)) or not all(isinstance(rule, Rule) for rule in rules):
            raise ContractLintError(
                f"entry point {point.name!r} of {ENTRY_POINT_GROUP} is not a list of Rule, found {type(rules).__name__}"
            )
        found.extend(rules)
    return tuple(found)


def _registered() -> bool:
    """Whether any installed package names our group: looking is far cheaper than loading what reads entry points."""
    for folder in sys.path:
        with suppress(OSError), os.scandir(folder or ".") as entries:
            for entry in entries:
                if entry.name.endswith(("-info", ".egg", ".whl", ".zip")) and _names_group(entry.path):
                    return True
    return False


def _names_group(path: str) -> bool:
    if os.path.isfile(path):
        return path.endswith((".egg", ".whl", ".zip"))
    for name in ("entry_points.txt", "EGG-INFO/entry_points.txt"):
        with suppress(OSError), open(os.path.join(path, name), "rb") as file:
            if ENTRY_POINT_GROUP.encode() in file.read():
                return True
    return False


@cache
def rules(evidence: Evidence | None = None) -> tuple[Rule, ...]:
    """All rules, or those of one kind of evidence, ordered by code."""
    folders = FOLDERS if evidence is None else (evidence,)
    found = [rule for folder in folders for rule in builtin_rules(folder)]
    found += [rule for rule in third_party_rules() if evidence in (None, rule.evidence)]
    return tuple(sorted(found, key=lambda rule: rule.code))


def find_rule(code_or_name: str) -> Rule | None:
    """The rule with this code (any case) or kebab-case name."""
    wanted = code_or_name.strip()
    return next((rule for rule in rules() if rule.code == wanted.upper() or rule.name == wanted.lower()), None)
