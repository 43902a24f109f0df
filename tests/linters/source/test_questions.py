"""What asks for the truth of a tracer is found; what tracing can answer is not. JAX says which is which."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest
from contract_lint.linters.source.analyse import check_sources
from contract_lint.linters.source.rules.tracer_branch import RULE
from contract_lint.linters.source.text import plain_source

HEAD = "import jax\nimport jax.numpy as jnp\n\n@jax.jit\ndef f(x, y=2):\n"
REFUSED = (
    "return 0 < x.sum() < 3",
    "return x if 0 < x.sum() < 3 else -x",
    "return any(x > 0)",
    "return all(jnp.isfinite(x))",
    "return all(jnp.isfinite(each).all() for each in (x, x))",
    "return any([x.sum() > 0, x.max() > 0])",
    "return sorted([x.sum(), x.max()])",
    "return sorted([jnp.sum(each) for each in (x, x)])",
    "return max([x.sum(), x.max()])",
    "return list(filter(lambda i: x[i] > 0, range(2)))",
    "match jnp.argmax(x):\n    case None:\n        x = x\n    case 0 | 1:\n        x = -x\nreturn x",
    "return x if (x.sum() if y else x.max()) and y else -x",
)
ANSWERED = (
    "return (0 < x) & (x < 3)",
    "return 0 < x.ndim < 3",
    "return 0 < y < x",
    "return None is x is not y",
    "return max(x.ndim, y)",
    "return any(each > 2 for each in x.shape)",
    "return all([y > 1, len(x) == 2])",
    "return any({'a': x})",
    "return all((True, False))",
    "return sorted([x.sum()])",
    "return sorted([x.sum(), x.max()], key=id)",
    "return max([x.sum(), x.max()], key=lambda each: each.ndim)",
    "return list(filter(lambda i: x.shape[0] > i, range(2)))",
    "return list(filter(None, [1, 0]))",
    "match x.ndim:\n    case 1:\n        return x\n    case _:\n        return -x",
    "match x.sum():\n    case None:\n        return x\n    case jax.Array():\n        return -x",
    "match x.sum():\n    case (1, 2):\n        return x\n    case other:\n        return other",
)


CHILD = Path(__file__).with_name("judged_by_jax.py")


def program(body: str) -> str:
    return HEAD + indent(body, "    ") + "\n"


HELPER = "import jax\nimport jax.numpy as jnp\n\ndef helper(flag):\n    return 1 if flag else 2\n\n"
CALLS = {
    "@jax.jit\ndef f(x):\n    return helper(x.sum() > 0) + helper(flag=x.any())\n": True,
    "f = jax.jit(lambda x: helper(jnp.any(x)))\n": True,
    "@jax.jit\ndef f(x):\n    return helper(x.ndim > 0)\n": False,
    "@jax.jit\ndef f(x):\n    return helper(jnp.split(x, 2)) + helper({'a': x})\n": False,
    "@jax.jit\ndef f(x):\n    return x + 1\n\nhelper(jnp.any(f(jnp.ones(2))))\n": False,
}


def found(body: str) -> list[str]:
    return [each.confidence for each in check_sources([plain_source("example.py", program(body))], selected=[RULE])]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    """What came of each body, all of them run in one child process."""
    programs = {body: program(body) for body in (*REFUSED, *ANSWERED)} | {calls: HELPER + calls for calls in CALLS}
    jobs = [{"source": each, "files": {}, "run": "f(jnp.ones(2))", "alone": False} for each in programs.values()]
    done = subprocess.run(
        [sys.executable, str(CHILD)], input=json.dumps(jobs), capture_output=True, text=True, check=True
    )
    return dict(zip(programs, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("body", REFUSED)
def test_a_question_that_jax_refuses(body: str, outcomes: dict[str, str]) -> None:
    assert "TracerBoolConversionError" in outcomes[body].partition(":")[0].split()
    assert len(found(body)) >= 1


@pytest.mark.parametrize("body", ANSWERED)
def test_a_question_that_tracing_answers(body: str, outcomes: dict[str, str]) -> None:
    assert outcomes[body] == "passed"
    assert found(body) == []


@pytest.mark.parametrize(("calls", "refused"), CALLS.items())
def test_a_flag_that_traced_calls_compute(calls: str, refused: bool, outcomes: dict[str, str]) -> None:
    assert ("TracerBoolConversionError" in outcomes[calls].partition(":")[0].split()) is refused
    findings = check_sources([plain_source("example.py", HELPER + calls)], selected=[RULE])
    assert [each.location.line for each in findings if each.location] == ([5] if refused else [])
