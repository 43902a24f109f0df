"""Whatever happens in the child is one paragraph here, and nothing of it stays behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from contract_lint.runtime.launch import JAX_ALLOWED, child_environment, run_child
from contract_lint.runtime.request import ChildResult, MeshRequest, StepRequest

from .conftest import HERE, child_request, line_at
from .processes import alive, eventually

ROOT = Path(__file__).resolve().parents[2]

Failing = Callable[..., ChildResult]


def stub(folder: Path, body: str) -> str:
    """An executable that stands in for Python."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_time_limit_kills_the_whole_group(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    python = stub(tmp_path, f"sleep 300 & echo $! > {pid_file}; wait")
    start = time.monotonic()
    result = run_child(child_request(tmp_path / "out", ["linear"]), timeout=1.0, python=python)
    assert time.monotonic() - start < 20
    assert result.error is not None and "stopped after 1 s" in result.error
    pid = int(pid_file.read_text())
    assert eventually(lambda: not alive(pid))


def test_death_by_signal_is_told_with_its_last_words(tmp_path: Path) -> None:
    python = stub(tmp_path, "echo 'F0000 hlo_parser.cc:1237] Check failed' >&2; kill -ABRT $$")
    result = run_child(child_request(tmp_path / "out", ["linear"]), timeout=30, python=python)
    assert result.error is not None
    assert "SIGABRT" in result.error and "Check failed" in result.error


def test_exit_without_report(tmp_path: Path) -> None:
    python = stub(tmp_path, "echo \"No module named 'jax'\" >&2; exit 1")
    result = run_child(child_request(tmp_path / "out", ["linear"]), timeout=30, python=python)
    assert result.error is not None and "exit code 1" in result.error and "[jax]" in result.error


def test_python_that_does_not_exist(tmp_path: Path) -> None:
    result = run_child(child_request(tmp_path / "out", ["linear"]), python=str(tmp_path / "nowhere"))
    assert result.error is not None and "cannot start" in result.error


def test_environment_is_cleaned() -> None:
    inherited = {
        "PATH": "/bin", "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "tpu",
        "JAX_ENABLE_X64": "1", "JAX_COMPILATION_CACHE_DIR": "/x", "TF_CPP_MIN_LOG_LEVEL": "3",
    }  # fmt: skip
    found = child_environment("cpu:8", inherited)
    assert found["JAX_PLATFORMS"] == "cpu" and found["TF_CPP_MIN_LOG_LEVEL"] == "1"
    assert found["JAX_ENABLE_X64"] == "1" and "JAX_ENABLE_X64" in JAX_ALLOWED
    assert found["PATH"] == "/bin"
    assert "XLA_FLAGS" not in found and "JAX_COMPILATION_CACHE_DIR" not in found


def test_abort_in_user_code(tmp_path: Path) -> None:
    result = run_child(child_request(tmp_path / "out", ["aborts"]), timeout=120)
    assert result.error is not None
    assert "SIGABRT" in result.error and "about to die" in result.error
    assert "during `aborts: build`" in result.error
    assert f'small_steps.py", line {line_at("aborts")} in aborts' in result.error


def test_a_child_that_has_reported_is_not_waited_for(tmp_path: Path) -> None:
    """User code that closes every descriptor it finds and leaves a thread behind is captured all the same."""
    start = time.monotonic()
    result = run_child(child_request(tmp_path / "out", ["rude"]), timeout=120)
    assert time.monotonic() - start < 110
    assert result.error is None and result.capture_dir is not None
    assert (result.capture_dir / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("name", "sentence", "mark"),
    [
        ("build_error", "RuntimeError: no data today", "build_error"),
        ("user_error", "KeyError: 'nothing'", "user_error"),
        ("interrupts", "KeyboardInterrupt", "interrupts"),
        ("unspeakable", "Unspeakable", "unspeakable"),
    ],
)
def test_exceptions_show_the_users_frames_only(failing: Failing, name: str, sentence: str, mark: str) -> None:
    failure = failing(name).failure
    assert failure is not None
    assert sentence in failure.message
    assert (failure.path, failure.line) == ("small_steps.py", line_at(mark))
    frames = [line for line in failure.message.splitlines() if line.startswith("    ")]
    assert frames and all("small_steps.py" in line for line in frames)


