"""Child process: how many programs JAX compiles for examples, in few rounds and in many. Jobs are JSON on stdin."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.monitoring

COMPILED = "/jax/core/compile/backend_compile_duration"
FEW, MANY = 2, 6


def measured(job: dict, seen: list[str]) -> list[int]:
    """Programs compiled in a run of FEW rounds, and in one of MANY, both from an empty cache."""
    counts: list[int] = []

    def count(run: Callable[[int], object]) -> None:
        for rounds in (FEW, MANY):
            jax.clear_caches()
            seen.clear()
            run(rounds)
            counts.append(len(seen))

    with tempfile.TemporaryDirectory() as folder:
        for path, text in job["files"].items():
            (Path(folder) / path).write_text(text)
        sys.path.insert(0, folder)
        module = types.ModuleType("example")
        module.__dict__["count"] = count
        sys.modules["example"] = module
        try:
            exec(compile(job["source"], "example.py", "exec"), module.__dict__)
            exec(compile(job["run"], "run", "exec"), module.__dict__)
        finally:
            sys.path.remove(folder)
            for path in job["files"]:
                sys.modules.pop(Path(path).stem, None)
    return counts


if __name__ == "__main__":
    events: list[str] = []

    def listen(event: str, duration: float, **_: object) -> None:
        if event == COMPILED:
            events.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    with contextlib.redirect_stdout(sys.stderr):
        told = [measured(job, events) for job in json.load(sys.stdin)]
    print(json.dumps(told))
