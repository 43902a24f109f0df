"""Facts of traced programs: what counts as an unrolled layer, where constants are used, and how long it takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from contract_lint.runtime.jaxpr import needed
from contract_lint.runtime.launch import child_environment

CASES = Path(__file__).with_name("jaxpr_cases.py")


def line_at(mark: str) -> int:
    return next(n for n, line in enumerate(CASES.read_text().splitlines(), 1) if line.endswith(f"# at: {mark}"))


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(CASES)], capture_output=True, text=True, env=child_environment("cpu:1"), timeout=240
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def copies(facts: dict[str, Any]) -> list[int]:
    return [repeat["copies"] for repeat in facts["repeats"]]


def test_layers_that_feed_each_other_are_unrolled(facts: dict[str, Any]) -> None:
    assert copies(facts["unrolled"]) == [4]
    assert facts["unrolled"]["repeats"][0]["equations"] == 3
    assert facts["unrolled"]["repeats"][0]["frames"][0]["path"] == "jaxpr_cases.py"


def test_forward_and_backward_are_found(facts: dict[str, Any]) -> None:
    assert len(copies(facts["gradient"])) == 2 and min(copies(facts["gradient"])) >= 4


def test_calls_count_with_what_they_call(facts: dict[str, Any]) -> None:
    assert copies(facts["called"]) == [5]
    assert facts["called"]["repeats"][0]["equations"] == 4
    assert facts["called"]["dots"][0]["count"] == 5


def test_a_sum_over_a_python_loop_is_unrolled(facts: dict[str, Any]) -> None:
    assert copies(facts["accumulated"]) == [4]


@pytest.mark.parametrize("name", ["side_by_side", "update"])
def test_equal_blocks_that_do_not_feed_each_other_are_no_loop(facts: dict[str, Any], name: str) -> None:
    assert copies(facts[name]) == []


def test_calls_of_calls_are_counted_without_being_followed(facts: dict[str, Any]) -> None:
    assert facts["nested"]["dots"][0]["count"] == 2**40
    assert facts["nested"]["took"] < 5


@pytest.mark.parametrize("name", ["while", "cond"])
def test_a_constant_points_at_its_first_use(facts: dict[str, Any], name: str) -> None:
    (constant,) = facts[f"in_{name}"]["constants"]
    assert constant["shape"] == [8, 8]
    assert constant["frames"][0]["line"] == line_at(name)


def test_a_while_has_no_static_length(facts: dict[str, Any]) -> None:
    assert [(loop["primitive"], loop["length"]) for loop in facts["in_while"]["loops"]] == [("while", None)]


def test_long_programs_are_searched_in_time(facts: dict[str, Any]) -> None:
    assert copies(facts["long"]) == [1000]
    assert facts["long"]["took"] < 20


def test_dimensions_without_a_size_are_reported(facts: dict[str, Any]) -> None:
    assert facts["symbolic"]["dynamic_shapes"]
    assert not facts["unrolled"]["dynamic_shapes"]


def test_what_no_output_needs_is_left_out() -> None:
    """A metric beside the loss, in a scan too, and what is returned stays."""

    def summed(x: Any) -> Any:
        def layer(carry: Any, row: Any) -> Any:
            return (carry[0] + row, carry[1] + jnp.sin(row)), None

        (total, unused), _ = jax.lax.scan(layer, (x[0], x[0]), x)
        jnp.cos(unused)
        return total

    kept = needed(jax.make_jaxpr(summed)(np.ones((3, 2), np.float32)))
    assert "add" in str(kept) and "sin" not in str(kept) and "cos" not in str(kept)
