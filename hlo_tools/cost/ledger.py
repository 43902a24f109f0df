"""The cost ledger: operations and bytes of one step on one device, and the matrix products they come from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..instruction import Instruction
from ..loops import Executions, executions
from ..module import Computation, HloModule
from ..shape import Shape
from .arithmetic import NONE, Operations, operations
from .matrix import OPCODES, Work, call_target, work
from .opcodes import APPLIED, ELEMENTWISE, FREE_CALLS, MOVES, MOVING_CALLS, PLUMBING, TRANSCENDENTAL, base
from .traffic import NOTHING, Bytes, Traffic

SCHEMA_VERSION = 1
_COUNTED = frozenset((*ELEMENTWISE, *TRANSCENDENTAL, *APPLIED))
_SILENT = frozenset((*PLUMBING, *MOVES))
_FREE = frozenset((*FREE_CALLS, *MOVING_CALLS))
# A reduction's computation may apply others; deeper chains than this are no program.
_MAX_DEPTH = 20


@dataclass(slots=True)
class Product:
    """One matrix product: operations of one execution, executions per step, and where it comes from.

    Below a conditional `count` and `count_min` are the most and the fewest that a step can have; `dearest` are those of
    the branch that costs most, which sums take.
    """

    name: str
    opcode: str
    dtype: str
    shape: str
    flops_each: int
    count: int
    count_min: int
    dearest: int
    stated: bool
    computation: str
    instruction: Instruction = field(repr=False, compare=False)

    @property
    def flops(self) -> int:
        """Operations per step, where it runs as often as it can."""
        return self.flops_each * self.count

    @property
    def flops_counted(self) -> int:
        """Its part in the sum over all products."""
        return self.flops_each * self.dearest

    @property
    def source(self) -> str | None:
        return self.instruction.source

    @property
    def scope(self) -> str:
        return self.instruction.op_name

    def as_json(self) -> dict[str, Any]:
        names = ("name", "opcode", "dtype", "shape", "flops_each", "count", "count_min", "flops", "stated", "source")
        found = {name: getattr(self, name) for name in names}
        return {**found, "count_dearest": self.dearest, "scope": self.scope, "computation": self.computation}


@dataclass(slots=True)
class CostLedger:
    """What one step costs one device, loops multiplied; of a conditional the branch that costs most.

    `matrix_flops` by type of the operands: exact from shapes (a multiply-add is two operations). `vector_flops`:
    everything elementwise, reductions, sorts, by the rules of XLA's cost analysis; what collectives add up on the way
    is not counted. `transcendentals` are functions, not operations. `hbm_bytes`: every kernel reads its operands and
    writes its results once. `stated_flops`: part of the matrix operations that a kernel's author wrote down.
    `not_counted`: custom calls (and opcodes) of unknown cost, with their executions. `unknown_loops` count as one
    round.
    """

    module: str
    products: list[Product] = field(default_factory=list)
    matrix_flops: dict[str, int] = field(default_factory=dict)
    matrix_flops_min: int = 0
    vector_flops: int = 0
    transcendentals: int = 0
    stated_flops: int = 0
    hbm_bytes: int = 0
    host_bytes: int = 0
    not_counted: dict[str, int] = field(default_factory=dict)
    unknown_loops: list[str] = field(default_factory=list)
    conditional: bool = False
    """Whether a cheaper branch than the one counted may be taken."""

    @property
    def matrix(self) -> int:
        """Operations of all matrix products."""
        return sum(self.matrix_flops.values())

    @property
    def flops(self) -> int:
        """Matrix products and everything else."""
        return self.matrix + self.vector_flops

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "module": self.module,
            "flops": self.flops,
            "matrix_flops": self.matrix_flops,
            "matrix_flops_min": self.matrix_flops_min,
            "vector_flops": self.vector_flops,
            "transcendentals": self.transcendentals,
            "stated_flops": self.stated_flops,
            "hbm_bytes": self.hbm_bytes,
            "host_bytes": self.host_bytes,
            "not_counted": self.not_counted,
            "unknown_loops": self.unknown_loops,
            "conditional": self.conditional,
            "products": [product.as_json() for product in self.products],
        }


@dataclass(slots=True)
class _Own:
    """One execution of a computation's own instructions."""

    works: list[tuple[Instruction, Work]] = field(default_factory=list)
    plain: Operations = NONE
    moved: Bytes = NOTHING
    unknown: list[str] = field(default_factory=list)

    @property
    def weight(self) -> int:
        """What decides between the branches of a conditional: operations and bytes, added."""
        flops = sum(done.flops for _, done in self.works) + self.plain.flops + self.plain.transcendentals
        return flops + self.moved.device + self.moved.host + len(self.unknown)


