"""How long `contract-lint check` takes on one contract, beside the start of Python with pydantic: `python
benchmarks/contract.py`.

Whole processes, best of five by wall and by processor time, with bytecode that the first run leaves in a folder of its
own. The contracts are the examples with most sections; nothing else lies in their folder.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "dense_fsdp"
NAMES = ("train", "packed", "semantics")
GOAL = 6


def timed(*command: str, folder: str) -> tuple[float, float]:
    """Seconds of the best of five runs: wall, and of a processor (which a busy machine changes less)."""
    wall = processor = float("inf")
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for _ in range(5):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([sys.executable, *command], cwd=folder, env=environment, check=True, capture_output=True)
        wall = min(wall, time.perf_counter() - begin)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = min(processor, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return wall, processor


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            shutil.copy(EXAMPLES / f"{name}.contract.yaml", folder)
        start = timed("-c", "import pydantic", folder=folder)
        print(f"python -c 'import pydantic' {start[0]:6.3f} s, of a processor {start[1]:.3f} s")
        for name in NAMES:
            seconds = timed("-m", "contract_lint", "check", f"{name}.contract.yaml", folder=folder)
            ratios = [one / of for one, of in zip(seconds, start, strict=True)]
            print(
                f"check {name:21} {seconds[0]:6.3f} s, of a processor {seconds[1]:.3f} s: "
                f"{ratios[0]:.2f} x and {ratios[1]:.2f} x   goal {GOAL} x"
            )


if __name__ == "__main__":
    main()
