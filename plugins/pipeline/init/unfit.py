"""A step that does not fit a device: no contract on it could hold, so what is reported is why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ....contracts.load import load_contract
from ....linters.judge import evidence_of
from ....linters.program.rules.above_device import RULE as ABOVE_DEVICE
from ....linters.trace.rules.out_of_memory import RULE as OUT_OF_MEMORY
from ..judged import judged
from ..report import Report
from .look import Looked
from .yaml_text import yaml_text


def unfit(name: str, step: Mapping[str, Any], looked: Looked, folder: Path) -> Report | None:
    """What is found on a step that is larger than a device of its target, and names no contract; None of one that fits.

    `step` is the contract's section; `folder` takes a contract that promises nothing else.
    """
    (found,) = looked.capture.steps
    target = looked.capture.manifest.provenance.target
    bare = folder / "bare.contract.yaml"
    section = {key: value for key, value in step.items() if key != "path"}  # relative to where the contract would be
    data = {"contract": 1, "name": name, "step": {found: section}, "targets": [target]}
    bare.write_text(yaml_text(data), encoding="utf-8", newline="\n")
    loaded = load_contract(bare, folder).readable()
    evidence = evidence_of(loaded, [looked.capture])
    if not any([*rule.check(each)] for rule in (OUT_OF_MEMORY, ABOVE_DEVICE) for each in evidence):
        return None
    report = judged(loaded, [looked.capture], verb="init")
    # That file is gone when this is read.
    nowhere = (
        replace(finding, location=None) if finding.location and finding.location.path == loaded.path else finding
        for finding in report.findings
    )
    return replace(report, findings=tuple(nowhere), contracts=())
