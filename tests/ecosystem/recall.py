"""Writes faults of the catalogue's kinds into the pinned packages and counts how many the linter finds.

    python tests/ecosystem/recall.py [--seed N] [--each N] [--missed] [--write] [RULE...]

A mutant is found if the expected rule speaks on the lines of the fault and did not before. Mutants of different files
are checked in one copy of their package, so every one is seen within its whole program. `--write` renews recall.md.
Exits with 1 where fewer than 80 % of all, or fewer than half of one rule's, are found.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fetch import Package, fetched
from lint import findings
from mutations.gather import choose, mutants
from mutations.mutant import Mutant, Written, write

TABLE = Path(__file__).with_name("recall.md")
FLOOR = 0.80
FLOOR_OF_A_RULE = 0.50
EACH_RULE = 12
OPTIONS = ("--preview",)


@dataclass(frozen=True, slots=True)
class Trial:
    """One mutant, the file as written, and what became of it."""

    mutant: Mutant
    written: Written
    found: bool = False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=EACH_RULE, help="mutants of each rule")
    parser.add_argument("--jobs", type=int, default=2, help="packages at a time")
    parser.add_argument("--missed", action="store_true", help="print every mutant that was not found")
    parser.add_argument("--write", action="store_true", help="renew recall.md")
    parser.add_argument("rules", nargs="*", metavar="RULE")
    chosen = parser.parse_args()
    there = {package.name: package for package in fetched()}
    trials = [
        trial
        for trial in planned(there, chosen.each, chosen.seed)
        if not chosen.rules or trial.mutant.rule in chosen.rules
    ]
    done = tried(trials, there, chosen.jobs)
    print(text := table(done))
    if chosen.write:
        TABLE.write_text(text)
    for trial in done if chosen.missed else ():
        if not trial.found:
            print(said(trial))
    return 0 if held(done) else 1


def planned(there: dict[str, Package], each_rule: int, seed: int) -> list[Trial]:
    """The mutants that this seed chooses, each written and parsed."""
    found = (mutant for package in there.values() for mutant in mutants(package.name, package.folder))
    trials = []
    for mutant in choose(found, each_rule, seed):
        written = write(mutant, (there[mutant.package].folder / mutant.path).read_bytes())
        if written is None:
            raise ValueError(f"{mutant.operator} does not leave {mutant.package}/{mutant.path} parseable")
        trials.append(Trial(mutant, written))
    return trials


def tried(trials: Iterable[Trial], there: dict[str, Package], jobs: int) -> list[Trial]:
    """Every trial with its outcome. A copy of a package holds at most one mutant a file at a time."""
    rounds: dict[str, list[list[Trial]]] = defaultdict(list)
    number: dict[tuple[str, str], int] = defaultdict(int)
    for trial in trials:
        package, place = trial.mutant.package, trial.mutant.place
        if number[place] == len(rounds[package]):
            rounds[package].append([])
        rounds[package][number[place]].append(trial)
        number[place] += 1
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = pool.map(lambda name: outcome(there[name], rounds[name]), sorted(rounds))
        return [trial for trials in outcomes for trial in trials]


def outcome(package: Package, rounds: list[list[Trial]]) -> list[Trial]:
    """The trials on one package, round by round in one copy of it: what does not change is not analysed again."""
    done = []
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / package.folder.name
        shutil.copytree(package.folder, copy, ignore=shutil.ignore_patterns(".contract-lint", "__pycache__"))
        before = {row.key for row in findings(copy, package.name, OPTIONS, cache=True)}
        for trials in rounds:
            for trial in trials:
                (copy / trial.mutant.path).write_bytes(trial.written.data)
            found = findings(copy, package.name, OPTIONS, cache=True)
            said = {(row.path, row.code, row.line) for row in found if row.key not in before}
            for trial in trials:
                shutil.copyfile(package.folder / trial.mutant.path, copy / trial.mutant.path)
                places = ((trial.mutant.path, trial.mutant.rule, line) for line in trial.written.lines)
                done.append(Trial(trial.mutant, trial.written, any(place in said for place in places)))
    return done


def table(done: list[Trial]) -> str:
    """The outcome by rule and operator, as Markdown."""
    outcomes: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for trial in done:
        outcomes[trial.mutant.rule, trial.mutant.operator].append(trial.found)
        outcomes[trial.mutant.rule, ""].append(trial.found)
    lines = [
        "# Faults written into released packages, and how many are found",
        "",
        f"{sum(trial.found for trial in done)} of {len(done)} mutants are found.",
        "Made by `python tests/ecosystem/recall.py --write`.",
        "",
        "| rule | fault | mutants | found | share |",
        "| --- | --- | --- | --- | --- |",
    ]
    for (rule, operator), given in sorted(outcomes.items()):
        name = operator.replace("-", " ") or "**all**"
        lines.append(f"| {rule} | {name} | {len(given)} | {sum(given)} | {sum(given) / len(given):.0%} |")
    return "\n".join(lines) + "\n"


def held(done: list[Trial]) -> bool:
    """Whether both floors are held; prints what is below."""
    by_rule: dict[str, list[bool]] = defaultdict(list)
    for trial in done:
        by_rule[trial.mutant.rule].append(trial.found)
    low = [rule for rule, given in sorted(by_rule.items()) if sum(given) < FLOOR_OF_A_RULE * len(given)]
    total = sum(trial.found for trial in done) / max(len(done), 1)
    print(f"found: {total:.1%} (floor {FLOOR:.0%}); below {FLOOR_OF_A_RULE:.0%}: {', '.join(low) or 'no rule'}")
    return total >= FLOOR and not low


def said(trial: Trial) -> str:
    """Where a mutant is that was not found, and the lines of its fault."""
    text = trial.written.data.decode("utf-8", "replace").splitlines()
    shown = [f"      {line}: {text[line - 1]}" for line in sorted(trial.written.lines)[:6] if line <= len(text)]
    place = f"{trial.mutant.package}/{trial.mutant.path}"
    return "\n".join([f"  missed {trial.mutant.rule} {trial.mutant.operator} {place}", *shown])


if __name__ == "__main__":
    sys.exit(main())
