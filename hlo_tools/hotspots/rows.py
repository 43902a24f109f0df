"""Rows by number: products of gathered rows, and gradients that are scattered into a table.

gather(tokens or weights, expert of each) -> product         a grouped product reads the rows where they are
scatter-add(zeros of the table, token numbers, gradients)    one pass over sorted tokens writes each row once
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ..cost.traffic import Traffic
from ..flow import Flow, Value
from ..instruction import Instruction
from ..loops import Executions
from ..module import HloModule
from ..text.attributes import integer
from .hotspot import HotSpot
from .values import VIEWS, is_product, kernel_of, leaves, past_views

_SCALES = frozenset((*VIEWS, "multiply"))
_TABLES = frozenset((*VIEWS, "all-gather", "all-gather-start"))
_MAX_STEPS = 64
# Shorter rows are single numbers put back where they were taken.
_LEAST_ROW = 4


def gathered_products(module: HloModule, flow: Flow, runs: Executions, traffic: Traffic) -> Iterator[HotSpot]:
    """Gathers whose rows go into a matrix product and into nothing else."""
    for computation in module.computations:
        for position, opcode in enumerate(computation.opcodes()):
            if opcode != "gather":
                continue
            gather = flow.at(computation.instruction_at(position))
            if len(gather.instruction.operands) != 2:
                continue
            product = _only_product(gather, flow)
            if product is None or kernel_of(product) is kernel_of(gather) or _is_lookup(gather, flow):
                continue
            kernel = kernel_of(gather)
            count = runs.of(kernel.computation).count
            rows = traffic.size(gather.instruction.shape).device
            table = traffic.size(gather.instruction.operands[0].shape).device
            if not count or not rows:
                continue
            yield HotSpot.of(
                "gathered-product",
                kernel,
                gather.instruction,
                (kernel, kernel_of(product)),
                (gather.instruction, product.instruction),
                count,
                3 * rows,
                min(rows, table),
                "a grouped product (jax.lax.ragged_dot, megablox) reads sorted rows where they are",
            )


def embedding_gradients(module: HloModule, flow: Flow, runs: Executions, traffic: Traffic) -> Iterator[HotSpot]:
    """Scatter-adds of rows into a table of zeros."""
    for computation in module.computations:
        for position, opcode in enumerate(computation.opcodes()):
            if opcode != "scatter":
                continue
            scatter = flow.at(computation.instruction_at(position))
            made = scatter.instruction
            if len(made.operands) != 3 or not made.called or made.called[0].root.opcode != "add":
                continue
            if _row(made) < _LEAST_ROW:
                continue
            zeros = past_views(flow, Value(made.operands[0], scatter.around))
            if zeros.instruction.opcode != "broadcast" or len(made.shape.dims) < 2:
                continue
            kernel = kernel_of(scatter)
            count = runs.of(kernel.computation).count
            table, updates = (traffic.size(made.operands[n].shape).device for n in (0, 2))
            separate = 0 if kernel_of(zeros) is kernel else table
            # The rows are read, read again where they go, and written; the table of zeros is written first.
            moved = (
                3 * updates
                + max(separate, table)
                + sum(traffic.size(leaf).device for leaf in leaves(made.operands[1].shape))
            )
            least = updates + table
            if not count or moved <= least:
                continue
            yield HotSpot.of(
                "embedding-gradient",
                kernel,
                made,
                (kernel_of(zeros), kernel),
                (made, kernel),
                count,
                moved,
                least,
                "sort the rows by token and sum them in one pass, so that each row of the table is written once",
            )


def _row(scatter: Instruction) -> int:
    """Elements of one row that is added."""
    window = scatter.attributes.get("update_window_dims", "{}").strip("{}")
    sizes = scatter.operands[2].shape.dims
    dims = [integer(n) for n in window.split(",") if n.strip()]
    return prod(sizes[dim] for dim in dims) if dims and max(dims) < len(sizes) else 0


def _only_product(gather: Value, flow: Flow) -> Value | None:
    """The product that is all that reads the rows, moved or scaled."""
    pending, seen = [gather], {gather}
    product: Value | None = None
    while pending:
        for reader in flow.readers(pending.pop()):
            user = reader.user
            if user is None or len(seen) > _MAX_STEPS:
                return None
            if is_product(user.instruction):
                product = product or user
            elif user.instruction.opcode in _SCALES:
                if user not in seen:
                    seen.add(user)
                    pending.append(user)
            else:
                return None
    return product


def _is_lookup(gather: Value, flow: Flow) -> bool:
    """Whether single rows of a table that is given are looked up: an embedding."""
    value = flow.operands(gather)[0]
    for _ in range(_MAX_STEPS):
        if value.instruction.opcode not in _TABLES or not value.instruction.operands:
            break
        value = flow.operands(value)[0]
    return len(gather.instruction.operands[0].shape.dims) <= 2 and value.instruction.opcode in (
        "parameter",
        "get-tuple-element",
    )
