"""The sections of a first contract, each read off the ledgers of one captured step."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..hlo_tools.canonical import canonical
from ..hlo_tools.capture import Capture, StepCapture
from ..hlo_tools.memory import memory
from ..hlo_tools.tensors import Tensor, TensorLedger, tensors
from .patterns import Spec, logical_names, placement_rules

REVIEW = "found by init, not yet confirmed"
_SLOTS = {0: "sgd", 1: "momentum", 2: "adamw"}


def sections(
    capture: Capture, step: str, entry: str, target: str, path: list[str], args: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """A contract as plain data, keys in reading order, and notes on what it leaves out and why."""
    captured = capture.steps[step]
    mesh = dict(capture.manifest.mesh.axes) if capture.manifest.mesh else {}
    ledger = tensors(captured.facts)
    notes: list[str] = []
    found: dict[str, Any] = {
        "contract": 1,
        "name": entry.replace(":", "-").replace(".", "-").replace("_", "-"),
        "step": {step: _step(captured, entry, path, args)},
        "targets": [target],
        "mesh": {"axes": mesh} if mesh else None,
        "model": _model(ledger, captured),
        "dtypes": _dtypes(ledger, captured, notes),
        "batch": _batch(ledger, mesh, notes),
        "optimizer": _optimizer(ledger, mesh, notes),
        "parameters": _parameters(ledger, mesh, notes),
        "collectives": _collectives(capture, captured, mesh, notes),
        "memory": _memory(captured),
        "graph": _graph(captured),
    }
    return {key: value for key, value in found.items() if value is not None}, notes


def _step(captured: StepCapture, entry: str, path: list[str], args: dict[str, Any]) -> dict[str, Any]:
    facts = captured.facts
    section: dict[str, Any] = {"entry": entry}
    if path:
        section["path"] = path
    if args:
        section["args"] = args
    section["donate"] = [
        name
        for name in facts.donate
        if all(leaf.aliased for leaf in facts.arguments if leaf.argument == name and leaf.parameter is not None)
    ]
    section["static"] = list(facts.static)
    section["compiles"] = 1
    return section


def _model(ledger: TensorLedger, captured: StepCapture) -> dict[str, Any] | None:
    parameters = {row.path: list(row.global_shape) for row in ledger.of("parameter")}
    if not parameters or captured.facts.jaxpr is None:
        return None
    return {"kind": "listed", "parameters": parameters, "remat": "full" if captured.facts.jaxpr.remats else "none"}


def _dtypes(ledger: TensorLedger, captured: StepCapture, notes: list[str]) -> dict[str, Any] | None:
    masters = {row.dtype for row in ledger.of("parameter") if _is_float(row.dtype)}
    moments = {row.dtype for row in ledger.of("optimizer_slot") if _is_float(row.dtype)} or set(masters)
    products = {
        dtype
        for dot in (captured.facts.jaxpr.dots if captured.facts.jaxpr else [])
        for dtype in (dot.lhs, dot.rhs)
        if _is_float(dot.lhs) and _is_float(dot.rhs)
    }
    if len(masters) == len(moments) == len(products) == 1:
        return {"master": masters.pop(), "compute": products.pop(), "moments": moments.pop()}
    for what, kinds in (("parameters", masters), ("optimizer slots", moments), ("matrix products", products)):
        if len(kinds) != 1:
            notes.append(f"dtypes: {what} are {', '.join(sorted(kinds)) or 'none'}, and a contract names one")
    return None


def _batch(ledger: TensorLedger, mesh: dict[str, int], notes: list[str]) -> dict[str, Any] | None:
    rows = [row for row in ledger.of("batch") if row.global_shape]
    sizes = {row.global_shape[0] for row in rows}
    axes = {_spec(row, mesh)[0] for row in rows if row.spec is not None}
    if len(sizes) == 1 and len(axes) == 1 and all(row.spec is not None for row in rows):
        return {"size": sizes.pop(), "axes": list(axes.pop()) or None}
    if rows:
        notes.append("batch: the inputs differ in their first dimension or its placement")
    return None


def _optimizer(ledger: TensorLedger, mesh: dict[str, int], notes: list[str]) -> dict[str, Any] | None:
    parameters, slots = ledger.of("parameter"), ledger.of("optimizer_slot")
    name = _SLOTS.get(len(slots) // max(len(parameters), 1)) if parameters else None
    if name is None or len(slots) % len(parameters):
        notes.append(f"optimizer: {len(slots)} slot arrays for {len(parameters)} parameters are none of the known ones")
        return None
    for slot in slots:
        owners = [p for p in parameters if slot.path.endswith("/" + p.path.split("/", 1)[-1]) or slot.path.endswith(p.path)]
        owner = max(owners, key=lambda p: len(p.path), default=None)
        if owner is None or (owner.spec is not None and _spec(owner, mesh) != _spec(slot, mesh)):
            notes.append(f"optimizer: `{slot.path}` is not placed as its parameter")
            return None
    return {"name": name, "placement": "parameters"}


def _parameters(ledger: TensorLedger, mesh: dict[str, int], notes: list[str]) -> dict[str, Any] | None:
    rows = ledger.of("parameter")
    placed = {row.path: _spec(row, mesh) for row in rows if row.spec is not None}
    for row in rows:
        if row.spec is None and row.parameter is not None:
            notes.append(f"parameters: `{row.path}` is split, but not along mesh axes")
    if not placed:
        return None
    names = logical_names(list(placed.values()), list(mesh))
    rules = [
        {"match": pattern, "axes": [names.get(axes, axes[0]) if axes else None for axes in spec]}
        for pattern, spec in placement_rules(placed)
    ]
    replicated = max((row.bytes or 0 for row in rows if row.spec is not None and not any(_spec(row, mesh))), default=0)
    return {
        "logical_axes": {name: list(axes) for axes, name in names.items()},
        "rules": rules,
        "replicated_max": size_text(max(replicated, 1024)),
    }


def _collectives(
    capture: Capture, captured: StepCapture, mesh: dict[str, int], notes: list[str]
) -> dict[str, Any] | None:
    if captured.partitioned is None:
        return None
    sums: dict[tuple[str, tuple[str, ...]], list[int]] = defaultdict(lambda: [0, 0])
    for row in canonical(captured.partitioned, capture.manifest.mesh).rows:
        axes = row.axes if isinstance(row.axes, tuple) else None
        if axes is None or any(axis not in mesh for axis in axes):
            notes.append(f"collectives: {row.kind} `{row.name}` runs over no set of mesh axes ({row.source or 'no line'})")
            continue
        total = sums[row.kind, axes]
        total[0] += row.count
        total[1] += row.elements
    expect = [
        {"kind": kind, "axes": list(axes), "count": count, "elements": elements, "review": REVIEW}
        for (kind, axes), (count, elements) in sums.items()
    ]
    return {"expect": expect}


def _memory(captured: StepCapture) -> dict[str, Any] | None:
    if captured.proto is None:
        return None
    return {"hbm": size_text(memory(captured.proto, facts=captured.facts).need_bytes)}


def _graph(captured: StepCapture) -> dict[str, Any] | None:
    facts = captured.facts.jaxpr
    if facts is None:
        return None
    return {
        "host_callbacks": "allow" if facts.callbacks else "forbid",
        "constants_max": size_text(max([c.bytes for c in facts.constants] + [64 * 1024])),
        "repeated_blocks_max": max([repeat.copies for repeat in facts.repeats] + [1]),
        "dynamic_shapes": "allow" if facts.dynamic_shapes else "forbid",
    }


def size_text(count: int) -> str:
    """A size that holds `count` bytes, rounded up to two digits or the next power of its unit: `14MiB`."""
    unit = next((n for n in (3, 2, 1) if count >= 1024**n), 0)
    value = count / 1024**unit
    step = 10 ** max(0, math.floor(math.log10(max(value, 1))) - 1)
    rounded = math.ceil(value / step) * step
    return f"{rounded}{('B', 'KiB', 'MiB', 'GiB')[unit]}"


def _spec(row: Tensor, mesh: dict[str, int]) -> Spec:
    """The placement without axes of size 1."""
    return tuple(tuple(axis for axis in axes if mesh.get(axis, 1) > 1) for axes in row.spec or ())


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


__all__: Sequence[str] = ("REVIEW", "sections", "size_text")
