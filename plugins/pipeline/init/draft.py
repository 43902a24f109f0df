"""From a capture to the data of a contract: what the step does becomes what it promises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ....contracts.errors import ContractLintError
from ....contracts.manifest import JaxprFacts, RunFacts
from ....contracts.model import Contract
from ....contracts.plan.tensors import plan_tensors
from ....contracts.target_name import parse_target
from ....hlo_tools.canonical import canonical
from ....hlo_tools.capture import Capture, StepCapture
from ....hlo_tools.memory import memory
from ....hlo_tools.roofline.fabric import parts_along
from ....hlo_tools.tensors import Tensor, TensorLedger, tensors
from ....linters.cut import in_a_line
from ....linters.trace.rules.remat_policy import remat_of
from ..tabulate import unknown_loops
from .logical import named_placements
from .patterns import Spec, placement_rules
from .schedule import schedule_counters

REVIEW = "found by init, not yet confirmed"
SHOWN_LINES = 2
"""Source lines that a mark names, counters that a note does."""
KIB, MIB = 1 << 10, 1 << 20
HEADROOM = 1.1
"""The memory promise is what was found and a tenth: compilers differ by a few per cent from version to version."""
_SLOTS = {2: "adamw", 1: "momentum", 0: "sgd"}


@dataclass(frozen=True, slots=True)
class Draft:
    """A contract as plain data, keys in reading order, and what it leaves out and why."""

    data: dict[str, Any]
    notes: tuple[str, ...]


def draft(name: str, step: Mapping[str, Any], target: str, capture: Capture, whole_mesh: bool = True) -> Draft:
    """A contract for the one step of `capture`; `step` holds its entry, path and args.

    `whole_mesh` says that the step needs every axis of its mesh by name, those of size 1 included.
    A section whose facts are missing or do not fit the contract's words is left out with a note.
    """
    found = next(iter(capture.steps.values()))
    sections = _Sections(found, capture, tensors(found.facts, capture.manifest.mesh), whole_mesh)
    data = {
        "contract": 1,
        "name": name,
        "step": {found.name: dict(step) | _promises(found)},
        "targets": [target],
        "mesh": sections.mesh(),
        "dtypes": sections.dtypes(),
        "batch": sections.batch(),
        "optimizer": sections.optimizer(),
        "parameters": sections.parameters(),
        "collectives": sections.collectives(),
        "memory": _memory(found, target),
        "graph": _graph(found.facts.jaxpr),
    }
    kept = {key: value for key, value in data.items() if value}
    return Draft(_with_model(kept, target, sections), tuple(sections.notes))


@dataclass
class _Sections:
    """The sections that are read off ledgers; `notes` grows with what they cannot say."""

    step: StepCapture
    capture: Capture
    ledger: TensorLedger
    whole_mesh: bool = True
    notes: list[str] = field(default_factory=list)

    def mesh(self) -> dict[str, Any] | None:
        mesh = self.capture.manifest.mesh
        if mesh is None:
            return None
        axes = mesh.axes if self.whole_mesh else {name: size for name, size in mesh.axes.items() if size > 1}
        target = parse_target(self.capture.manifest.provenance.target)
        across = parts_along(target, mesh)
        # Hosts or slices that are no product of axes cannot be written down.
        told = across and prod(across.values()) == target.groups
        return {"axes": dict(axes or mesh.axes)} | ({"dcn": across} if told else {})

    def dtypes(self) -> dict[str, str] | None:
        """Only where every role has one dtype: a half-written section would promise the defaults for the rest."""
        jaxpr = self.step.facts.jaxpr
        dots = [dot for dot in (jaxpr.dots if jaxpr else ()) if _is_float(dot.lhs) and _is_float(dot.rhs)]
        masters = {row.dtype for row in self.ledger.of("parameter") if _is_float(row.dtype)}
        moments = {row.dtype for row in self.ledger.of("optimizer_slot") if _is_float(row.dtype)} or masters
        by_role = {
            "master": masters,
            "compute": _compute({(dot.lhs, dot.rhs) for dot in dots}),
            "moments": moments,
        }
        mixed = {role: found for role, found in by_role.items() if len(found) != 1}
        for role, found in mixed.items():
            self.notes.append(
                f"dtypes: {role} is {', '.join(sorted(found)) or 'nowhere to be seen'}; a contract names one"
            )
        return None if mixed else {role: next(iter(found)) for role, found in by_role.items()}

    def batch(self) -> dict[str, Any] | None:
        # An input that the step never reads has no placement: jit drops it.
        rows = [row for row in self.ledger.of("batch") if row.global_shape and row.parameter is not None]
        sizes = {row.global_shape[0] for row in rows}
        axes = {spec[0] if spec else None for spec in map(self.spec, rows)}
        if len(sizes) != 1 or len(axes) != 1 or None in axes:
            if rows:
                self.notes.append("batch: the inputs differ in their first dimension or in how it is split")
            return None
        first = next(iter(axes)) or ()
        return {"size": next(iter(sizes))} | ({"axes": list(first)} if first else {})

    def optimizer(self) -> dict[str, Any] | None:
        """Known by the number of slots for each parameter, where all of them lie as their parameters do."""
        parameters, slots = (
            sorted((row.global_shape, str(self.spec(row))) for row in self.ledger.of(role))
            for role in ("parameter", "optimizer_slot")
        )
        if not parameters:
            return None
        for copies, name in _SLOTS.items():
            if slots == sorted(parameters * copies):
                return {"name": name, "placement": "parameters"} | self.schedule()
        counts = f"{len(slots)} slots for {len(parameters)} parameters"
        self.notes.append(f"optimizer: {counts} are not one or two for each, placed as it is")
        return None

    def schedule(self) -> dict[str, bool]:
        """Known by the one counter of the optimizer's state that no slot stands beside; without one there is none."""
        counters = schedule_counters(self.ledger.rows)
        if len(counters) > 1:
            self.notes.append(
                f"optimizer.schedule: {len(counters)} counters look like a schedule's "
                f"({in_a_line(counters, SHOWN_LINES)}); a contract knows of one"
            )
        return {"schedule": True} if len(counters) == 1 else {}

    def parameters(self) -> dict[str, Any] | None:
        if self.capture.manifest.mesh is None:  # without axes there is nothing that a rule could say
            return None
        rows = self.ledger.of("parameter")
        placements = {row.path: spec for row in rows if (spec := self.spec(row)) is not None}
        self.notes += [
            f"parameters: {row.path} is not split along mesh axes" for row in rows if row.path not in placements
        ]
        if not placements:
            return None
        named, found = named_placements(placements, self.step.facts.logical_axes)
        logical: dict[str, Any] = {name: _mapped(axes) for name, axes in found.items()}
        rules = [
            {"match": rule.pattern, "axes": [_axis(names, logical) for names in rule.spec]}
            for rule in placement_rules(named)
        ]
        whole = [row.bytes or 0 for row in rows if row.path in placements and not any(placements[row.path])]
        limit = f"{_rounded(max(whole, default=0), KIB) // KIB}KiB"
        return ({"logical_axes": logical} if logical else {}) | {"rules": rules, "replicated_max": limit}

    def collectives(self) -> dict[str, Any] | None:
        module = self.step.partitioned
        if module is None:
            self.notes.append("collectives: the capture holds no partitioned module")
            return None
        expect = []
        ledger = canonical(module, self.capture.manifest.mesh)
        if loops := unknown_loops(ledger.rows):
            self.notes.append(f"collectives: how often {', '.join(loops[:5])} runs; one round of it is counted")
        for total in ledger.totals():
            if not isinstance(total.axes, tuple):
                self.notes.append(f"collectives: {total.kind} runs {total.count} times over no set of mesh axes")
                continue
            row = {"kind": total.kind, "axes": list(total.axes), "count": total.count, "elements": total.elements}
            row["ring_bytes"] = total.ring_bytes
            places = [each.source for each in ledger.rows if (each.kind, each.axes) == (total.kind, total.axes)]
            expect.append(row | {"review": f"{REVIEW}{_at(places)}"})
        return {"expect": expect}

    def spec(self, row: Tensor) -> Spec | None:
        """A placement without axes of size 1; None where it is not along mesh axes."""
        mesh = self.capture.manifest.mesh
        sizes = mesh.axes if mesh is not None else {}
        return None if row.spec is None else tuple(tuple(a for a in axes if sizes.get(a) != 1) for axes in row.spec)


