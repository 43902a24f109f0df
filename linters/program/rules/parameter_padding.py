"""The device stores the parameters with more padding than the contract allows.

## What it does
Adds up what the parameters take in the layouts of the compiled program, where each array is rounded up to whole tiles,
and compares the excess with `memory.padding_max`. Without that key the limit is 25 %, and padding of less than 16 MiB
on one device is let pass.

## Why is this bad?
A TPU stores f32 in tiles of 8 x 128: an array whose last dimension is 16 wide takes eight times its size, in memory and
in every read. The optimizer's slots are padded alike.

## Example
```yaml
parameters:
  # 128 wide over 8 devices: 16 on each, padded to 128
  logical_axes: { heads: null, head_dim: tensor }
memory: { padding_max: 25% }
```

## Use instead
Split another dimension, or choose widths whose parts on one device are multiples of 128.

## References
- https://jax-ml.github.io/scaling-book/tpus/
- https://openxla.org/xla/tiled_layout
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ....hlo_tools.shape import Shape
from ....hlo_tools.tensors import Tensor
from ...cut import LARGEST, shown
from ...evidence import StepEvidence
from ...rule import Rule

KEY = "memory.padding_max"
DEFAULT = 0.25
"""Share of padding that is let pass where the contract gives none."""
DEFAULT_FLOOR = 16 << 20
"""Bytes of padding on one device below which the default does not speak: narrow arrays of small models."""


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section = evidence.contract.memory
    if section is None:
        return
    stored = list(_stored(evidence))
    plain = sum(shape.bytes for _, shape in stored)
    padding = sum(shape.padded_bytes for _, shape in stored) - plain
    limit = DEFAULT if section.padding_max is None else section.padding_max
    if not plain or padding <= limit * plain or (section.padding_max is None and padding < DEFAULT_FLOOR):
        return
    key = KEY if section.padding_max is not None else "memory"
    worst = sorted(stored, key=lambda item: (item[1].bytes - item[1].padded_bytes, item[0].path))
    yield RULE.finding(
        f"tiles pad the parameters of one device from {format_bytes(plain)} to {format_bytes(plain + padding)} "
        f"({padding / plain:.0%} more); the limit is {limit:.0%}",
        subject="parameters",
        location=evidence.place(key),
        key=key,
        expected=f"at most {limit:.0%} of padding",
        found=f"{padding / plain:.0%}",
        evidence=shown(
            (
                f"{tensor.path}: {shape.text} takes {format_bytes(shape.padded_bytes)} for {format_bytes(shape.bytes)}"
                for tensor, shape in worst
                if shape.padded_bytes > shape.bytes
            ),
            most=LARGEST,
        ),
        help="split another dimension of the arrays listed first, or make their last dimension a multiple of its tile",
        details={"padding_bytes": padding, "bytes": plain},
    )


def _stored(evidence: StepEvidence) -> Iterator[tuple[Tensor, Shape]]:
    """Every parameter with its shape and tiles on one device, as the entry of the program prints them."""
    module = evidence.step.optimized
    if module is None:
        return
    shapes = {made.parameter_number: made.shape for made in module.entry.parameters}
    for tensor in evidence.tensors.rows:
        shape = shapes.get(tensor.parameter) if tensor.parameter is not None else None
        if tensor.class_ == "parameter" and shape is not None and not shape.is_tuple:
            yield tensor, shape


RULE = Rule(
    code="MEM210", name="parameter-padding", severity="error", evidence="program", doc=__doc__ or "", check=check
)
