"""The examples, and steps of the same source with other sizes, microbatches and meshes: explained without remainder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.hlo_tools.canonical import Explanation, canonical, explain
from contract_lint.hlo_tools.module import parse_hlo

CHILD = Path(__file__).with_name("examples_child.py")
MESH = {"data": 2, "fsdp": 4}
OTHER_MESHES = [{"data": 4, "fsdp": 2}, {"data": 1, "fsdp": 8}]
LARGE = {"layers": 6, "width": 128, "inner": 384, "vocab": 512, "batch": 48}

Compile = Callable[..., Explanation]


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compile]:
    """explained(example, axes, **build arguments), compiled in a child that lives as long as this module's tests."""
    pytest.importorskip("jax")
    errors = tmp_path_factory.mktemp("examples") / "stderr.txt"
    with errors.open("w") as log:
        child = subprocess.Popen(
            [sys.executable, str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            bufsize=1,
        )
        assert child.stdin and child.stdout
        requests, answers = child.stdin, child.stdout

        def one(example: str, axes: dict[str, int], **build: Any) -> Explanation:
            requests.write(json.dumps({"example": example, "axes": axes, "build": build}) + "\n")
            requests.flush()
            line = answers.readline()
            assert line, f"the compiler died: {errors.read_text()[-2000:]}"
            reply = json.loads(line)
            assert "error" not in reply, reply["error"]
            before, after = (
                canonical(parse_hlo(reply[stage]), MeshFact(axes=axes)) for stage in ("partitioned", "optimized")
            )
            assert before.rows and after.rows
            return explain(before, after)

        yield one
        requests.close()
        child.wait(timeout=60)


def check(explanation: Explanation) -> None:
    assert explanation.complete and explanation.remainder_elements == 0, explanation.as_json()
    # The CPU backend gathers with gathers.
    assert "gather-as-sum" not in explanation.used()


@pytest.mark.parametrize(
    ("example", "axes", "build"),
    [
        ("dense_fsdp", MESH, {"preset": "tiny"}),
        ("shard_map_dp", {"data": 8}, {}),
    ],
)
def test_examples(explained: Compile, example: str, axes: dict[str, int], build: dict[str, Any]) -> None:
    check(explained(example, axes, **build))


def test_gathers_leave_the_loop_over_microbatches_and_sums_stay(explained: Compile) -> None:
    """The head is as large as its gradient and the embedding: sizes alone cannot tell which row became which."""
    explanation = explained("plain_flax", MESH)
    check(explanation)
    hoisted = [step for step in explanation.steps if "hoisted" in step.rewrites]
    assert {(share.row.kind, share.executions) for step in hoisted for share in step.before} == {("all-gather", 2)}
    assert {(share.row.kind, share.executions) for step in hoisted for share in step.after} == {("all-gather", 1)}
    for step in hoisted:
        assert [share.row.scope for share in step.before] == [share.row.scope for share in step.after]
    assert len(hoisted) == 1


@pytest.mark.parametrize("microbatches", [1, 4])
def test_microbatches(explained: Compile, microbatches: int) -> None:
    check(explained("plain_flax", MESH, microbatches=microbatches))


@pytest.mark.parametrize("axes", OTHER_MESHES, ids=str)
def test_meshes(explained: Compile, axes: dict[str, int]) -> None:
    check(explained("plain_flax", axes))


def test_a_larger_model(explained: Compile) -> None:
    check(explained("plain_flax", MESH, **LARGE))


@pytest.mark.slow
@pytest.mark.parametrize("axes", OTHER_MESHES, ids=str)
@pytest.mark.parametrize(
    "build", [{"microbatches": 1}, {"microbatches": 4}, LARGE, LARGE | {"microbatches": 3}], ids=str
)
def test_microbatches_sizes_and_meshes(explained: Compile, axes: dict[str, int], build: dict[str, Any]) -> None:
    check(explained("plain_flax", axes, **build))


@pytest.mark.parametrize("build", [{"compute": "bfloat16"}, {"layers": 2, "hidden": 64, "batch": 32}], ids=str)
def test_data_parallel_by_hand(explained: Compile, build: dict[str, Any]) -> None:
    check(explained("shard_map_dp", {"data": 8}, **build))
