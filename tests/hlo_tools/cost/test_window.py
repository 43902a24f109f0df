"""Positions of a window that meet data, against walking every position."""

from __future__ import annotations

import time

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.cost.window import Extent, extents
from hypothesis import given
from hypothesis import strategies as st


@given(
    st.builds(
        Extent,
        size=st.integers(1, 7),
        stride=st.integers(1, 6),
        low=st.integers(-3, 6),
        dilation=st.integers(1, 4),
        base_dilation=st.integers(1, 6),
    ),
    st.integers(1, 9),
    st.integers(1, 9),
)
def test_positions(extent: Extent, inputs: int, outputs: int) -> None:
    read = [
        out * extent.stride - extent.low + kernel * extent.dilation
        for kernel in range(extent.size)
        for out in range(outputs)
    ]
    met = [at for at in read if at >= 0 and at % extent.base_dilation == 0 and at // extent.base_dilation < inputs]
    assert extent.positions(inputs, outputs) == len(met)


def test_a_batched_product_as_libtpu_writes_it_meets_one_element_for_each_batch() -> None:
    (extent,) = extents("{size=16 stride=15 lhs_dilate=16}", 1)
    assert extent.positions(16, 16) == 16


def test_long_dimensions_are_counted_at_once_and_longer_ones_not_at_all() -> None:
    began = time.monotonic()
    assert Extent(3, low=1).positions(10**15, 10**15) == 3 * 10**15 - 2
    assert Extent(10**15).positions(10**15, 10**15) is None
    assert time.monotonic() - began < 5


def test_what_the_text_leaves_out_has_its_default() -> None:
    assert extents("{size=1x3 pad=0_0x-1_2 rhs_reversal=1x0}", 2) == (Extent(1), Extent(3, low=-1))
    assert extents(None, 1) == (Extent(1),)
    with pytest.raises(ContractLintError, match="not an integer"):
        extents("{size=99999999999999999999}", 1)
