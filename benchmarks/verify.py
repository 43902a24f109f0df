"""How much contract-lint adds to what XLA costs anyway, as ratios measured in one run.

    python benchmarks/verify.py

1. Everything after XLA's compile (writing, reading back, judging, rendering, the end of the process) / (trace + lower +
   compile), for the trainer's `proof-1b` on 256 CPU devices. Goal: at most 0.2.
2. `contract-lint --version` / `python -c import click`. Goal: at most 3.
3. `contract-lint check` of one contract / the same.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONTRACT = ROOT / "examples" / "dense_fsdp" / "train.contract.yaml"
PROOF = ROOT / "examples" / "dense_fsdp" / "proof_1b.contract.yaml"
REPEATS = 7


def main() -> None:
    print(f"{'measure':58}{'seconds':>10}{'ratio':>8}{'goal':>7}")
    after, compiler = proof()
    print(f"{'proof-1b, cpu:256: trace + lower + compile':58}{compiler:10.2f}")
    print(f"{'proof-1b, cpu:256: everything after':58}{after:10.2f}{after / compiler:8.2f}{0.2:7}")
    base = command([sys.executable, "-c", "import click"])
    version = command([sys.executable, "-m", "contract_lint", "--version"])
    check = command([sys.executable, "-m", "contract_lint", "check", str(CONTRACT)])
    print(f"{'python -c import click':58}{base:10.3f}")
    print(f"{'contract-lint --version':58}{version:10.3f}{version / base:8.2f}{3:7}")
    print(f"{'contract-lint check, one contract':58}{check:10.3f}{check / base:8.2f}")


def proof() -> tuple[float, float]:
    """Seconds after XLA's compile, and seconds of trace, lower and compile, of one uncached `verify`: a whole process,
    timed by the phases that it reports."""
    arguments = [sys.executable, "-m", "contract_lint", "verify", str(PROOF), "--target", "cpu:256", "--no-cache"]
    begins: dict[str, float] = {}
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stderr is not None
    for line in process.stderr:
        begins[line.rsplit(": ", 1)[-1].strip()] = time.perf_counter()
    if process.wait() != 0:
        raise SystemExit(f"`{' '.join(arguments[1:])}` ended with exit code {process.returncode}")
    return time.perf_counter() - begins["read"], begins["read"] - begins["trace"]


def command(arguments: list[str]) -> float:
    """Median wall seconds of a whole process, after one to warm the files."""
    taken = []
    for _ in range(REPEATS + 1):
        begin = time.perf_counter()
        subprocess.run(arguments, check=True, capture_output=True, cwd=ROOT)
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken[1:])


if __name__ == "__main__":
    main()
