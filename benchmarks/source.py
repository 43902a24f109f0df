"""How fast source is checked, as ratios within one run over the pinned packages of tests/ecosystem.

    python benchmarks/source.py [--repeats N] [--tools BIN]

Goals: the whole cold check takes at most 12 times the processor seconds of bare `ast.parse` on the same files (6 is
aimed at), a warm one at most half of it; one changed file among 1,000 is checked again in 300 ms; the check of one
small file takes at most 4 times `python -c "import click"`; 5,000 files take less than 500 MB; fixit and pylint need at
least 8 times as long. BIN is the folder that holds fixit and pylint (default: beside this Python); what is not there is
left out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "ecosystem"))

from fetch import Package, fetched

PARSE = """
import ast, sys, time, warnings
warnings.simplefilter("ignore")
begin = time.process_time()
for path in sys.stdin.read().split("\\n"):
    try:
        ast.parse(open(path, "rb").read())
    except SyntaxError:
        pass
print(time.process_time() - begin)
"""
SMALL = "import jax\nimport jax.numpy as jnp\n\n\n@jax.jit\ndef f(x):\n    return jnp.tanh(x)\n"
COMPARED = ("chex", "mctx", "lineax", "optimistix", "jraph", "rlax")


@dataclass(frozen=True, slots=True)
class Taken:
    """What a command took, with all processes that it started: seconds, and the megabytes of the largest."""

    cpu: float
    wall: float
    peak: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="runs of what is short; the best counts")
    parser.add_argument("--tools", type=Path, default=Path(sys.executable).parent, metavar="BIN")
    chosen = parser.parse_args()
    there = fetched()
    with tempfile.TemporaryDirectory() as scratch:
        whole_program(there, Path(scratch) / "all", chosen.repeats)
        one_changed_file(there, Path(scratch) / "thousand", chosen.repeats)
        one_small_file(Path(scratch) / "small", chosen.repeats)
        memory(there, Path(scratch) / "many")
        others(there, Path(scratch) / "compared", chosen.tools)


def whole_program(there: Sequence[Package], folder: Path, repeats: int) -> None:
    """Everything as one project: cold, then warm, beside the parser alone."""
    count = copied(there, folder)
    parse = min(parsed(folder) for _ in range(repeats))
    cold = ran(check(".", "--jobs", "1"), folder)
    warm = min((ran(check(".", "--jobs", "1"), folder) for _ in range(repeats)), key=lambda taken: taken.cpu)
    print(f"{count} files; ast.parse {parse:.1f} s CPU")
    said("cold / ast.parse", cold.cpu / parse, "at most 12", f"{cold.cpu:.1f} s CPU, {cold.peak:.0f} MB")
    said("warm / ast.parse", warm.cpu / parse, "at most 0.5", f"{warm.cpu:.2f} s CPU")


def one_changed_file(there: Sequence[Package], folder: Path, repeats: int) -> None:
    """Some packages with 1,000 files: one function is added to one file, and all is checked again."""
    some: list[Package] = []
    for package in sorted(there, key=lambda each: each.name != "optax"):
        if sum(len(files(each.folder)) for each in some) < 1000:
            some.append(package)
    copied(some, folder, limit=1000)
    ran(check(".", "--jobs", "1"), folder)
    changed = next(path for path in files(folder) if path.name == "base.py" or path.name == "_base.py")
    walls = []
    for number in range(repeats):
        with changed.open("a") as out:
            out.write(f"\n\ndef added_{number}(x):\n    return x + {number}\n")
        walls.append(ran(check("."), folder).wall)
    said("one file changed of 1,000", min(walls) * 1000, "at most 300 ms", f"{changed.relative_to(folder)}", unit=" ms")


def one_small_file(folder: Path, repeats: int) -> None:
    folder.mkdir()
    (folder / "small.py").write_text(SMALL)
    ours = min(ran(check("small.py"), folder).wall for _ in range(repeats + 4))
    click = min(ran([sys.executable, "-c", "import click"], folder).wall for _ in range(repeats + 4))
    said("one small file / import click", ours / click, "at most 4", f"{ours * 1000:.0f} ms and {click * 1000:.0f} ms")


def memory(there: Sequence[Package], folder: Path) -> None:
    """The packages, and as many again as make 5,000 files."""
    copied(there, folder / "first")
    copied(there, folder / "second", limit=5000 - len(files(folder / "first")))
    taken = ran(check(".", "--jobs", "1", "--no-cache"), folder)
    said(f"peak memory for {len(files(folder))} files", taken.peak, "less than 500 MB", "", unit=" MB")


def others(there: Sequence[Package], folder: Path, tools: Path) -> None:
    """The same small packages under fixit with its own rules and under pylint."""
    copied([package for package in there if package.name in COMPARED], folder)
    ours = ran(check(".", "--jobs", "1", "--no-cache"), folder).cpu
    for name, arguments in (("fixit", ["lint", "."]), ("pylint", ["-j1", "--recursive=y", "."])):
        if (tools / name).exists():
            theirs = ran([str(tools / name), *arguments], folder).cpu
            facts = f"{len(files(folder))} files, {theirs:.1f} s and {ours:.2f} s CPU"
            said(f"{name} / contract-lint", theirs / ours, "at least 8", facts)
        else:
            print(f"{name} is not in {tools}: not compared")


def check(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "contract_lint", "check", *arguments, "--statistics", "--exit-zero"]


def ran(command: Sequence[str], folder: Path) -> Taken:
    """One command, its output dropped. Raises RuntimeError where it dies, or ours does not end with 0."""
    begin = time.perf_counter()
    # As on a user's machine: modules are compiled once, not in each process.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    told = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    ours = "contract_lint" in command
    if process.returncode < 0 or (ours and process.returncode != 0):
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}\n{told.decode()[-2000:]}")
    megabytes = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return Taken(usage.ru_utime + usage.ru_stime, wall, megabytes)


def parsed(folder: Path) -> float:
    """Processor seconds of reading and parsing every file, in a process of its own."""
    paths = "\n".join(map(str, files(folder)))
    done = subprocess.run([sys.executable, "-c", PARSE], input=paths, capture_output=True, text=True, check=True)
    return float(done.stdout)


def copied(there: Sequence[Package], folder: Path, limit: int | None = None) -> int:
    """Copies of the packages' Python files, at most `limit` of them; their number."""
    count = 0
    for package in there:
        for path in files(package.folder):
            if limit is None or count < limit:
                target = folder / package.name / path.relative_to(package.folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
                count += 1
    return count


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def said(what: str, figure: float, goal: str, facts: str, unit: str = "") -> None:
    print(f"{what:32}{figure:9.2f}{unit:4} goal: {goal:18}{facts}", flush=True)


if __name__ == "__main__":
    main()
