"""Of what a dead child said, what matters is shown; a crash with its stack down to the user's own lines."""

from __future__ import annotations

import signal
from pathlib import Path

import contract_lint.runtime
import pytest
from contract_lint.runtime.last_words import SHOWN, advice, ended, last_words, while_loading

# As jax 0.10.2 with its CUDA plugin and libtpu 0.0.42 write them on a machine without card, driver and TPU.
NOISE = """\
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1796030252.979605    4296 cudart_stub.cc:31] Could not find cuda drivers on your machine.
E0000 00:00:1796030252.979605    4296 cuda_dnn.cc:8579] Unable to register cuDNN factory: Attempting to register factory
WARNING: Logging before InitGoogle() is written to STDERR
"""
RUNTIME = Path(contract_lint.runtime.__file__).parent
CRASH = f"""\
Fatal Python error: Aborted

Current thread 0x00007f1fd89feb80 (most recent call first):
  File "/home/somebody/train.py", line 15 in step
  File "{RUNTIME}/trainer/step.py", line 3 in fn
  File "{RUNTIME}/capture.py", line 144 in capture_step
  File "{RUNTIME}/worker.py", line 72 in <module>
  File "<frozen runpy>", line 88 in _run_code

Extension modules: numpy._core._multiarray_umath, jaxlib.cpu_feature_guard
"""


def test_noise_is_left_out_wherever_it_stands() -> None:
    assert last_words(NOISE) == []
    said = ["Traceback (most recent call last):", "ValueError: no"]
    assert last_words(f"{NOISE}{said[0]}\n{NOISE}\n{said[1]}\n{NOISE}") == said


@pytest.mark.parametrize(
    "line",
    [
        "F0000 00:00:1796030252.979605    4296 hlo_parser.cc:1237] Check failed: x",
        "E0000 00:00:1796030252.979605    4296 slow_operation.cc:1] the compile is slow",
        "W1130 09:17:36.979605    4296 spmd.cc:1] [SPMD] Involuntary full rematerialization.",
        "Information: I am a line of user code",
    ],
)
def test_what_may_matter_stays(line: str) -> None:
    assert last_words(f"{NOISE}{line}\n{NOISE}") == [line]


def test_a_crash_is_told_from_its_head_to_the_users_lines() -> None:
    words = last_words(f"{NOISE}one\nabout to die\n{CRASH}")
    assert words[:3] == ["one", "about to die", "Fatal Python error: Aborted"]
    assert not any("Extension modules" in line for line in words)
    assert [line.split('"')[1] for line in words if "File" in line] == [
        "/home/somebody/train.py",
        f"{RUNTIME}/trainer/step.py",
    ]


def test_no_more_than_a_few_lines_of_a_few_words() -> None:
    words = last_words("\n".join("x" * 9999 for _ in range(99)))
    assert len(words) == SHOWN and max(map(len, words)) < 999


def test_how_it_ended() -> None:
    assert ended(1) == "ended with exit code 1"
    assert ended(-signal.SIGSEGV) == "was killed by SIGSEGV"
    assert ended(-200) == "was killed by signal 200"


def test_advice() -> None:
    assert "memory" in (advice(-signal.SIGKILL, []) or "")
    assert "[jax]" in (advice(1, ["x", "No module named 'jax'"]) or "")
    assert advice(1, ["No module named 'jax'", "x"]) is None


LOADING = """\
Fatal Python error: Bus error

Current thread 0x00007fc26e602b80 (most recent call first):
  File "/venv/jaxlib/xla_client.py", line 115 in load_pjrt_plugin_dynamically
  File "/venv/jax/_src/xla_bridge.py", line 1203 in make_pjrt_tpu_topology
"""


def test_a_crash_while_a_compiler_is_loaded_is_told_from_one_in_user_code() -> None:
    assert while_loading(last_words(LOADING)) and not while_loading(last_words(CRASH))
    assert "install it again" in (advice(-signal.SIGBUS, last_words(LOADING)) or "")
    assert advice(-signal.SIGABRT, last_words(CRASH)) is None


def test_a_full_disk_is_told_with_the_places_that_may_be_full() -> None:
    words = last_words("LLVM ERROR: IO failure on output stream: No space left on device\n")
    assert "--cache-dir" in (advice(1, words) or "") and "TMPDIR" in (advice(1, words) or "")
