"""The window of a convolution, and how many of its positions meet data rather than padding or holes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import gcd

from ..text.attributes import integer

_FIELD = re.compile(r"([a-z_]+)=([0-9x_\-]+)")
# A longer dimension is no window of a program; counting its positions would take its length in steps.
_MAX_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class Extent:
    """One spatial dimension of a convolution's window; XLA's defaults where the text leaves a field out."""

    size: int
    stride: int = 1
    low: int = 0
    dilation: int = 1
    base_dilation: int = 1

    def positions(self, inputs: int, outputs: int) -> int | None:
        """Pairs of (kernel element, output element) that read one of `inputs` elements; None where too many to count.

        The element read is output * stride - low + kernel * dilation in an input spread out by `base_dilation`
        (openxla.org/xla/operation_semantics, ConvWithGeneralPadding).
        """
        short, step, long, stride = self.size, self.dilation, outputs, self.stride
        if short > long:
            short, step, long, stride = long, stride, short, step
        if short > _MAX_STEPS:
            return None
        last = (inputs - 1) * self.base_dilation
        common = gcd(stride, self.base_dilation)
        period = self.base_dilation // common
        inverse = pow(stride // common, -1, period) if period > 1 else 0
        found = 0
        for index in range(short):
            offset = index * step - self.low
            if offset % common:
                continue
            # offset + n * stride in [0, last] with 0 <= n < long, and divisible by the base dilation.
            first = max(0, -(offset // stride)) if stride else 0
            end = min(long - 1, (last - offset) // stride) if stride else long - 1
            if end < first or (not stride and not 0 <= offset <= last):
                continue
            residue = (-offset // common * inverse) % period if period > 1 else 0
            start = first + (residue - first) % period
            if start <= end:
                found += (end - start) // period + 1
        return found


def extents(text: str | None, rank: int) -> tuple[Extent, ...]:
    """`{size=1x2 stride=1x2 pad=0_0x1_1 lhs_dilate=1x2 rhs_dilate=1x1}` as one Extent for each of `rank` dimensions.

    Raises ContractLintError for a number that is none.
    """
    fields = dict(_FIELD.findall(text or ""))

    def each(name: str, default: int) -> list[int]:
        values = fields[name].split("x") if name in fields else []
        read = [integer(value.partition("_")[0]) for value in values]
        return [*read, *[default] * (rank - len(read))][:rank]

    columns = (each("size", 1), each("stride", 1), each("pad", 0), each("rhs_dilate", 1), each("lhs_dilate", 1))
    return tuple(
        Extent(max(size, 0), max(stride, 0), low, max(dilation, 1), max(base, 1))
        for size, stride, low, dilation, base in zip(*columns, strict=True)
    )
