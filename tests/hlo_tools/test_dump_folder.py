"""Which program of a dump is looked at, and whether the compiler gave it up."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.dump_folder import dumped


def folder_of(tmp_path: Path, **files: int) -> Path:
    for name, size in files.items():
        (tmp_path / name.replace("__", ".")).write_bytes(b"x" * size)
    return tmp_path


def test_a_proto_goes_before_a_larger_text(tmp_path: Path) -> None:
    folder_of(
        tmp_path,
        module_0004__jit_step__cpu_after_optimizations__txt=900,
        module_0004__jit_step__cpu_after_optimizations__hlo__pb=500,
        module_0004__jit_step__before_optimizations__hlo__pb=9000,
    )
    found = dumped(tmp_path)
    assert (found.name, found.refused) == ("jit_step", False)
    assert found.path.name == "module_0004.jit_step.cpu_after_optimizations.hlo.pb"


def test_the_largest_program_or_the_one_that_is_named(tmp_path: Path) -> None:
    folder_of(
        tmp_path,
        module_0001__jit_init__sm_9__0a_gpu_after_optimizations__hlo__pb=10,
        module_0002__jit_step__sm_9__0a_gpu_after_optimizations__hlo__pb=70,
    )
    assert dumped(tmp_path).name == "jit_step"
    assert dumped(tmp_path, "jit_init").path.name.startswith("module_0001")
    with pytest.raises(ContractLintError, match="holds no program 'jit_x', only jit_init, jit_step"):
        dumped(tmp_path, "jit_x")


def test_a_tpu_program_that_did_not_fit(tmp_path: Path) -> None:
    folder_of(
        tmp_path,
        module_0000__jit_fn__cl_93__after_optimizations__hlo__pb=50,
        module_0000__jit_fn__cl_93__after_optimizations_before_buffer_assignment__hlo__pb=90,
        module_0000__jit_fn__cl_93__oom_intermediate_module__hlo__pb=80,
        module_0000__jit_fn__cl_93__oom_intermediate_module__txt=99,
    )
    found = dumped(tmp_path)
    assert (found.name, found.refused) == ("jit_fn", True)
    assert found.path.name == "module_0000.jit_fn.cl_93.after_optimizations.hlo.pb"


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    folder_of(tmp_path, notes__txt=5)
    with pytest.raises(ContractLintError, match=r"neither a capture .* nor a compiler's dump"):
        dumped(tmp_path)
