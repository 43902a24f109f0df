"""How much contract-lint adds to what XLA costs anyway, as ratios measured in one run.

    python benchmarks/verify.py

1. Everything after XLA's compile (writing, reading back, judging, rendering) / (trace + lower + compile), for the
   trainer's `proof-1b` on 256 CPU devices. Goal: at most 0.2.
2. `contract-lint --version` / `python -c import click`. Goal: at most 3.
3. `contract-lint check` of one contract / the same.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
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
    """Seconds after XLA's compile, and seconds of trace, lower and compile, of one uncached verify."""
    from contract_lint.contracts.load import load_contract
    from contract_lint.hlo_tools.capture import read_capture
    from contract_lint.plugins.pipeline.verify import verify
    from contract_lint.plugins.report.text import render
    from contract_lint.runtime.contract import capture_contract

    starts: dict[str, float] = {}

    def heard(line: str) -> None:
        starts.setdefault(line.rsplit(": ", 1)[-1], time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "capture"
        capture_contract(load_contract(PROOF), "cpu:256", out=out, cache=False, on_progress=heard)
        captured = time.perf_counter() - starts["writing"]
        begin = time.perf_counter()
        render(verify(PROOF, capture_dir=out))
        judged = time.perf_counter() - begin
        seconds = read_capture(out).steps["train"].facts.seconds
    return captured + judged, sum(seconds[phase] for phase in ("trace", "lower", "compile"))


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
