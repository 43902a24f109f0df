"""Run user code and the compiler in a child process, so that nothing they do reaches this one. Never imports jax."""

from __future__ import annotations

import os
import re
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from .folders import temporary_folder
from .guarded import Guarded
from .last_words import advice, ended, last_words, while_loading
from .request import ChildFailure, ChildReport, ChildRequest, ChildResult, Message
from .targets import target

Progress = Callable[[str], None]

# Settings of JAX that change what a program computes; every other JAX, XLA or plugin variable stays out.
JAX_ALLOWED = (
    "JAX_DEFAULT_MATMUL_PRECISION",
    "JAX_DEFAULT_PRNG_IMPL",
    "JAX_ENABLE_CUSTOM_PRNG",
    "JAX_ENABLE_X64",
    "JAX_NUMPY_DTYPE_PROMOTION",
    "JAX_NUMPY_RANK_PROMOTION",
    "JAX_THREEFRY_PARTITIONABLE",
    "JAX_USE_SHARDY_PARTITIONER",
)
OPTIONS_OF_COMPILERS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")
"""Variables people set to change what is compiled. They stay out too, and that is said."""
_COMPILER_VARIABLE = re.compile(
    r"(?:JAX|XLA|TF|TPU|LIBTPU|PJRT|ALLOW_MULTIPLE_LIBTPU)_|CUDA_VISIBLE_DEVICES$|PYTHONHASHSEED$"
)
WORKER = f"{__package__}.worker"
DEFAULT_TIMEOUT = 1800.0
"""Seconds a child may take."""


def child_environment(target_name: str, inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """The child's environment: ours without compiler settings, the allowed ones, the target's, a fixed hash seed."""
    source = os.environ if inherited is None else inherited
    kept = {k: v for k, v in source.items() if k in JAX_ALLOWED or not _COMPILER_VARIABLE.match(k)}
    # No bytecode: a source changed twice within a second would otherwise be read from a stale cache.
    return kept | {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"} | target(target_name).environment()


def run_child(
    request: ChildRequest,
    on_progress: Progress | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    python: str | None = None,
) -> ChildResult:
    """Capture in a fresh Python, as `ask` does. Whatever happens to the child is a ChildFailure with a sentence."""
    said = ask(WORKER, request, request.target, on_progress=on_progress, timeout=timeout, python=python)
    if isinstance(said, ChildFailure):
        return ChildResult(None, said)
    report = ChildReport.model_validate_json(said)
    if report.failure is not None:
        return ChildResult(None, report.failure, report.inputs)
    return ChildResult(Path(request.out), None, report.inputs, report.mesh)


def ask(
    module: str,
    request: Message,
    target_name: str,
    *,
    on_progress: Progress | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    python: str | None = None,
) -> str | ChildFailure:
    """Run a module in a fresh Python and wait for its report, the text it writes as its last act (see `worker`).

    It and everything it started are ended when it is done, at the time limit, and when this process is interrupted or
    dies. `on_progress` gets a line for every phase.
    """
    with temporary_folder() as work:
        (work / "request.json").write_text(request.model_dump_json())
        reader, writer = os.pipe()
        report = work / "report.json"
        arguments = [str(work / "request.json"), str(report), str(writer)]
        heard: list[str] = []

        def tell(line: str) -> None:
            heard[:] = [line]
            if on_progress is not None:
                on_progress(line)

        with open(work / "stdout", "ab+") as out, open(work / "stderr", "ab+") as err:
            environment = child_environment(target_name)
            try:
                child = Guarded(module, arguments, work, environment, python, [writer], stdout=out, stderr=err)
            except OSError as error:
                os.close(reader)
                return ChildFailure(message=f"cannot start {python or sys.executable}: {error.strerror}")
            finally:
                os.close(writer)
        try:
            in_time = _wait(child.process, reader, tell, timeout, report)
        finally:
            # Once the report is there, nothing depends on the end of the child.
            child.end(wait=not report.is_file())
            os.close(reader)
        if not in_time:
            message = f"the child process for {target_name} was stopped after {timeout:g} s{_during(heard)}"
            return ChildFailure(message=message, help="give it more time with --timeout SECONDS")
        if report.is_file():
            return report.read_text()
        return _died(target_name, work / "stderr", child.process.returncode, heard)


def _during(heard: list[str]) -> str:
    """What the child was at, as it said last."""
    return f", during `{heard[0]}`" if heard else ""


def _died(target_name: str, stderr: Path, code: int, heard: list[str]) -> ChildFailure:
    words = last_words(stderr.read_text(errors="replace"))
    message = f"the child process for {target_name} {ended(code)} before it could report{_during(heard)}"
    if while_loading(words):
        return ChildFailure(message=f"{message}, while it loaded the compiler", help=advice(code, words))
    tail = [f"    {line}" for line in words]
    return ChildFailure(
        message="\n".join([message + (", its last words:" if tail else ""), *tail]), help=advice(code, words)
    )


def _wait(child: subprocess.Popen[bytes], reader: int, tell: Progress, timeout: float, report: Path) -> bool:
    """Read progress until the child ends or has reported, its last act; False at the time limit."""
    deadline = time.monotonic() + timeout
    buffer = b""
    with selectors.DefaultSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            # Grandchildren may hold the pipe open, so its end is not the only sign that the child is gone.
            if selector.select(min(left, 0.2)):
                data = os.read(reader, 65536)
                if not data:
                    break
                buffer += data
                *lines, buffer = buffer.split(b"\n")
                for line in lines:
                    tell(line.decode(errors="replace"))
            elif child.poll() is not None or report.is_file():
                break
    while not report.is_file() and child.poll() is None:
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
    return True