def cost(module: HloModule) -> CostLedger:
    """The cost of one step of a module. Raises ContractLintError for what cannot be read."""
    reader = _Reader(_fused(module))
    own = {computation.name: reader.read(computation) for computation in module.computations}
    runs = executions(module, {name: weight for name, found in own.items() if (weight := found.weight)})
    return _ledger(module, own, runs)


def _ledger(module: HloModule, own: dict[str, _Own], runs: Executions) -> CostLedger:
    ledger = CostLedger(module.name, unknown_loops=runs.unknown_loops)
    for name, found in own.items():
        run = runs.of(name)
        if not run.count:
            continue
        ledger.conditional |= run.count != run.count_min and found.weight > 0
        for instruction, done in found.works:
            product = Product(
                instruction.name,
                instruction.opcode if instruction.opcode != "custom-call" else call_target(instruction),
                done.dtype,
                instruction.shape.text,
                done.flops,
                run.count,
                run.count_min,
                run.dearest,
                done.stated,
                name,
                instruction,
            )
            ledger.products.append(product)
            ledger.matrix_flops[done.dtype] = ledger.matrix_flops.get(done.dtype, 0) + product.flops_counted
            ledger.matrix_flops_min += done.flops * run.cheapest
            ledger.stated_flops += product.flops_counted if done.stated else 0
        ledger.vector_flops += found.plain.flops * run.dearest
        ledger.transcendentals += found.plain.transcendentals * run.dearest
        ledger.hbm_bytes += found.moved.device * run.dearest
        ledger.host_bytes += found.moved.host * run.dearest
        for unknown in found.unknown:
            ledger.not_counted[unknown] = ledger.not_counted.get(unknown, 0) + run.count
    ledger.products.sort(key=lambda product: -product.flops)
    ledger.matrix_flops = dict(sorted(ledger.matrix_flops.items(), key=lambda item: -item[1]))
    return ledger


def _fused(module: HloModule) -> frozenset[str]:
    """Computations whose instructions share a kernel: bodies of fusions and of library calls."""
    found = set()
    for computation in module.computations:
        for position, opcode in enumerate(computation.opcodes()):
            if opcode in ("fusion", "custom-call", "fusion-start"):
                found.update(callee.name for callee in computation.instruction_at(position).called)
    return frozenset(found)


class _Reader:
    """Reads computations; what a reduction applies is read once."""

    def __init__(self, fused: Iterable[str]) -> None:
        self._fused = frozenset(fused)
        self._traffic = Traffic()
        self._applied: dict[str, Operations] = {}
        self._sizes: dict[int, tuple[Shape, int]] = {}
        self._depth = 0

    def read(self, computation: Computation) -> _Own:
        own = _Own()
        kernels = computation.name not in self._fused
        flops = transcendentals = device = host = 0
        for position, opcode in enumerate(computation.opcodes()):
            if opcode in PLUMBING or (not kernels and opcode in MOVES):
                continue
            instruction = computation.instruction_at(position)
            if opcode in ELEMENTWISE:
                flops += self._elements(instruction.shape)
            elif opcode in _COUNTED:
                done = operations(instruction, self.applied)
                flops += done.flops
                transcendentals += done.transcendentals
            elif opcode not in _SILENT and base(opcode) not in _SILENT:
                self._product(instruction, own)
            if kernels:
                moved = self._traffic.of(instruction)
                device += moved.device
                host += moved.host
        own.plain = Operations(flops, transcendentals)
        own.moved = Bytes(device, host)
        return own

    def _elements(self, shape: Shape) -> int:
        """Shapes are shared between instructions, so few have to be multiplied out."""
        known = self._sizes.get(id(shape))
        if known is None:
            known = self._sizes[id(shape)] = (shape, shape.elements)
        return known[1]

    def applied(self, computation: Computation) -> Operations:
        """One application of a reducer, comparator or mapped function."""
        known = self._applied.get(computation.name)
        if known is None:
            self._applied[computation.name] = NONE
            self._depth += 1
            total = NONE
            if self._depth <= _MAX_DEPTH:
                for instruction in computation:
                    done = operations(instruction, self.applied)
                    total = Operations(total.flops + done.flops, total.transcendentals + done.transcendentals)
            self._depth -= 1
            known = self._applied[computation.name] = total
        return known

    def _product(self, instruction: Instruction, own: _Own) -> None:
        opcode = instruction.opcode
        if opcode in OPCODES or opcode == "custom-call":
            done = work(instruction)
            if done is not None:
                own.works.append((instruction, done))
            elif opcode != "custom-call":
                own.unknown.append(opcode)
            elif (target := call_target(instruction)) not in _FREE and not instruction.called:
                own.unknown.append(target)
        else:
            own.unknown.append(base(opcode))
