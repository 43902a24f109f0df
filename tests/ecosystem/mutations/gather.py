"""Every place where a fault can be written into the packages, and a choice among them that one seed decides."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from .mutant import Mutant
from .operator import OPERATORS, Site
from .operators import checkpoints, jit, keys, numerics, programs, traced_code
from .source import Source

__all__ = ["checkpoints", "choose", "jit", "keys", "mutants", "numerics", "programs", "traced_code"]
TEST_FOLDERS = {"tests", "test", "testing", "_tests", "benchmarks"}


def mutants(package: str, folder: Path) -> Iterator[Mutant]:
    """All mutants of one package's files, those of its tests aside, in the order of files and operators."""
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        if TEST_FOLDERS & set(parts) or "test" in parts[-1]:
            continue
        if b"jax" not in path.read_bytes():
            continue
        source = Source.read(package, folder, path)
        if source is None or not source.tree.body:
            continue
        site = Site(source)
        for each in OPERATORS:
            for edits in each.find(site):
                yield Mutant(package, source.path, each.rule, each.name, tuple(edits))


def choose(found: Iterable[Mutant], each_rule: int, seed: int) -> list[Mutant]:
    """At most `each_rule` mutants for each rule: its operators take turns, and packages come round before they repeat.

    A file takes one mutant until every other file of the operator has one too.
    """
    by_rule: dict[str, dict[str, list[Mutant]]] = defaultdict(lambda: defaultdict(list))
    for mutant in found:
        by_rule[mutant.rule][mutant.operator].append(mutant)
    taken: dict[tuple[str, str], int] = defaultdict(int)
    chosen: list[Mutant] = []
    for rule in sorted(by_rule, key=lambda rule: (sum(map(len, by_rule[rule].values())), rule)):
        per_package: dict[str, int] = defaultdict(int)
        pools = {name: list(pool) for name, pool in sorted(by_rule[rule].items())}
        for name, pool in pools.items():
            random.Random(f"{seed}:{rule}:{name}").shuffle(pool)
        count = 0
        while count < each_rule and any(pools.values()):
            for pool in [pool for pool in pools.values() if pool]:
                best = min(pool, key=lambda mutant: (taken[mutant.place], per_package[mutant.package]))
                pool.remove(best)
                if count < each_rule:
                    chosen.append(best)
                    taken[best.place] += 1
                    per_package[best.package] += 1
                    count += 1
    return chosen
