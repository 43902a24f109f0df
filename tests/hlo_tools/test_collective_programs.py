"""Programs compiled here and now for 8 CPU devices: the ledger says what their source says."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.hlo_tools.collectives import CollectiveLedger, collectives
from contract_lint.hlo_tools.module import parse_hlo

pytest.importorskip("jax")

CHILD = Path(__file__).with_name("collective_programs_child.py")


@pytest.fixture(scope="module")
def programs() -> dict[str, Any]:
    environment = {key: value for key, value in os.environ.items() if key not in ("XLA_FLAGS", "JAX_PLATFORMS")}
    done = subprocess.run([sys.executable, str(CHILD)], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def summary(ledger: CollectiveLedger) -> Counter[tuple[str, Any, int, int]]:
    found: Counter[tuple[str, Any, int, int]] = Counter()
    for total in ledger.totals():
        found[total.kind, total.axes, total.count, total.elements] += 1
    return found


def test_kind_axes_executions_and_elements_follow_from_the_source(programs: dict[str, Any]) -> None:
    assert len(programs) == 14
    for name, made in programs.items():
        ledger = collectives(parse_hlo(made["text"]), MeshFact(axes=made["axes"]))
        expected = Counter((kind, tuple(axes), times, times * each) for kind, axes, times, each in made["expected"])
        assert summary(ledger) == expected, name
        assert ledger.devices == 8 and not ledger.unknown_loops, name


def test_every_collective_names_its_line_of_source(programs: dict[str, Any]) -> None:
    for name, made in programs.items():
        for row in collectives(parse_hlo(made["text"])).rows:
            assert row.source and row.source.startswith(str(CHILD)), (name, row.name, row.source)
            assert row.frames[0].function, name
            assert row.scope.startswith("jit("), name


def test_text_and_proto_of_one_program_give_one_ledger(programs: dict[str, Any]) -> None:
    for name, made in programs.items():
        mesh = MeshFact(axes=made["axes"])
        from_text = collectives(parse_hlo(made["text"]), mesh)
        from_proto = collectives(parse_hlo(base64.b64decode(made["proto"])), mesh)
        assert from_proto.as_json() == from_text.as_json(), name
