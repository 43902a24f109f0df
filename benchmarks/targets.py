"""What contract-lint adds to the compile of a real program, for four plans on two machines of 256 chips.

    python benchmarks/targets.py [--effort fast|full] [PLAN...]

For each pair: verdict, seconds of XLA's compile, seconds of everything after it (writing, reading back, judging,
rendering, the end of the process), their ratio, wall seconds of the whole command and the peak memory of its largest
process. Goal of the ratio on TPU: at most 0.1 at fast, 0.05 at full. Needs the extras [tpu] and [cuda].
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ruamel.yaml

ROOT = Path(__file__).resolve().parents[1]
BASE = ROOT / "examples" / "dense_fsdp" / "proof_1b_accelerators.contract.yaml"
TARGETS = ("tpu:v5e:16x16", "cuda:h100:32x8")
GOAL = {"fast": 0.1, "full": 0.05}


@dataclass(frozen=True)
class Plan:
    """The axes of 256 devices and what lies on them."""

    mesh: dict[str, int]
    embed: str | None = None
    inner: str | None = None
    slots: tuple[str, ...] = ()
    batch: tuple[str, ...] = field(default=())

    def overlay(self, name: str) -> dict[str, Any]:
        """The example's contract with this plan."""
        logical = {"layer": None, "embed": self.embed} | dict.fromkeys(("heads", "mlp", "vocab"), self.inner)
        axes = list(self.mesh)
        build = {"logical_axes": logical, "batch_axes": list(self.batch), "optimizer_axes": list(self.slots)}
        return {
            "contract": 1,
            "extends": [str(BASE)],
            "name": f"proof-1b-{name}",
            "step": {"train": {"args": build, "path": [str(ROOT)]}},
            "targets": [{"target": target, "mesh": {"axes": self.mesh}} for target in TARGETS],
            "batch": {"axes": list(self.batch)},
            "optimizer": {"placement": list(self.slots) or "parameters"},
            "parameters": {"logical_axes": logical, "replicated_max": "8GiB"},
            "collectives": {
                "expect": "closed_form",
                "allow": [{"kind": "all-reduce", "axes": axes, "elements_max": 1, "reason": "metrics"}],
            },
            "memory": {"hbm": "15.75GiB", "classes": {"optimizer_slot": "8GiB"}},
        }


PLANS = {
    "zero1": Plan({"data": 256}, slots=("data",), batch=("data",)),
    "fsdp": Plan({"fsdp": 256}, embed="fsdp", batch=("fsdp",)),
    "tp": Plan({"data": 32, "tp": 8}, inner="tp", batch=("data",)),
    "fsdp-tp": Plan({"fsdp": 32, "tp": 8}, embed="fsdp", inner="tp", batch=("fsdp",)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--effort", choices=sorted(GOAL), default="fast")
    parser.add_argument("plans", nargs="*", metavar="PLAN", choices=[*PLANS, []], help=", ".join(PLANS))
    chosen = parser.parse_args()
    print(f"effort {chosen.effort}; goal of the ratio on TPU: {GOAL[chosen.effort]}")
    print(f"{'plan':10}{'target':18}{'verdict':9}{'compile s':>10}{'after s':>9}{'ratio':>8}", end="")
    print(f"{'wall s':>8}{'peak GiB':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen.plans or PLANS:
            contract = Path(folder) / f"{name}.contract.yaml"
            with contract.open("w") as out:
                ruamel.yaml.YAML(typ="safe", pure=True).dump(PLANS[name].overlay(name), out)
            for target in TARGETS:
                print(f"{name:10}{target:18}{measured(contract, target, chosen.effort)}", flush=True)


def measured(contract: Path, target: str, effort: str) -> str:
    """One `verify`, timed by the phases that it reports."""
    arguments = ["verify", str(contract), "--target", target, "--effort", effort, "--no-cache"]
    begins = {"start": time.perf_counter()}
    process = subprocess.Popen(
        [sys.executable, "-m", "contract_lint", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=contract.parent,
    )
    assert process.stderr is not None and process.stdout is not None
    said = []
    for line in process.stderr:
        said.append(line)
        begins[line.rsplit(": ", 1)[-1].strip()] = time.perf_counter()
    verdict = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    end = time.perf_counter()
    if "read" not in begins:
        raise SystemExit(f"`contract-lint {' '.join(arguments)}` ended with status {status}:\n{''.join(said)}{verdict}")
    compiled, after = begins["read"] - begins["compile"], end - begins["read"]
    word = verdict.split(maxsplit=1)[0] if verdict else "-"
    return (
        f"{word:9}{compiled:10.2f}{after:9.2f}{after / compiled:8.3f}{end - begins['start']:8.1f}"
        f"{usage.ru_maxrss / 1024**2:10.2f}"
    )


if __name__ == "__main__":
    main()
