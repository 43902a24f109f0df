"""How fast programs are read for their cost, as a ratio to XLA's own parser on the same text in the same run.

    python benchmarks/cost.py FILE...

FILE is HLO text, gzipped or not. Goal: parse and cost together at most 3 times XLA's parser on a compiled program; that
builds the module and counts nothing. 5 MB take well under a second.
"""

from __future__ import annotations

import gzip
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from contract_lint.hlo_tools.cost import cost
from contract_lint.hlo_tools.module import parse_hlo

REPEATS = 5


def main(paths: list[str]) -> None:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from jaxlib import _hlo

    print(f"{'file':60}{'MB':>7}{'ours':>9}{'XLA':>9}{'ratio':>7}")
    for path in paths:
        data = Path(path).read_bytes()
        text = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode()
        ours = best(lambda text=text: cost(parse_hlo(text)))
        theirs = best(lambda text=text: _hlo.hlo_module_from_text(text))
        print(f"{Path(path).name[-58:]:60}{len(text) / 1e6:7.2f}{ours:9.3f}{theirs:9.3f}{ours / theirs:7.2f}")


def best(work: Callable[[], object]) -> float:
    """The least processor seconds of several runs: other work on the machine only adds."""
    taken = []
    for _ in range(REPEATS):
        begin = time.process_time()
        work()
        taken.append(time.process_time() - begin)
    return min(taken)


if __name__ == "__main__":
    main(sys.argv[1:])
