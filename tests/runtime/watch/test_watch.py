"""`watch()`: what a loop compiles and reads, with the line of each; and what it must not report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from contract_lint.runtime.watch.compiles import Explanation, explain_miss, program_name

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def watched() -> dict[str, Any]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_"))}
    done = subprocess.run(
        [sys.executable, str(HERE / "children" / "watching.py")],
        env=environment | {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "8"},
        cwd=HERE / "children",
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_clean_loop_compiles_once_and_reads_nothing(watched: dict[str, Any]) -> None:
    assert watched["clean"] == [1, []]


@pytest.mark.parametrize(
    ("kind", "mark"),
    [
        ("float()", "float"),
        (".item()", "item"),
        ("print or repr", "shown"),
        ("f-string or format", "formatted"),
        ("bool()", "bool"),
        ("jax.device_get", "get"),
        ("np.asarray", "asarray"),
        ("np.isnan", "isnan"),
        (".tolist()", "tolist"),
    ],
)
def test_every_kind_of_read_is_reported_with_its_line(watched: dict[str, Any], kind: str, mark: str) -> None:
    found = [event for event in watched["seen"] if event[2] == watched["lines"][mark]]
    kinds = {kind, "print or str"} if kind == "print or repr" else {kind}
    assert len(found) == 2, f"once for a sharded array, once for an array on one device: {found}"
    assert {event[0] for event in found} <= kinds


def test_reads_of_another_thread_are_seen(watched: dict[str, Any]) -> None:
    assert ["int()", watched["lines"]["thread"]] in [[e[0], e[2]] for e in watched["seen"]]


def test_the_index_is_that_of_the_loop_step(watched: dict[str, Any]) -> None:
    assert {event[1] for event in watched["seen"] if event[2] == watched["lines"]["float"]} == {0, 1}


def test_callbacks_are_labelled_with_the_line_that_asked_for_them(watched: dict[str, Any]) -> None:
    found = sorted((kind, line) for kind, _, line in watched["inner"])
    lines = watched["lines"]
    assert found == [("callback io_callback", lines["io"])] * 3 + [("callback jax.debug.print", lines["print"])]


def test_a_callback_lowered_before_the_watch_is_still_a_callback(watched: dict[str, Any]) -> None:
    kind, _, line = watched["seen"][-1]
    assert (kind, line) == ("callback that reads: float()", watched["lines"]["early"])


def test_a_recompile_names_the_argument(watched: dict[str, Any]) -> None:
    [[reason, argument, line]] = watched["recompiled"]
    assert argument == "y" and line == watched["lines"]["weak"]
    assert "weak_type=True} before" in reason and "weak_type=False} now" in reason


def test_everything_is_put_back(watched: dict[str, Any]) -> None:
    assert watched["restored"] is True


def test_only_the_users_files_are_named(watched: dict[str, Any]) -> None:
    assert watched["paths"] == ["watching.py"]


def test_log_messages_of_the_tracing_cache_are_understood() -> None:
    weak = (
        "TRACING CACHE MISS at /x/step.py:26:3 (<module>):\n  for step defined at /x/step.py:16\n"
        "  all previously seen cache keys differ. For the closest previous key:\n  different input types:\n"
        "  * at y, now f32[]{weak_type=False} and before f32[]{weak_type=True}https://docs.jax.dev/en/latest/x.html#weak"
    )
    reason = "y: f32[]{weak_type=True} before, f32[]{weak_type=False} now"
    assert explain_miss(weak) == ("step", Explanation(reason, "y"))
    anew = (
        "TRACING CACHE MISS at /x/step.py:29:21 (<module>):\n  never seen function:\n"
        "    <lambda> id=14 defined at /x/step.py:29\n"
        "  but seen another function defined on the same line; maybe the function is\n"
        "  being re-defined repeatedly, preventing caching?"
    )
    name, explanation = explain_miss(anew) or (None, None)
    assert name == "<lambda>" and explanation is not None and "defined anew" in explanation.reason
    assert explain_miss("Finished tracing") is None
    assert program_name("jit(<lambda>)") == "<lambda>" and program_name("step") == "step"
