"""An option that the compiler refuses is the step's where the step gave it, and ours where we did."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.manifest import StepFacts
from contract_lint.runtime.launch import run_child
from contract_lint.runtime.refused_option import KIND, refused_option
from contract_lint.runtime.request import StepRequest

from .conftest import HERE, child_request


class JaxRuntimeError(RuntimeError):
    """Stands in for the one of jax, which this process does not import."""


REFUSALS = [
    ("INVALID_ARGUMENT: No such compile option: 'xla_x'", "`xla_x`, which the target's compiler does not know"),
    (
        "INVALID_ARGUMENT: While setting option xla_x, 'abc' is not a valid int32 value.",
        "`xla_x`, with a value that the target's compiler cannot read: 'abc' is not a valid int32 value.",
    ),
    (
        "INVALID_ARGUMENT: Failed to parse 'x' into flag xla_x: ",
        "`xla_x`, with a value that the target's compiler cannot read: 'x'",
    ),
]


@pytest.mark.parametrize(("said", "message"), REFUSALS)
def test_whose_option_it_is(said: str, message: str) -> None:
    found = refused_option(JaxRuntimeError(said), "compile", {"xla_dump_to"})
    assert found is not None and found.kind == KIND
    assert found.message == f"the `compiler_options` of the step ask for {message}"
    assert refused_option(JaxRuntimeError(said), "compile", {"xla_x"}) is None
    assert refused_option(ValueError(said), "compile", ()) is None


def test_any_other_error_is_none() -> None:
    assert refused_option(JaxRuntimeError("INTERNAL: RET_CHECK failure"), "compile", ()) is None


def test_what_the_compiler_says_of_a_real_step(tmp_path: Path) -> None:
    """Both in one child; a third step, without options, is captured all the same."""
    names = ("unknown_option", "unreadable_value", "bare")
    steps = [StepRequest(name=name, entry=f"accelerator_steps:{name}", path=[str(HERE)]) for name in names]
    request = child_request(tmp_path / "out", [], mesh=None).model_copy(update={"steps": steps})
    result = run_child(request, timeout=120)
    assert result.error is None and result.capture_dir is not None
    facts = [StepFacts.model_validate_json((tmp_path / "out" / name / "facts.json").read_text()) for name in names]
    kinds = [(each.error.kind, each.error.frames[0].path) if each.error else None for each in facts]
    assert kinds == [(KIND, "accelerator_steps.py"), (KIND, "accelerator_steps.py"), None]
