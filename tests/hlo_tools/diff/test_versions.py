"""One program from two versions of jax: the report names the memory and the buffers responsible, and stays short."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from contract_lint.plugins.pipeline.diff import diff_of
from contract_lint.plugins.report.diff import render_diff

CORPUS = os.environ.get("CONTRACT_LINT_CORPUS")
FOLDER = Path(CORPUS or ".") / "corpus" / "hlo"
pytestmark = pytest.mark.skipif(not CORPUS, reason="CONTRACT_LINT_CORPUS does not name the shared corpus")
OLD, NEW = 243_270_016, 123_732_352
"""Temporary memory by `memory_analysis()`. It is not in the texts: lives and places of the buffers are worked out."""


def test_the_pair_is_explained() -> None:
    found = diff_of(str(FOLDER / "probe__jax0.10.2_cpu_as_text.hlo"), str(FOLDER / "probe__jax0.12_cpu_as_text.hlo"))
    temp = found.diff.metrics["temp"]
    assert (temp.before, temp.after) == (OLD, NEW)
    comment = render_diff(found, "markdown")
    assert len(comment.splitlines()) < 40
    assert f"{OLD:,} B" in comment and f"{NEW:,} B" in comment
    assert "-96.00 MiB wrapped\\_convert.2 f32\\[6,8,512,1024\\]" in comment
    assert "+48.00 MiB wrapped\\_broadcast bf16\\[6,8,512,1024\\]" in comment
    first = found.diff.changes[0]
    assert (first.kind, first.before, first.after) == ("dtype", "f32", "bf16")
    assert not [change for change in found.diff.changes if change.kind == "collective"]


def test_two_spellings_of_one_program_are_one() -> None:
    """A dump writes `%x#1` where `as_text()` has an instruction for the element."""
    pair = (FOLDER / "probe__jax0.12_cpu_dump_compact_gte.hlo", FOLDER / "probe__jax0.12_cpu_as_text.hlo")
    assert diff_of(*map(str, pair)).diff.verdict == "same"
