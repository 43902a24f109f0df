"""Run user code and the compiler in a child process, so that nothing they do reaches this one. Never imports jax."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from .request import ChildFailure, ChildReport, ChildRequest, ChildResult
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
_COMPILER_VARIABLE = re.compile(
    r"(?:JAX|XLA|TF|TPU|LIBTPU|PJRT|ALLOW_MULTIPLE_LIBTPU)_|CUDA_VISIBLE_DEVICES$|PYTHONHASHSEED$"
)
DEFAULT_TIMEOUT = 1800.0
"""Seconds a child may take."""
_TAIL = 12


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
    """Start a fresh Python for a request and wait for it.

    The child leads its own process group, which is killed at the time limit and on KeyboardInterrupt. Whatever happens
    to the child is a ChildFailure with a sentence; `on_progress` gets a line for every phase.
    """
    with tempfile.TemporaryDirectory(prefix="contract-lint-") as folder:
        work = Path(folder)
        (work / "request.json").write_text(request.model_dump_json())
        reader, writer = os.pipe()
        command = [python or sys.executable, "-P", "-m", f"{__package__}.worker"]
        command += [str(work / "request.json"), str(work / "report.json"), str(writer)]
        with open(work / "stdout", "ab+") as out, open(work / "stderr", "ab+") as err:
            try:
                child = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env=child_environment(request.target),
                    pass_fds=[writer],
                    start_new_session=True,
                )
            except OSError as error:
                os.close(reader)
                os.close(writer)
                return ChildResult(None, ChildFailure(message=f"cannot start {command[0]}: {error.strerror}"))
        os.close(writer)
        try:
            in_time = _wait(child, reader, on_progress, timeout)
        finally:
            _kill_group(child)
            os.close(reader)
        if not in_time:
            message = f"the child process for {request.target} was stopped after {timeout:g} s"
            return ChildResult(None, ChildFailure(message=message, help="give it more time with --timeout SECONDS"))
        return _result(request, work, child.returncode)


def _result(request: ChildRequest, work: Path, code: int) -> ChildResult:
    report_path = work / "report.json"
    if not report_path.is_file():
        return ChildResult(None, ChildFailure(message=_died(request, work / "stderr", code)))
    report = ChildReport.model_validate_json(report_path.read_text())
    if report.failure is not None:
        return ChildResult(None, report.failure, report.inputs)
    return ChildResult(Path(request.out), None, report.inputs)


def _died(request: ChildRequest, stderr: Path, code: int) -> str:
    lines = [line for line in stderr.read_text(errors="replace").splitlines() if line.strip()]
    how = f"ended with exit code {code}"
    if code < 0:
        try:
            how = f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            how = f"was killed by signal {-code}"
    message = f"the child process for {request.target} {how} before it could report"
    if "No module named" in "".join(lines[-1:]):
        message += "; is contract_lint installed in that Python, with its extra [jax]?"
    tail = [f"    {line[:300]}" for line in lines[-_TAIL:]]
    return "\n".join([message + (", its last words:" if tail else ""), *tail])


def _wait(child: subprocess.Popen[bytes], reader: int, on_progress: Progress | None, timeout: float) -> bool:
    """Read progress until the child ends; False at the time limit."""
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
                    if on_progress is not None:
                        on_progress(line.decode(errors="replace"))
            elif child.poll() is not None:
                return True
    try:
        child.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """End the child and everything it started."""
    # Neither is possible once the whole group has ended.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
