"""The child process: checks what a request needs, does it, and reports.

`python -m contract_lint.runtime.worker REQUEST REPORT FD`: REQUEST is a ChildRequest as JSON, REPORT the path the
ChildReport is written to, FD the file descriptor progress lines go to. File descriptors 1 and 2 are files that the
parent opened; what the compiler writes to 2 is read back from there. jax is imported once its versions are known to
belong together: a wrong pair would end in the traceback of that import.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

from ..contracts.errors import ContractLintError
from .inputs import InputFiles
from .launch import JAX_ALLOWED
from .request import ChildFailure, ChildReport, ChildRequest, Message, StepFailure
from .targets import Effort, target

Progress = Callable[[str], None]
Request = TypeVar("Request", bound=Message)


def main(argv: list[str]) -> int:
    """Entry of the child that captures. Always writes a report, unless the process dies."""
    inputs = InputFiles()

    def capture(request: ChildRequest, progress: Progress) -> ChildReport:
        require(request.target, request.effort)
        progress(f"starting {request.target}")
        from .requested import capture_request

        mesh = capture_request(request, progress, inputs)
        return ChildReport(inputs=inputs.files(Path(request.out)), mesh=mesh)

    def failed(request: ChildRequest, failure: ChildFailure) -> ChildReport:
        return ChildReport(failure=failure, inputs=inputs.files(Path(request.out)))

    return serve(argv, ChildRequest, capture, failed)


def serve(
    argv: list[str],
    kind: type[Request],
    work: Callable[[Request, Progress], Message],
    failed: Callable[[Request, ChildFailure], Message],
) -> int:
    """Read the request, do the work and write the report; `failed` makes one of a StepFailure. Gives the exit code."""
    request_path, report_path, descriptor = Path(argv[0]), Path(argv[1]), int(argv[2])
    os.set_inheritable(descriptor, False)
    request = kind.model_validate_json(request_path.read_text())

    def progress(line: str) -> None:
        try:
            os.write(descriptor, f"{line}\n".encode())
        except BrokenPipeError:
            os._exit(1)  # the parent is gone: nobody waits for what would follow
        except OSError:
            pass  # user code closed every descriptor it found

    try:
        report = work(request, progress)
    except StepFailure as error:
        report = failed(request, error.as_failure())
    # Once the report is there the parent goes on: it waits neither for what threads of user code still do, nor for the
    # system to take back the memory of this process. The end of the progress lines says that it is there.
    partial = report_path.with_suffix(".partial")
    partial.write_text(report.model_dump_json())
    partial.rename(report_path)
    with contextlib.suppress(OSError):
        os.close(descriptor)
    return 0


def require(target_name: str, effort: Effort | None = None) -> None:
    """Raises StepFailure where this Python lacks what the target needs, or has a jax that cannot be imported."""
    try:
        target(target_name, effort).require()
        import jax  # noqa: F401
    except ContractLintError as error:
        raise StepFailure(error.message, help=error.help) from None
    except Exception as error:  # whatever a broken installation raises
        said = (str(error).strip().splitlines() or ["it does not say why"])[0]
        variable = next((name for name in JAX_ALLOWED if name in os.environ and name in said), None)
        again = (
            "install jax and jaxlib again in that Python" if variable is None else f"set {variable} otherwise, or not"
        )
        raise StepFailure(
            f"jax cannot be imported in {sys.executable}: {type(error).__name__}: {said}",
            help=f"{again}; your step has nothing to do with this",
        ) from None


def leave(code: int) -> NoReturn:
    """End the child. Nobody waits for what is left to tear down: compiled programs, simulated devices, threads of user
    code."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
