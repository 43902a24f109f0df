"""The catalogue of rules: every module in a `rules/` folder here, and those of other packages."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from .rule import Evidence, Rule
from .third_party import third_party_rules

FOLDERS: tuple[Evidence, ...] = (
    "contract",
    "source",
    "trace",
    "program",
    "run",
    "semantics",
    "lock",
    "verdict",
    "dump",
    "batch",
    "data",
    "checkpoint",
    "record",
    "resume",
)


@cache
def builtin_rules(evidence: Evidence) -> tuple[Rule, ...]:
    """The rules of one folder, ordered by code."""
    package = import_module(f".{evidence}.rules", __package__)
    modules = (import_module(f".{info.name}", package.__name__) for info in pkgutil.iter_modules(package.__path__))
    return tuple(sorted((module.RULE for module in modules), key=lambda rule: rule.code))


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
