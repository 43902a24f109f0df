"""How fast HLO text is read, as ratios to XLA's own parser within one run.

    python benchmarks/hlo.py FILE.hlo... [--size MB]

Goals: text to index at least 3 times the MB/s of XLA's parser; text to the whole collective ledger at least as fast as
that parser alone; on a text of 100 MB at least 70 % of the MB/s at 1 MB, in less than 12 times its size of memory. FILE
may be gzipped. The long texts are the file nearest to 1 MB and the first file, each with all its computations repeated
under other names.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from contract_lint.hlo_tools.collectives import collectives
from contract_lint.hlo_tools.module import parse_hlo

MB = 1e6
ENTRY = re.compile(r"^ENTRY ", re.MULTILINE)
DEFINED = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) \(", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--size", type=int, default=100, help="MB of the long text")
    parser.add_argument("--repeats", type=int, default=5, help="the best counts")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.read is not None:
        read_once(chosen.read)
        return
    xla = xla_parser()
    print(f"{'file':42}{'MB':>7}{'XLA MB/s':>10}{'index':>8}{'ledger':>8}")
    for path in chosen.files:
        text = text_of(path)
        size = len(text) / MB
        try:
            xla(text)
        except RuntimeError as error:
            print(f"{path.name[:41]:42}{size:7.2f}  this XLA does not read it: {str(error).splitlines()[-3][:60]}")
            continue
        times = [best(lambda t=text, f=f: f(t), chosen.repeats) for f in (xla, index, ledger)]
        ratios = [times[0] / spent for spent in times[1:]]
        print(f"{path.name[:41]:42}{size:7.2f}{size / times[0]:10.1f}{ratios[0]:7.1f}x{ratios[1]:7.1f}x", flush=True)
    readable = [path for path in chosen.files if ENTRY.search(text_of(path))]
    nearest = min(readable, key=lambda path: abs(len(text_of(path)) - MB))
    for path in dict.fromkeys((nearest, readable[0])):
        print(f"\n{path.name}, repeated to {chosen.size} MB")
        long_text(text_of(path), chosen.size, chosen.repeats)


def xla_parser() -> Callable[[str], object]:
    from jaxlib import _hlo

    return _hlo.hlo_module_from_text


def index(text: str) -> None:
    """Computations and instructions with name, opcode and place."""
    module = parse_hlo(text)
    sum(len(computation.opcodes()) for computation in module.computations)


def ledger(text: str) -> None:
    collectives(parse_hlo(text))


def best(run: Callable[[], object], repeats: int) -> float:
    spent = []
    for _ in range(repeats):
        gc.collect()
        begin = time.perf_counter()
        run()
        spent.append(time.perf_counter() - begin)
    return min(spent)


def long_text(text: str, megabytes: int, repeats: int) -> None:
    """The same work on a short and on a long text, and the memory of a process that does it once."""
    short, long = repeated(text, 0), repeated(text, megabytes)
    for name, work in (("index", index), ("ledger", ledger)):
        slow = len(long) / best(lambda work=work: work(long), 1)
        fast = len(short) / best(lambda work=work: work(short), repeats)
        sizes = f"{len(long) / MB:.0f} MB, {slow / fast:.0%} of that at {len(short) / MB:.1f}"
        print(f"{name}: {slow / MB:.1f} MB/s at {sizes}", flush=True)
    path = Path("/tmp") / f"long-{len(long)}.hlo"
    path.write_text(long)
    try:
        done = subprocess.run(
            [sys.executable, __file__, "-", "--read", str(path)], capture_output=True, text=True, check=True
        )
    finally:
        path.unlink()
    peak, bare = (int(number) for number in done.stdout.split())
    print(f"memory: {(peak - bare) * 1024 / len(long):.1f} times the text")


def repeated(text: str, megabytes: int) -> str:
    """The text with all its computations, the entry too, repeated under other names until it is that long.

    The entry stays the last: its lines are longer than those of fused computations, and a text of the latter alone
    would compare two kinds of text instead of two lengths.
    """
    at = ENTRY.search(text)
    assert at is not None
    first = DEFINED.search(text)
    begin = min(first.start() if first is not None else at.start(), at.start())
    head, body = text[:begin], text[begin:].rstrip("\n") + "\n"
    names = set(DEFINED.findall(body))
    pattern = re.compile(r"(^|%)([\w.\-]+)", re.MULTILINE)

    def renamed(match: re.Match[str]) -> str:
        return f"{match[0]}.again{number}" if match[2] in names else match[0]

    parts, size, number = [head], len(text), 0
    while size < megabytes * MB:
        number += 1
        copy = pattern.sub(renamed, ENTRY.sub("", body))
        parts += [copy, "\n"]
        size += len(copy) + 1
    return "".join([*parts, body])


def read_once(path: Path) -> None:
    bare = peak_kib()
    ledger(path.read_text())
    print(peak_kib(), bare)


def peak_kib() -> int:
    """Largest resident size of this process (Linux): what getrusage says begins with the parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def text_of(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


if __name__ == "__main__":
    main()
