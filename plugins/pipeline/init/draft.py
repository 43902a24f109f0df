"""From a capture to the data of a contract: what the step does becomes what it promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....contracts.manifest import JaxprFacts
from ....contracts.model import Contract
from ....hlo_tools.canonical import canonical
from ....hlo_tools.capture import Capture, StepCapture
from ....hlo_tools.memory import memory
from ....hlo_tools.tensors import Tensor, tensors
from .patterns import Spec, placement_rules

REVIEW = "found by init, not yet confirmed"
MIB = 1 << 20
KIB = 1 << 10
HEADROOM = 1.1
"""The memory promise is what was found and a tenth: compilers differ by a few per cent from version to version."""
_SLOTS = {2: "adamw", 1: "momentum"}


def draft(name: str, step: Mapping[str, Any], target: str, capture: Capture) -> dict[str, Any]:
    """The sections of a contract for the one step of `capture`; `step` holds its entry, path and args.

    A section whose facts are missing or do not fit the contract's words is left out.
    """
    found = next(iter(capture.steps.values()))
    rows = list(tensors(found.facts, capture.manifest.mesh).rows)
    sections: dict[str, Any] = {
        "contract": 1,
        "name": name,
        "step": {found.name: dict(step) | _promises(found)},
        "targets": [target],
        "mesh": _mesh(capture),
        "dtypes": _dtypes(rows, found.facts.jaxpr),
        "batch": _batch(rows),
        "optimizer": _optimizer(rows),
        "parameters": _parameters(rows),
        "collectives": _collectives(found, capture),
        "memory": _memory(found),
        "graph": _graph(found.facts.jaxpr),
    }
    kept = {key: value for key, value in sections.items() if value}
    Contract.model_validate(kept)
    return kept


def _promises(step: StepCapture) -> dict[str, Any]:
    facts = step.facts
    found: dict[str, Any] = {"donate": list(facts.donate)} if facts.donate else {}
    return found | ({"static": sorted(facts.static)} if facts.static else {}) | {"compiles": 1}


def _mesh(capture: Capture) -> dict[str, Any] | None:
    mesh = capture.manifest.mesh
    if mesh is None:
        return None
    return {"axes": dict(mesh.axes)} | ({"dcn": dict(mesh.dcn)} if mesh.dcn else {})


def _dtypes(rows: Sequence[Tensor], jaxpr: JaxprFacts | None) -> dict[str, str] | None:
    """Only where every role has one dtype: a half-written section would promise the defaults for the rest."""
    operands = {name for dot in (jaxpr.dots if jaxpr else ()) for name in (dot.lhs, dot.rhs) if _is_float(name)}
    by_role = {
        "master": {row.dtype for row in rows if row.class_ == "parameter" and _is_float(row.dtype)},
        "compute": operands,
        "moments": {row.dtype for row in rows if row.class_ == "optimizer_slot" and _is_float(row.dtype)},
    }
    if any(len(found) != 1 for found in by_role.values()):
        return None
    return {role: next(iter(found)) for role, found in by_role.items()}


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def _batch(rows: Sequence[Tensor]) -> dict[str, Any] | None:
    batch = [row for row in rows if row.class_ == "batch" and row.global_shape]
    sizes = {row.global_shape[0] for row in batch}
    axes = {row.spec[0] if row.spec else None for row in batch}
    if len(sizes) != 1 or len(axes) != 1 or None in axes:
        return None
    first = next(iter(axes)) or ()
    return {"size": next(iter(sizes))} | ({"axes": list(first)} if first else {})


def _optimizer(rows: Sequence[Tensor]) -> dict[str, Any] | None:
    """Known by the number of slots for each parameter, and only where all of them lie as their parameters do."""
    parameters = sorted(((row.global_shape, _spec(row)) for row in rows if row.class_ == "parameter"), key=str)
    slots = sorted(((row.global_shape, _spec(row)) for row in rows if row.class_ == "optimizer_slot"), key=str)
    for copies, name in _SLOTS.items():
        if parameters and slots == sorted(parameters * copies, key=str):
            return {"name": name, "placement": "parameters"}
    return None


def _spec(row: Tensor) -> Spec | None:
    return None if row.spec is None else tuple(tuple(axes) for axes in row.spec)


def _parameters(rows: Sequence[Tensor]) -> dict[str, Any] | None:
    parameters = [row for row in rows if row.class_ == "parameter"]
    placements = {row.path: spec for row in parameters if (spec := _spec(row)) is not None}
    if not placements:
        return None
    logical: dict[str, list[str]] = {}
    rules = []
    for rule in placement_rules(placements):
        axes = [_axis(names, logical) for names in rule.spec]
        rules.append({"match": rule.pattern, "axes": axes})
    whole = [row.bytes or 0 for row in parameters if row.path in placements and not any(placements[row.path])]
    limit = _rounded(max(whole, default=0), KIB)
    return ({"logical_axes": logical} if logical else {}) | {"rules": rules, "replicated_max": f"{limit // KIB}KiB"}


def _axis(names: tuple[str, ...], logical: dict[str, list[str]]) -> str | None:
    """One mesh axis by its name; several get a logical axis of their own."""
    if len(names) < 2:
        return names[0] if names else None
    together = "_".join(names)
    logical[together] = list(names)
    return together


def _collectives(step: StepCapture, capture: Capture) -> dict[str, Any] | None:
    module = step.partitioned
    if module is None:
        return None
    totals = canonical(module, capture.manifest.mesh).totals()
    if any(not isinstance(total.axes, tuple) for total in totals):
        return None
    return {
        "expect": [
            {
                "kind": total.kind,
                "axes": list(total.axes or ()),
                "count": total.count,
                "elements": total.elements,
                "review": REVIEW,
            }
            for total in totals
        ]
    }


def _memory(step: StepCapture) -> dict[str, Any] | None:
    if step.proto is None and step.facts.memory is None:
        return None
    ledger = memory(step.proto, facts=step.facts)
    return {"hbm": f"{_rounded(int(ledger.need_bytes * HEADROOM), MIB) // MIB}MiB"}


def _graph(jaxpr: JaxprFacts | None) -> dict[str, Any] | None:
    if jaxpr is None:
        return None
    constant = max((each.bytes for each in jaxpr.constants), default=0)
    copies = max((each.copies for each in jaxpr.repeats), default=1)
    return {
        "host_callbacks": "allow" if jaxpr.callbacks else "forbid",
        "constants_max": f"{max(1, _rounded(constant, MIB) // MIB)}MiB",
        "repeated_blocks_max": max(2, copies),
        "dynamic_shapes": "allow" if jaxpr.dynamic_shapes else "forbid",
    }


def _rounded(size: int, unit: int) -> int:
    """`size` rounded up to a whole number of `unit`."""
    return -(-size // unit) * unit
