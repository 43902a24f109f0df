"""Child process: runs examples with jax on CPU and writes what came of each. Jobs come as JSON on stdin.

Those that are to run alone do so in a fork that is made before jax starts a backend here.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ.pop("JAX_ENABLE_X64", None)
warnings.simplefilter("ignore")


def outcome(job: dict[str, Any]) -> str:
    """`passed`, or the exception that an example ended with: its classes from the nearest on, and its text.

    A name `measured` that the example leaves is told after `passed`.
    """
    files: dict[str, str] = job["files"]
    before = set(sys.modules)
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {"example.py": str(job["source"]), **files}.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_text(text)
        sys.path.insert(0, folder)
        module = types.ModuleType("example")
        module.__file__ = str(Path(folder) / "example.py")
        sys.modules["example"] = module
        try:
            exec(compile(str(job["source"]), module.__file__, "exec"), module.__dict__)
            exec(compile(str(job["run"]), "run", "exec"), module.__dict__)
        except Exception as error:
            return " ".join(each.__name__ for each in type(error).__mro__) + f": {str(error)[:300]}"
        finally:
            sys.path.remove(folder)
            for name in ["example", *(Path(path).with_suffix("").as_posix().replace("/", ".") for path in files)]:
                if name not in before:
                    sys.modules.pop(name, None)
    return f"passed: {module.measured}" if hasattr(module, "measured") else "passed"


def apart(job: dict[str, object]) -> str:
    """The outcome of one job, from a process of its own."""
    inward, outward = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(outward, "w") as told:
            os.dup2(2, 1)
            told.write(outcome(job))
        os._exit(0)
    os.close(outward)
    with os.fdopen(inward) as told:
        text = told.read()
    os.waitpid(child, 0)
    return text


def main() -> None:
    import jax

    jobs = json.load(sys.stdin)
    told = os.dup(1)
    results = [apart(job) if job["alone"] else "" for job in jobs]
    os.dup2(2, 1)
    for at, job in enumerate(jobs):
        if not job["alone"]:
            results[at] = outcome(job)
            jax.config.update("jax_enable_x64", False)
    os.write(told, json.dumps(results).encode())


if __name__ == "__main__":
    main()
