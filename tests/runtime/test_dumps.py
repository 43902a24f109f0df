"""Which dumped files belong to the step's own program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.runtime.dumps import NO_DUMPS, read_dumps
from contract_lint.runtime.targets import target

STAGES = {
    "before_optimizations.txt": "before",
    "0003.xla-partitioner.after_tpu-spmd-partitioning.before_tpu-call-inliner.txt": "partitioned",
    "after_optimizations.txt": "after",
    "after_optimizations.hlo.pb": "proto",
}


def write(folder: Path, module: str, stages: dict[str, str], size: int) -> None:
    for stage, text in stages.items():
        (folder / f"{module}.{stage}").write_text(f"{module} {text}".ljust(size))


def read(folder: Path) -> list[str]:
    dumps = read_dumps(folder, target("tpu:v5e:2x4"))
    assert dumps.optimized_text is not None and dumps.optimized_proto is not None
    texts = [dumps.unoptimized, dumps.partitioned, dumps.optimized_text, dumps.optimized_proto.decode()]
    return [text.strip() for text in texts]


def test_the_largest_program_is_the_step(tmp_path: Path) -> None:
    write(tmp_path, "module_0000.jit_helper", STAGES, 60)
    write(tmp_path, "module_0001.jit_step", STAGES, 90)
    assert read(tmp_path) == [f"module_0001.jit_step {stage}" for stage in STAGES.values()]


def test_a_module_that_was_renumbered_is_found_by_its_name(tmp_path: Path) -> None:
    first, *rest = STAGES.items()
    write(tmp_path, "module_0000.jit_step.cl_1", dict([first]), 90)
    write(tmp_path, "module_0003.jit_step.cl_1", dict(rest), 90)
    write(tmp_path, "module_0001.jit_helper.cl_1", STAGES, 60)
    found = ["module_0000.jit_step.cl_1 before", *(f"module_0003.jit_step.cl_1 {stage}" for _, stage in rest)]
    assert read(tmp_path) == found


def test_without_a_partitioner_the_unoptimised_module_stands_in(tmp_path: Path) -> None:
    write(tmp_path, "module_0000.jit_step", {"before_optimizations.txt": "before"}, 60)
    dumps = read_dumps(tmp_path, target("tpu:v5e:2x4"))
    assert (dumps.was_partitioned, dumps.partitioned, dumps.optimized_text) == (False, dumps.unoptimized, None)


@pytest.mark.parametrize("data", [b"", b"\x0a\x05abc"])
def test_a_program_that_was_not_written_to_its_end_is_told(data: bytes) -> None:
    with pytest.raises(ContractLintError, match=f"cut off after {len(data)} bytes") as caught:
        replace(NO_DUMPS, optimized_proto=data).require_whole()
    assert "TMPDIR" in (caught.value.help or "")


@pytest.mark.parametrize("data", [None, b"\x0a\x03abc"])
def test_a_whole_program_and_none_at_all_are_fine(data: bytes | None) -> None:
    replace(NO_DUMPS, optimized_proto=data).require_whole()
