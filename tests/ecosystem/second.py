"""A second reading of findings that were judged before, without sight of the first verdict.

    python tests/ecosystem/second.py draw [--count 100] [--seed 0] > readings.jsonl
    python tests/ecosystem/second.py enter readings.jsonl

`draw` prints a random choice without verdicts or reasons, one JSON object a line with `"second": null`. Whoever reads
the code replaces null by true or false; `enter` writes that into verdicts.jsonl. run.py prints how often both agree.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import asdict, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from verdicts import Verdict, read, write

SHOWN = ("package", "path", "line", "code", "text", "nth")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("draw", "enter"))
    parser.add_argument("readings", nargs="?", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    if chosen.action == "draw":
        for verdict in drawn(read(), chosen.count, chosen.seed):
            told = asdict(verdict)
            print(json.dumps({name: told[name] for name in SHOWN} | {"second": None}))
    elif chosen.readings is None:
        parser.error("enter needs the file of readings")
    else:
        readings = [json.loads(line) for line in chosen.readings.read_text().splitlines()]
        write(entered(read(), readings))


def drawn(table: list[Verdict], count: int, seed: int) -> list[Verdict]:
    """So many verdicts, or all; one seed is one choice, in one random order."""
    return random.Random(seed).sample(table, min(count, len(table)))


def entered(table: list[Verdict], readings: list[dict[str, object]]) -> list[Verdict]:
    """The table with the second readings in it.

    Raises ValueError for a reading without a verdict, or of a finding that the table does not hold.
    """
    given = {tuple(each[name] for name in SHOWN): each["second"] for each in readings}
    second = {key: said for key, said in given.items() if isinstance(said, bool)}
    if missing := [key for key in given if key not in second]:
        raise ValueError(f"{len(missing)} readings say neither true nor false, the first {missing[0]}")
    known = {tuple(getattr(verdict, name) for name in SHOWN): verdict for verdict in table}
    if unknown := second.keys() - known.keys():
        raise ValueError(f"{len(unknown)} readings are of no judged finding, one {min(unknown, key=str)}")
    return [replace(verdict, second=second.get(key, verdict.second)) for key, verdict in known.items()]


if __name__ == "__main__":
    main()
