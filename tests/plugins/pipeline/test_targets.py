"""What is said of compiler options that the caller has set and that a capture is made without."""

from __future__ import annotations

import pytest
from contract_lint.plugins.pipeline.targets import note_options
from contract_lint.runtime.launch import OPTIONS_OF_COMPILERS, child_environment


@pytest.mark.parametrize(
    ("environment", "begins"),
    [
        ({"XLA_FLAGS": "--xla_x=1"}, "XLA_FLAGS is set here and left out"),
        ({"XLA_FLAGS": "--a", "LIBTPU_INIT_ARGS": "--b"}, "XLA_FLAGS and LIBTPU_INIT_ARGS are set here and left out"),
        ({"XLA_FLAGS": " ", "PATH": "/bin"}, None),
    ],
)
def test_one_line_where_options_are_set(environment: dict[str, str], begins: str | None) -> None:
    told: list[str] = []
    note_options(told.append, environment)
    assert [line.partition(":")[0] for line in told] == ([] if begins is None else [begins])
    assert all("compiler_options" in line for line in told)


def test_what_is_named_is_indeed_left_out() -> None:
    inherited = dict.fromkeys(OPTIONS_OF_COMPILERS, "--x")
    for target in ("cpu:8", "tpu:v5e:2x2", "cuda:h100:1x8"):
        assert not any(value == "--x" for value in child_environment(target, inherited).values())
