"""Plants one fault in a copy of an example and holds it to the example's contract.

A fault is a replacement in the example's own source. The copy is verified like any user's project: through the
pipeline, in a child process, on eight CPU devices.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from contract_lint.contracts.finding import Finding
from contract_lint.contracts.load import load_contract
from contract_lint.contracts.plan import without_allowed
from contract_lint.hlo_tools.canonical import canonical
from contract_lint.hlo_tools.capture import read_capture
from contract_lint.plugins.pipeline.verify import verify
from contract_lint.runtime.contract import capture_contract
from contract_lint.runtime.targets import Effort
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = "train.contract.yaml"

SOURCES: dict[str, str] = {
    "dense_fsdp": "mutated_trainer",
    "plain_flax": "",
    "shard_map_dp": "",
    "linen_trainstate": "",
    "equinox_optax": "",
}
"""Folder of each step below the copy of its example; the reference trainer is copied beside its contract."""

SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "dense_fsdp": {"small": {}, "large": {"layers": 6, "d_model": 256, "d_ff": 768, "vocab": 1024, "sequence": 64}},
    "plain_flax": {"small": {}, "large": {"layers": 6, "width": 128, "inner": 384, "vocab": 512, "batch": 48}},
    "shard_map_dp": {"small": {}, "large": {"layers": 6, "features": 64, "hidden": 192, "classes": 32, "batch": 96}},
    "linen_trainstate": {"small": {}, "large": {"layers": 6, "width": 128, "inner": 384, "vocab": 512, "batch": 48}},
    "equinox_optax": {"small": {}, "large": {"layers": 6, "width": 128, "inner": 384, "vocab": 512, "batch": 48}},
}
"""Build arguments of each size; the small one is the example as it stands."""


@dataclass(frozen=True)
class Fault:
    """One replacement and what `verify` must say of it.

    `edits`: (file, old, new); `old` occurs exactly once. `marker` is a text on the line that must be named, in the
    mutated source; None where the finding stands at a key of the contract. `contract`: (key, value) pairs that the
    contract gets, for a fault in sizes or in the mesh. `effort`: of the compiler, where the fault shows at one only.
    """

    name: str
    example: str
    edits: tuple[tuple[str, str, str], ...]
    code: str
    marker: tuple[str, str] | None = None
    key: str | None = None
    run: bool = False
    contract: tuple[tuple[str, Any], ...] = ()
    effort: Effort | None = None

    def __str__(self) -> str:
        return f"{self.example}-{self.name}"


def home(example: str) -> Path:
    """The folder of an example, or of a step that is kept to plant faults in."""
    steps = Path(__file__).parent / "steps" / example
    return steps if steps.is_dir() else ROOT / "examples" / example


def project(folder: Path, example: str, size: str, edits: tuple[tuple[str, str, str], ...] = ()) -> Path:
    """A copy of the example with edits in its source and its contract fitted to a size; returns the contract."""
    target = folder / example
    shutil.copytree(home(example), target, ignore=shutil.ignore_patterns("__pycache__", ".contract-lint"))
    contract = target / CONTRACT
    source = target / SOURCES.get(example, "")
    if SOURCES.get(example):
        shutil.copytree(ROOT / "runtime" / "trainer", source, ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in edits:
        text = (source / name).read_text()
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {name}"
        (source / name).write_text(text.replace(old, new))
    _fit(contract, example, size)
    return contract


def _fit(path: Path, example: str, size: str) -> None:
    yaml = YAML()
    data = yaml.load(path.read_text())
    step = data["step"]["train"]
    arguments = SIZES[example][size] if example in SIZES else {}
    if SOURCES.get(example):
        step["entry"], step["path"] = f"{SOURCES[example]}:build", ["."]
    if arguments:
        step["args"].update(arguments)
        _resize(data, example, arguments)
    with path.open("w") as file:
        yaml.dump(data, file)


def _resize(data: Any, example: str, arguments: dict[str, Any]) -> None:
    """What the contract says about sizes, for other build arguments."""
    batch = arguments.get("batch", data["batch"]["size"])
    data["batch"]["size"] = batch
    data["memory"] = {"hbm": "256MiB"}
    data["parameters"]["replicated_max"] = "4MiB"
    if example == "dense_fsdp":
        model = data["model"]
        model.update({key: value for key, value in arguments.items() if key in model})
        shape = [batch, model["sequence"]]
        data["step"]["train"]["signatures"] = {name: [shape] for name in data["step"]["train"]["signatures"]}
        return
    data["step"]["train"].pop("signatures")
    shapes = SHAPES[example](arguments)
    data["model"]["parameters"] = {path: shapes[path] for path in data["model"]["parameters"]}


def _plain_shapes(a: dict[str, Any]) -> dict[str, list[int]]:
    layers, width, inner, vocab = a["layers"], a["width"], a["inner"], a["vocab"]
    return {
        "embed/embedding": [vocab, width],
        "blocks/norm/scale": [layers, width],
        "blocks/up/kernel": [layers, width, inner],
        "blocks/down/kernel": [layers, inner, width],
        "head/kernel": [width, vocab],
        "final_norm/scale": [width],
    }


def _shard_map_shapes(a: dict[str, Any]) -> dict[str, list[int]]:
    return {
        "enter/kernel": [a["features"], a["hidden"]],
        "layers/kernel": [a["layers"], a["hidden"], a["hidden"]],
        "leave/kernel": [a["hidden"], a["classes"]],
    }


def _linen_shapes(a: dict[str, Any]) -> dict[str, list[int]]:
    layers, width, inner, vocab, heads = a["layers"], a["width"], a["inner"], a["vocab"], 4
    split = [layers, width, heads, width // heads]
    norms = {f"blocks/LayerNorm_{i}/{name}": [layers, width] for i in (0, 1) for name in ("scale", "bias")}
    return norms | {
        "embed/embedding": [vocab, width],
        **{f"blocks/attention/{name}/kernel": split for name in ("query", "key", "value")},
        "blocks/attention/out/kernel": [layers, heads, width // heads, width],
        "blocks/up/kernel": [layers, width, inner],
        "blocks/up/bias": [layers, inner],
        "blocks/down/kernel": [layers, inner, width],
        "blocks/down/bias": [layers, width],
        "final_norm/scale": [width],
        "final_norm/bias": [width],
        "head/kernel": [width, vocab],
    }


def _equinox_shapes(a: dict[str, Any]) -> dict[str, list[int]]:
    layers, width, inner, vocab, sequence = a["layers"], a["width"], a["inner"], a["vocab"], 32
    norms = {f"blocks/{k}_norm/{name}": [layers, width] for k in ("token", "channel") for name in ("weight", "bias")}
    return norms | {
        "embed/weight": [vocab, width],
        "blocks/mix": [layers, sequence, sequence],
        "blocks/up/weight": [layers, inner, width],
        "blocks/down/weight": [layers, width, inner],
        "norm/weight": [width],
        "norm/bias": [width],
        "head/weight": [vocab, width],
    }


SHAPES = {
    "plain_flax": _plain_shapes,
    "shard_map_dp": _shard_map_shapes,
    "linen_trainstate": _linen_shapes,
    "equinox_optax": _equinox_shapes,
}


def promise_collectives(contract: Path, clean: Path) -> None:
    """Write down the collectives that the clean twin has at this size, as `init` would."""
    loaded = load_contract(clean)
    capture = read_capture(capture_contract(loaded, "cpu:8"))
    ledger = canonical(capture.steps["train"].partitioned, capture.manifest.mesh)
    kept = without_allowed(ledger.rows, loaded.contract.collectives.allow).kept
    yaml = YAML()
    data = yaml.load(contract.read_text())
    data["collectives"]["expect"] = [
        {"kind": row.kind, "axes": list(row.axes), "count": row.count, "elements": row.elements}
        for row in replace(ledger, rows=kept).totals()
    ]
    with contract.open("w") as file:
        yaml.dump(data, file)


def roots(contract: Path, run: bool) -> list[Finding]:
    """The new root findings of `verify`."""
    report = verify(contract, run=run)
    return [finding for finding in report.findings if finding.is_root and finding.status == "new"]


def line_of(contract: Path, fault: Fault) -> tuple[str, int] | None:
    """File name and 1-based line of the fault's marker in the mutated source."""
    if fault.marker is None:
        return None
    name, text = fault.marker
    lines = (contract.parent / SOURCES.get(fault.example, "") / name).read_text().splitlines()
    found = [number for number, line in enumerate(lines, start=1) if text in line]
    assert len(found) == 1, f"marker {text!r} stands on lines {found} of {name}"
    return name, found[0]
