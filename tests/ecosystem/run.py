"""Runs the source linter over the pinned packages and holds every finding against the table of judged ones.

    python tests/ecosystem/run.py [--new] [--gone] [PACKAGE...]

Prints how many of the findings are true, by rule and by confidence; those of preview rules are judged too, but counted
apart. Exits with 1 where a finding has no verdict, where less than 95 % of the certain or less than 85 % of all are
true, or where two readings agree on less than 90 %.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from contract_lint.linters.source.analyse import source_rules
from fetch import Package, fetched
from lint import Row, findings
from verdicts import Verdict, read

CERTAIN_FLOOR = 0.95
FLOOR = 0.85
AGREEMENT_FLOOR = 0.90


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--new", action="store_true", help="print every finding without a verdict")
    parser.add_argument("--gone", action="store_true", help="print every judged finding that is no longer found")
    parser.add_argument("--jobs", type=int, default=2, help="packages checked at a time")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE")
    chosen = parser.parse_args()
    there = [package for package in fetched() if not chosen.packages or package.name in chosen.packages]
    found = all_findings(there, chosen.jobs)
    names = {package.name for package in there}
    judged = [verdict for verdict in read() if verdict.package in names]
    files = sum(len(list(package.folder.rglob("*.py"))) for package in there)
    print(f"{len(there)} packages, {files} files, {len(found)} findings")
    return report(found, judged, show_new=chosen.new, show_gone=chosen.gone)


def all_findings(there: Iterable[Package], jobs: int) -> list[Row]:
    """Findings on each package, every one a program of its own."""
    with ThreadPoolExecutor(jobs) as pool:
        found = pool.map(lambda each: findings(each.folder, each.name, ("--preview",)), there)
        return [row for rows in found for row in rows]


def report(found: list[Row], judged: list[Verdict], *, show_new: bool = False, show_gone: bool = False) -> int:
    """Print the comparison; 0 where every finding has a verdict and every floor is held."""
    verdicts = {verdict.key: verdict for verdict in judged}
    new = [row for row in found if row.key not in verdicts]
    gone = sorted(verdicts.keys() - {row.key for row in found})
    known = [(row, verdicts[row.key].verdict) for row in found if row.key in verdicts]
    by_rule: dict[str, list[bool]] = defaultdict(list)
    for row, verdict in known:
        by_rule[row.code].append(verdict)
    print(f"{'rule':8}{'judged':>8}{'true':>6}{'share':>8}")
    for code, given in sorted(by_rule.items()):
        print(f"{code:8}{len(given):8}{sum(given):6}{share(given):8.1%}")
    preview = {rule.code for rule in source_rules() if rule.preview}
    certain = [verdict for row, verdict in known if row.confidence == "certain" and row.code not in preview]
    every = [verdict for row, verdict in known if row.code not in preview]
    tried = [verdict for row, verdict in known if row.code in preview]
    twice = [verdict.verdict == verdict.second for verdict in judged if verdict.second is not None]
    held = [
        said("certain", certain, CERTAIN_FLOOR),
        said("all", every, FLOOR),
        said("second reading agrees", twice, AGREEMENT_FLOOR),
    ]
    print(f"of rules in preview: {sum(tried)} of {len(tried)}")
    print(f"without a verdict: {len(new)}; judged and no longer found: {len(gone)}")
    for row in new if show_new else ():
        print(f"  {row.package}/{row.path}:{row.line}: {row.code} {row.confidence}: {row.message}\n      {row.text}")
    for package, code, path, text, _ in gone if show_gone else ():
        print(f"  gone: {package}/{path}: {code}\n      {text}")
    return 0 if all(held) and not new else 1


def share(given: list[bool]) -> float:
    return sum(given) / len(given) if given else 1.0


def said(what: str, given: list[bool], floor: float) -> bool:
    """Print one share beside its floor; whether it is held."""
    print(f"{what}: {sum(given)} of {len(given)} = {share(given):.1%} (floor {floor:.0%})")
    return share(given) >= floor


if __name__ == "__main__":
    sys.exit(main())
