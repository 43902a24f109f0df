"""ZeRO-1: optimizer slots split over more axes than their parameters; each device updates its slice and the new
parameters are gathered.

    all-gather:  once a step for each parameter, of the whole stacked array in the master dtype

Source: ZeRO 1910.02054, sections 5.1 and 7.2.1 (P_os: reduce the gradients, gather the updated parameters). The
gather moves master parameters, which are kept in their own dtype: twice the volume of the paper's half-precision
copy.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..layout import Layout, ways
from ..quantity import ONE
from .rows import PlannedCollective, row


def parameter_gathers(layout: Layout) -> Iterator[PlannedCollective]:
    """One row for each parameter whose slots are split over more axes than itself."""
    for weight in layout.weights:
        extra = tuple(axis for axis in weight.slots if axis not in weight.embed)
        if not extra:
            continue
        whole = weight.size * layout.layers if weight.parameter.per_layer else weight.size
        yield row(
            "all-gather",
            extra,
            ONE,
            whole // ways(weight.embed, layout.mesh),
            dtype=layout.dtypes.master,
            term="gather of the updated parameter",
            source="ZeRO 1910.02054, 5.1",
            key="optimizer.placement",
            what=weight.path,
        )
