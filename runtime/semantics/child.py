"""The probe of one step in a process of its own, in float64 where the step can.

`python -m contract_lint.runtime.semantics.child REQUEST REPORT`; REQUEST is a ProbeRequest as JSON. A fresh process,
because `jax_enable_x64` holds for a whole process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from ...contracts.manifest import NotCompared
from ...contracts.semantics import SemanticsFacts
from ..launch import child_environment
from ..run.reference import temporary_folder
from .request import ProbeRequest

_TAIL = 600


def probed(request: ProbeRequest) -> SemanticsFacts:
    """What the probe finds, in float64 where every operation of the step can be, else in the step's own precision.

    It takes as long as it takes: who asks stops this process, and so that one, after `--timeout`.
    """
    found = _run(request.model_copy(update={"wide": True}))
    if found.narrow:
        found = _run(request)
    if found.facts is not None:
        return found.facts
    return SemanticsFacts(precision="less", not_judged=[NotCompared(what="the probe", reason=found.error)])


class _Said:
    def __init__(self, facts: Any = None, error: str = "", narrow: bool = False) -> None:
        self.facts = SemanticsFacts.model_validate(facts) if facts is not None else None
        self.error, self.narrow = error, narrow


def _run(request: ProbeRequest) -> _Said:
    with temporary_folder() as name:
        folder = Path(name)
        path, report, stderr = folder / "request.json", folder / "report.json", folder / "stderr"
        path.write_text(request.model_dump_json())
        environment = child_environment(request.target)
        if request.wide:
            environment["JAX_ENABLE_X64"] = "1"
        with stderr.open("wb") as err:
            child = subprocess.Popen(
                [sys.executable, "-P", "-m", "contract_lint.runtime.semantics.child", str(path), str(report)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=err,
                env=environment,
            )
        try:
            code = child.wait()
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
        if report.is_file():
            return _Said(**json.loads(report.read_text()))
        text = stderr.read_text(errors="replace").strip()
        last = text.splitlines()[-1].strip() if text else "it said nothing"
        return _Said(error=f"its process ended with code {code}: {last[:_TAIL]}")


def main(argv: list[str]) -> int:
    """Entry of the child: probes and always leaves a report, unless the process dies."""
    request = ProbeRequest.model_validate_json(Path(argv[0]).read_text())
    report = Path(argv[1])
    import jax

    from ..targets import target

    chosen = target(request.target)
    chosen.configure()
    jax.config.update("jax_enable_compilation_cache", False)
    jax.config.update("jax_traceback_filtering", "off")
    from .. import build
    from ..errors import describe
    from ..request import StepFailure
    from .probe import TooNarrow, probe

    paths = build.project_paths(request.project_root, [request.step])
    said: dict[str, Any]
    try:
        said = {"facts": probe(request, chosen, paths).model_dump(mode="json")}
    except TooNarrow:
        said = {"narrow": True}
    except StepFailure as error:
        said = {"error": error.message}
    except Exception as error:
        frames = paths.of_traceback(error.__traceback__)
        place = f" ({frames[0].path}:{frames[0].line})" if frames else ""
        said = {"error": describe(error, paths) + place}
    partial = report.with_suffix(".partial")
    partial.write_text(json.dumps(said))
    partial.rename(report)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
