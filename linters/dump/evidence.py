"""What the rules on a program alone are given: the module or the compiler's messages, ledgers made on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ...contracts.manifest import MeshFact
from ...hlo_tools.backend import Backend, backend_of
from ...hlo_tools.canonical.known import is_known
from ...hlo_tools.collectives import Collective, CollectiveLedger, collectives
from ...hlo_tools.flow import Flow
from ...hlo_tools.instruction import Instruction
from ...hlo_tools.loops import Executions, executions
from ...hlo_tools.module import HloModule
from ...hlo_tools.remat_messages import RematMessage


@dataclass
class DumpEvidence:
    """One program, or the messages of a compiler: `module` is None where there is a log alone."""

    name: str
    module: HloModule | None = None
    mesh: MeshFact | None = None
    messages: tuple[RematMessage, ...] = ()
    target: str | None = None

    @cached_property
    def ledger(self) -> CollectiveLedger | None:
        """Every collective as printed; an asynchronous one once."""
        return None if self.module is None else collectives(self.module, self.mesh)

    @cached_property
    def rows(self) -> list[Collective]:
        """The collectives that move something between devices, and whose value not every device knows already."""
        if self.ledger is None:
            return []
        return [row for row in self.ledger.rows if row.count and row.group_size > 1 and not is_known(row)]

    @cached_property
    def by_name(self) -> dict[tuple[str, str], Collective]:
        """Those collectives by computation and name."""
        return {(row.computation, row.name): row for row in self.rows}

    @cached_property
    def runs(self) -> Executions:
        """How often each computation runs; of a conditional every branch may."""
        return Executions() if self.module is None else executions(self.module)

    @cached_property
    def flow(self) -> Flow:
        return Flow(self.module or HloModule(self.name))

    @cached_property
    def backend(self) -> Backend | None:
        """Who compiled it; None for a program that no backend has finished."""
        return backend_of(self.module) if self.module is not None and self.is_final else None

    @property
    def is_final(self) -> bool:
        """Whether this is what runs: only then has the compiler had its say."""
        return self.module is not None and self.module.is_scheduled

    @cached_property
    def bodies(self) -> frozenset[str]:
        """The computations that are the body of a loop."""
        return frozenset(loop.called[0].name for loop in self.instructions("while") if loop.called)

    def instructions(self, *opcodes: str) -> Iterator[Instruction]:
        """The instructions of these opcodes, in program order."""
        for computation in self.module.computations if self.module else ():
            for position, opcode in enumerate(computation.opcodes()):
                if opcode in opcodes:
                    yield computation.instruction_at(position)