def _compute(products: set[tuple[str, str]]) -> set[str]:
    """The dtype that every matrix product has on one side at least; all dtypes where there is none.

    The transpose of a product with a wide result has one wide operand, and is no wide product.
    """
    common = set.intersection(*map(set, products)) if products else set()
    return common if len(common) == 1 else {name for pair in products for name in pair}


def _with_model(data: dict[str, Any], target: str, sections: _Sections) -> dict[str, Any]:
    """The contract with its parameters listed, where their bytes and those of the slots then come out exactly."""
    jaxpr = sections.step.facts.jaxpr
    shapes = {row.path: list(row.global_shape) for row in sections.ledger.of("parameter")}
    if not shapes or jaxpr is None or not {"dtypes", "optimizer", "parameters"} <= set(data):
        return data
    model = {"kind": "listed", "parameters": shapes, "remat": remat_of(jaxpr)}
    keys = list(data)
    position = keys.index("dtypes")
    listed = {key: data[key] for key in keys[:position]} | {"model": model} | {k: data[k] for k in keys[position:]}
    try:
        planned = plan_tensors(Contract.model_validate(listed), target).rows
    except ContractLintError as error:
        sections.notes.append(f"model: no state bytes can be planned: {error.message}")
        return data
    state = sum(row.bytes or 0 for row in sections.ledger.of("parameter", "optimizer_slot"))
    if sum(row.bytes for row in planned if row.role in ("parameter", "optimizer_slot")) != state:
        sections.notes.append("model: the parameters as listed do not give the state bytes that were found")
        return data
    return listed


