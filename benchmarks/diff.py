"""Seconds to read and compare the two largest programs of the corpus, beside XLA's parser alone. Goal: under 5.

CONTRACT_LINT_CORPUS=/path/to/shared python benchmarks/diff.py
"""

from __future__ import annotations

import gc
import gzip
import os
import subprocess
import sys
import time
from pathlib import Path

from contract_lint.hlo_tools.diff import Side, compare
from contract_lint.hlo_tools.module import parse_hlo

PARSER = "import sys\nfrom jaxlib._hlo import hlo_module_from_text as read\nfor p in sys.argv[1:]: read(open(p).read())"


def largest(folder: Path) -> list[tuple[str, str]]:
    """(name, text) of the two largest programs."""
    texts = [(path.name, path.read_text()) for path in folder.glob("hlo/*.hlo")]
    texts += [(path.name, gzip.decompress(path.read_bytes()).decode()) for path in folder.glob("compiled/*.hlo.txt.gz")]
    return sorted(texts, key=lambda item: -len(item[1]))[:2]


def seconds(a: str, b: str) -> float:
    begin = time.perf_counter()
    compare(Side("a", parse_hlo(a)), Side("b", parse_hlo(b)))
    return time.perf_counter() - begin


def main() -> None:
    corpus = os.environ.get("CONTRACT_LINT_CORPUS")
    if not corpus:
        raise SystemExit("CONTRACT_LINT_CORPUS does not name the shared corpus")
    gc.set_threshold(100_000, 50, 50)  # as the command line has it
    (one, a), (other, b) = largest(Path(corpus) / "corpus")
    ours = min(seconds(a, b) for _ in range(3))
    size = (len(a) + len(b)) / 1e6
    print(f"{one} against {other}, {size:.1f} MB: {ours:.2f} s, {size / ours:.1f} MB/s")
    again = min(seconds(a, a) for _ in range(2))
    print(f"{one} against itself: {again:.2f} s")
    for name, text in ((one, a), (other, b)):
        path = Path(f"/tmp/diff-benchmark-{os.getpid()}.hlo")
        path.write_text(text)
        begin = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", PARSER, str(path)], capture_output=True, check=False)
        said = f"{time.perf_counter() - begin:.2f} s, its start included" if not done.returncode else "refuses it"
        print(f"XLA's parser on {name}: {said}")
        path.unlink()


if __name__ == "__main__":
    main()
