"""How long a checkpoint of 10,000 leaves takes to check, and how much memory: `python benchmarks/checkpoint.py`.

The state has 3,333 parameters of 64 x 64 with two slots each, beside a step. Orbax writes it as a database and as
folders, safetensors as one file. Whole processes are timed, beside the start of Python with numpy imported, so the
ratio says what the work costs on any machine. Bytes read are the kernel's count, beside those of the arrays.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEAVES = 3_333
WRITE = f"""
import sys, numpy, orbax.checkpoint as ocp
from safetensors.numpy import save_file
random = numpy.random.default_rng(0)
def part(): return {{f"layer_{{n}}": {{"w": random.standard_normal((64, 64), "float32")}} for n in range({LEAVES})}}
state = {{"params": part(), "mu": part(), "nu": part(), "step": numpy.int32(3)}}
for name, options in {{"ocdbt": {{}}, "zarr": {{"use_ocdbt": False}}}}.items():
    ocp.Checkpointer(ocp.PyTreeCheckpointHandler(**options)).save(f"{{sys.argv[1]}}/{{name}}", state)
step = state.pop("step")[None]
flat = {{f"{{at}}/{{name}}/w": each["w"] for at, part in state.items() for name, each in part.items()}}
save_file(flat | {{"step": step}}, f"{{sys.argv[1]}}/state.safetensors")
"""
CHECK = """
import atexit, resource, sys
from contract_lint.plugins.cli.main import main
def told():
    read = open("/proc/self/io").read().split()[1] if sys.platform == "linux" else 0
    print(read, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
atexit.register(told)
main(["checkpoint", "check", sys.argv[1]])
"""


def timed(code: str, *arguments: str) -> tuple[float, list[int]]:
    """Wall seconds of the best of three runs, and the numbers that the last wrote to standard error."""
    best, said = float("inf"), ""
    for _ in range(3):
        begin = time.perf_counter()
        said = subprocess.run(
            [sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True
        ).stderr
        best = min(best, time.perf_counter() - begin)
    return best, [int(word) for word in said.split() if word.isdecimal()]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", WRITE, folder], check=True, capture_output=True)
        start, _ = timed("import numpy")
        print(f"python -c 'import numpy'   {start:6.2f} s")
        arrays = 3 * LEAVES * 64 * 64 * 4
        for name in ("ocdbt", "zarr", "state.safetensors"):
            seconds, (read, peak) = timed(CHECK, str(Path(folder, name)))
            print(
                f"{name:26} {seconds:6.2f} s {seconds / start:6.1f} x  goal 5 s   {peak / 1024:4.0f} MiB goal 300   "
                f"{read / 1e6:6.1f} MB read, arrays have {arrays / 1e6:.1f}"
            )


if __name__ == "__main__":
    main()
