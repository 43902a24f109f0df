"""Which targets a verb works on, and what is said of compiler options that a capture is made without."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.plugins.pipeline.targets import note_options, possible_targets
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


@pytest.mark.parametrize(
    ("named", "left", "told"),
    [
        ("cpu:4, tpu:v5e:3x5, npu:1, cpu:9999, tpu:v5e:2x2", ["cpu:4", "tpu:v5e:2x2"], 3),
        ("cpu:4", ["cpu:4"], 0),
        ("npu:1", ["npu:1"], 0),
    ],
)
def test_a_target_that_there_is_not_stops_no_other(tmp_path: Path, named: str, left: list[str], told: int) -> None:
    path = tmp_path / "c.contract.yaml"
    targets = ", ".join(f'"{name}"' for name in named.split(", "))
    path.write_text(f"contract: 1\nname: c\nstep: {{ train: {{ entry: 'a:b' }} }}\ntargets: [{targets}]\n")
    said: list[str] = []
    assert possible_targets(load_contract(path), said.append) == left
    assert len(said) == told and all("there is no such target" in line for line in said)
