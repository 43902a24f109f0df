"""The state as the device stores it: plain bytes, the same padded by the tiles the program prints, and its buffers."""

from __future__ import annotations

from dataclasses import dataclass

from ...hlo_tools.memory import DEVICE_SPACE
from ...hlo_tools.tensors import STATE_CLASSES
from ..evidence import StepEvidence


@dataclass(frozen=True, slots=True)
class StoredState:
    """Bytes of one device's state arguments. `tiled` is in closed form: each shape, filled up to whole tiles.

    `allocated` is what the compiler's buffer assignment sets aside for them; None where it is not known.
    """

    plain: int
    tiled: int
    allocated: int | None


def stored_state(evidence: StepEvidence) -> StoredState | None:
    """The state's arguments on the device; None without a program. Arguments kept in host memory do not count."""
    module = evidence.step.optimized
    if module is None:
        return None
    shapes = {made.parameter_number: made.shape for made in module.entry.parameters}
    own = [
        (row.parameter, shapes[row.parameter])
        for row in evidence.tensors.of(*STATE_CLASSES)
        if row.parameter in shapes and not shapes[row.parameter].is_tuple
    ]
    proto = evidence.step.proto
    sizes = None
    if proto is not None and proto.assignment is not None:
        sizes = {
            a.parameter_number: a.size
            for a in proto.assignment.allocations
            if a.is_entry_parameter and not a.parameter_shape_index and a.color == DEVICE_SPACE
        }
        own = [(number, shape) for number, shape in own if number in sizes]
    return StoredState(
        plain=sum(shape.bytes for _, shape in own),
        tiled=sum(shape.padded_bytes for _, shape in own),
        allocated=None if sizes is None else sum(sizes[number] for number, _ in own if number is not None),
    )
