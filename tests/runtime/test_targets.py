"""Target names."""

from __future__ import annotations

import subprocess
import sys

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.runtime.targets import target


def test_cpu_target() -> None:
    found = target("cpu:8")
    assert (found.name, found.platform, found.device_count, found.executes) == ("cpu:8", "cpu", 8, True)
    assert found.environment()["JAX_PLATFORMS"] == "cpu"


@pytest.mark.parametrize("name", ["cpu", "cpu:", "cpu:0", "cpu:-1", "cpu:2049", "cpu:99999999", "cpu:8 ", "gpu:8", ""])
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(ContractLintError):
        target(name)


def test_the_parent_side_never_imports_jax() -> None:
    code = (
        "import sys; import contract_lint.runtime.launch, contract_lint.runtime.contract, contract_lint.runtime.cache;"
        "sys.exit('jax' in sys.modules or 'jaxlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