def test_several_failures_in_one_python(tmp_path: Path) -> None:
    """Mistakes that end before jax has anything to do: one child each would only be slow."""
    requests = {
        "no module": StepRequest(name="s", entry="smal_steps:linear", path=[str(HERE)]),
        "no attribute": StepRequest(name="s", entry="small_steps:linea", path=[str(HERE)]),
        "bad args": StepRequest(name="s", entry="small_steps:linear", path=[str(HERE)], args={"widht": 3}),
        "no fn": StepRequest(name="s", entry="small_steps:no_fn", path=[str(HERE)]),
        "bad donate": StepRequest(name="s", entry="small_steps:bad_donate", path=[str(HERE)]),
        "exit": StepRequest(name="s", entry="small_steps:exits", path=[str(HERE)]),
    }
    expected = {
        "no module": "there is no module `smal_steps`",
        "no attribute": "did you mean `small_steps:linear`?",
        "bad args": "unexpected keyword argument 'widht'",
        "no fn": "it has no attribute `fn`",
        "bad donate": "names 'state', which is none of its arguments (x)",
        "exit": "SystemExit: giving up",
    }
    script = tmp_path / "failures.py"
    script.write_text(_FAILURES)
    import json
    import subprocess
    import sys

    payload = json.dumps({name: request.model_dump() for name, request in requests.items()})
    done = subprocess.run(
        [sys.executable, str(script), payload],
        capture_output=True,
        text=True,
        env=child_environment("cpu:8"),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for name, sentence in expected.items():
        assert sentence in found[name], (name, found[name])
        assert f"{ROOT}/" not in found[name]


_FAILURES = """
import json, sys
from contract_lint.runtime.targets import target
chosen = target("cpu:8")
chosen.configure()
from contract_lint.runtime import build
from contract_lint.runtime.errors import failure
from contract_lint.runtime.request import MeshRequest, StepFailure, StepRequest
mesh = build.make_mesh(MeshRequest(axes={"data": 2, "fsdp": 4}), chosen)
found = {}
for name, fields in json.loads(sys.argv[1]).items():
    request = StepRequest(**fields)
    paths = build.project_paths(request.path[0], [request])
    try:
        builder = build.load_builder(request, paths)
        build.call_build(builder, request, request.args, mesh)
    except (Exception, SystemExit) as error:
        found[name] = str(failure(error, paths, "building"))
print(json.dumps(found))
"""


def test_what_build_returns_instead_of_a_step_is_placed(failing: Failing) -> None:
    failure = failing("returns_nothing").failure
    assert failure is not None and failure.message.startswith("build returned None, which is no step")
    assert (failure.path, failure.line) == ("small_steps.py", line_at("returns_nothing"))


def test_a_call_that_repeats_itself_is_shown_once(failing: Failing) -> None:
    failure = failing("recursive").failure
    assert failure is not None and "RecursionError" in failure.message
    assert failure.message.count("in recursive") == 1


def test_mesh_that_does_not_fit(failing: Failing) -> None:
    failure = failing("linear", mesh=MeshRequest(axes={"data": 2, "fsdp": 2})).failure
    assert failure is not None
    assert "data=2 x fsdp=2 needs 4 devices, but cpu:8 has 8" in failure.message
    assert failure.key == ["mesh", "axes"]


def test_mesh_wanted_but_not_promised(failing: Failing) -> None:
    failure = failing("linear", mesh=None).failure
    assert failure is not None and "takes `mesh`, but the contract has no `mesh` section" in failure.message


def test_keyboard_interrupt_kills_the_child(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    python = stub(tmp_path, f"echo $$ > {pid_file}; for last; do :; done; echo ready > /dev/fd/$last; sleep 300")

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_child(child_request(tmp_path / "out", ["linear"]), interrupt, timeout=60, python=python)
    assert not alive(int(pid_file.read_text()))


def test_a_setting_that_jax_cannot_read_is_named_and_not_the_installation(
    failing: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAX_ENABLE_X64", "junk")
    failure = failing("linear").failure
    assert failure is not None and "'junk'" in failure.message
    assert (failure.help or "").startswith("set JAX_ENABLE_X64 otherwise, or not; ")
