"""Programs of three backends: the canonical ledger can always be made, and a CPU pair is explained completely."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.hlo_tools.canonical import canonical, explain
from contract_lint.hlo_tools.module import parse_hlo

CORPUS = os.environ.get("CONTRACT_LINT_CORPUS")
pytestmark = pytest.mark.skipif(not CORPUS, reason="CONTRACT_LINT_CORPUS does not name the shared corpus")
COMPILED = sorted((Path(CORPUS or ".") / "corpus" / "compiled").glob("*.hlo.txt.gz")) if CORPUS else []


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.name.split(".hlo")[0])
def test_canonical_ledger_of_every_backend(path: Path) -> None:
    ledger = canonical(parse_hlo(path.read_bytes()))
    assert all(row.count > 0 and row.elements > 0 for row in ledger.rows)
    assert explain(ledger, ledger).complete


def test_fsdp_on_cpu_is_explained_without_remainder() -> None:
    folder = Path(CORPUS or ".") / "corpus" / "compiled"
    before, after = (
        canonical(parse_hlo((folder / f"fsdp_scan.cpu.jax0.10.2.{stage}.hlo.txt.gz").read_bytes()))
        for stage in ("after_spmd", "opt")
    )
    explanation = explain(before, after)
    assert explanation.remainder_elements == 0, explanation.as_json()


def test_mesh_names_do_not_change_what_is_counted() -> None:
    path = Path(CORPUS or ".") / "corpus" / "compiled" / "fsdp_scan.cpu.jax0.10.2.after_spmd.hlo.txt.gz"
    unnamed = canonical(parse_hlo(path.read_bytes()))
    named = canonical(parse_hlo(path.read_bytes()), MeshFact(axes={"everything": unnamed.devices}))
    assert [(r.kind, r.count, r.elements) for r in named.rows] == [(r.kind, r.count, r.elements) for r in unnamed.rows]
