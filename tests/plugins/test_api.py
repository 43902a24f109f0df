"""`import contract_lint as cl`: cheap to import, and the documented functions are there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import contract_lint as cl
import pytest
from contract_lint.contracts.errors import ContractLintError

CONTRACT = (
    'contract: 1\nname: small\nstep: { train: { entry: "a:b" } }\ntargets: [cpu:8]\nmesh: { axes: { data: 8 } }\n'
)


def test_import_costs_nothing() -> None:
    code = "import contract_lint, sys, json; print(json.dumps(sorted(m for m in sys.modules if 'contract_lint' in m)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert [name for name in json.loads(done.stdout) if not name.startswith("__editable__")] == ["contract_lint"]


def test_every_exported_name_loads() -> None:
    for name in cl.__all__:
        assert getattr(cl, name) is not None


def test_load_and_verify(tmp_path: Path) -> None:
    path = tmp_path / "a.contract.yaml"
    path.write_text(CONTRACT)
    loaded = cl.load_contract(path)
    assert loaded.contract is not None and loaded.contract.name == "small"
    with pytest.raises(ContractLintError, match="empty"):
        (tmp_path / "empty").mkdir()
        cl.verify(path, tmp_path / "empty")


def test_check_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.contract.yaml").write_text("not: one\n")
    (tmp_path / "a.py").write_text(
        "import jax\nimport jax.numpy as jnp\n\n\n@jax.jit\ndef f(x):\n    if jnp.sum(x) > 0:\n        return x\n"
    )
    for paths in (".", "a.py", [tmp_path / "a.py"]):
        report = cl.check_source(paths)
        assert [(f.code, f.location and f.location.line) for f in report.findings] == [("JIT103", 7)]
        assert report.sources == 1 and report.contracts == () and report.exit_code == 1
    assert cl.check_source(ignore=["JIT103"]).findings == ()
    with pytest.raises(ContractLintError, match="does not exist"):
        cl.check_source("nothing.py")


def test_ledgers_from_a_module() -> None:
    text = (
        "HloModule m, num_partitions=2\n\nENTRY e {\n  p = f32[4]{0} parameter(0)\n"
        "  ROOT g = f32[8]{0} all-gather(p), dimensions={0}, replica_groups={{0,1}}\n}\n"
    )
    (row,) = cl.collectives(cl.parse_hlo(text)).rows
    assert (row.kind, row.elements, row.ring_bytes) == ("all-gather", 8, 16)
    with pytest.raises(ContractLintError, match="buffer assignment"):
        cl.memory(cl.parse_hlo(text))
