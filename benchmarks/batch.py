"""How long a batch of 64 x 8,192 tokens takes to check and to show, and 10,000 records to hash; and the memory:
`python benchmarks/batch.py`.

The batch is packed, with every array there is a role for. The records come from 4 sources, once as lines of 16 shards
and once as a file each. Whole processes are timed, beside the start of Python with numpy imported, so the ratio says
what the work costs on any machine.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROWS, COLUMNS = 64, 8192


def packed_batch(path: Path) -> None:
    """A right batch: documents of 20 to 2,000 tokens, each row padded at its end."""
    rng = np.random.default_rng(0)
    segments = np.zeros((ROWS, COLUMNS), np.int32)
    positions = np.zeros((ROWS, COLUMNS), np.int32)
    for row in range(ROWS):
        column, number = 0, 1
        while column < COLUMNS - 100:
            stop = min(column + int(rng.integers(20, 2000)), COLUMNS - 100)
            segments[row, column:stop] = number
            positions[row, column:stop] = np.arange(stop - column)
            column, number = stop, number + 1
    tokens = np.where(segments, rng.integers(3, 32_000, segments.shape), 0).astype(np.int32)
    following = np.roll(segments, -1, axis=1)
    mask = ((segments != 0) & (segments == following)).astype(np.float32)
    targets = np.roll(tokens, -1, axis=1)
    arrays = {"tokens": tokens, "targets": targets, "segment_ids": segments, "positions": positions, "loss_mask": mask}
    np.savez(path, **arrays)


def records(folder: Path, shards: int) -> None:
    """10,000 records of about 2 kB, from 4 sources, in so many files."""
    text = "a training document of no great length " * 50
    for source in range(4):
        (folder / f"source{source}").mkdir(parents=True)
        for shard in range(shards // 4):
            lines = (json.dumps({"id": [source, shard, n], "text": text}) for n in range(10_000 // shards))
            (folder / f"source{source}" / f"{shard:05d}.jsonl").write_text("\n".join(lines) + "\n")


def timed(*command: str) -> float:
    """Wall seconds of the best of three runs."""
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        best = min(best, time.perf_counter() - begin)
    return best


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "batch.npz")
        packed_batch(path)
        start = timed("-c", "import numpy")
        print(f"python -c 'import numpy'    {start:6.2f} s")
        for name, extra in (
            ("check", ()),
            ("inspect", ()),
            ("inspect", ("--format", "html", "--output", f"{folder}/b")),
        ):
            seconds = timed("-m", "contract_lint", "batch", name, str(path), *extra)
            said = " ".join(("batch", name, *extra[:2]))
            print(f"{said:27} {seconds:6.2f} s  {seconds / start:5.1f} x   goal 2 s")
        print(f"page                        {Path(folder, 'b').stat().st_size / 1e6:6.2f} MB            goal 2 MB")
    with tempfile.TemporaryDirectory() as folder:
        for shards in (16, 10_000):
            data, out = Path(folder, str(shards)), f"{folder}/{shards}.json"
            records(data, shards)
            for verb, extra in (("build", ("--output", out)), ("check", ("--manifest", out))):
                seconds = timed("-m", "contract_lint", "batch", "manifest", verb, str(data), *extra)
                print(
                    f"{f'manifest {verb}, {shards:,} files':27} {seconds:6.2f} s  {seconds / start:5.1f} x   goal 20 s"
                )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"largest process             {peak:6.0f} MB            goal 500 MB")


if __name__ == "__main__":
    main()