def _promises(step: StepCapture) -> dict[str, Any]:
    facts = step.facts
    found: dict[str, Any] = {"donate": list(facts.donate)} if facts.donate else {}
    return found | ({"static": sorted(facts.static)} if facts.static else {}) | promised_compiles(step.run)


def promised_compiles(run: RunFacts | None) -> dict[str, Any]:
    """The programs that the loop needed; nothing where no loop was seen.

    A loop that still compiled in its last step has no number of programs: one is promised, and the finding shows it.
    """
    if run is None or run.error is not None:
        return {}
    count = len(run.compiles)
    if count <= 1 or run.compiles[-1].index >= run.steps - 1:
        return {"compiles": 1}
    last = run.compiles[-1]
    why = last.reason.partition("; ")[0]
    return {"compiles": count, "review": f"{REVIEW}: {count} programs because of {why}; 1 where all calls are alike"}


def _at(places: Iterable[str | None]) -> str:
    """`; at train.py:21, train.py:30 and 3 more lines`: the known source lines in program order, each once."""
    known = list(dict.fromkeys(place for place in places if place))
    more = len(known) - SHOWN_LINES
    rest = f" and {more} more line{'s' * (more > 1)}" if more > 0 else ""
    return f"; at {', '.join(known[:SHOWN_LINES])}{rest}" if known else ""


def _mapped(axes: list[str]) -> str | list[str] | None:
    return axes if len(axes) > 1 else axes[0] if axes else None


def _axis(names: tuple[str, ...], logical: dict[str, Any]) -> str | None:
    """One mesh axis by its name; several get a logical axis of their own."""
    if len(names) < 2:
        return names[0] if names else None
    together = "_".join(names)
    logical[together] = list(names)
    return together


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def _memory(step: StepCapture, target: str) -> dict[str, Any] | None:
    if step.proto is None and step.facts.memory is None:
        return None
    ledger = memory(step.proto, facts=step.facts)
    budget = _rounded(int(ledger.need_bytes * HEADROOM), MIB) // MIB
    given = parse_target(target).kind.program_bytes
    return {"hbm": f"{budget if given is None else min(budget, given // MIB)}MiB"}


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
