"""A target that cannot be looked at stops no other: a bad one beside a good one, and nothing but bad ones."""

from __future__ import annotations

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.finding import Location
from contract_lint.plugins.pipeline.not_checked import NotChecked, of_each, stopped


def attempt(target: str) -> str:
    if target.startswith("tpu"):
        raise ContractLintError("libtpu is not installed", help="pip install it")
    if target.startswith("cuda"):
        raise ContractLintError("no plugin", Location("c.yaml", 3))
    return target.upper()


def test_the_others_are_done_and_it_is_told_at_once() -> None:
    said: list[str] = []
    done, missing = of_each(["tpu:v5e:2x2", "cpu:8"], attempt, said.append)
    assert done == ["CPU:8"]
    assert missing == [NotChecked("tpu:v5e:2x2", "libtpu is not installed", None, "pip install it")]
    assert said == ["tpu:v5e:2x2: libtpu is not installed; going on with the other targets"]
    assert of_each(["cpu:8", "cpu:4"], attempt) == (["CPU:8", "CPU:4"], [])
    assert of_each([], attempt) == ([], [])


def test_one_target_alone_is_the_error_itself() -> None:
    with pytest.raises(ContractLintError, match=r"^libtpu is not installed"):
        of_each(["tpu:v5e:2x2"], attempt)


def test_where_none_is_left_all_are_named_each_reason_once() -> None:
    with pytest.raises(ContractLintError) as raised:
        of_each(["tpu:v5e:2x2", "cuda:h100:1x8", "tpu:v5e:4x4"], attempt)
    text = str(raised.value)
    assert text.count("libtpu is not installed") == 1
    assert "tpu:v5e:2x2, tpu:v5e:4x4: libtpu is not installed\n  help: pip install it" in text
    assert "cuda:h100:1x8: c.yaml:3: no plugin" in text


def test_any_other_exception_is_ours() -> None:
    with pytest.raises(ZeroDivisionError):
        of_each(["a", "b"], lambda _: 1 // 0)


def test_one_reason_keeps_its_place_and_its_help() -> None:
    error = stopped(
        [NotChecked("a", "why", Location("c.yaml", 3), "do"), NotChecked("b", "why", Location("c.yaml", 3), "do")]
    )
    assert (error.message, str(error.location), error.help) == ("a, b: why", "c.yaml:3", "do")
