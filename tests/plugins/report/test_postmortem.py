"""What is said of memory that ran out: the verdict and the largest thing to do first, in every format."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from contract_lint.hlo_tools.postmortem import post_mortem
from contract_lint.plugins.report.ledgers import LedgerFormat, render_ledger

SAYS_FIRST = {
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 13421772800 bytes.": (
        "12.50 GiB of device memory could not be allocated. The message lists no buffers: run once more with XLA_FLAGS="
    ),
    "Out of memory while trying to allocate 12.50GiB.\nPeak buffers:\n\tBuffer 1:\n\t\tSize: 8.00GiB\n\t\tOperator: "
    'op_name="jit(f)/dot" source_file="b.py" source_line=42\n\t\tShape: bf16[4096,1048576]\n\t\t==========': (
        "12.50 GiB of device memory could not be allocated. Largest: bf16[4096,1048576] 8.00 GiB, made at b.py:42."
    ),
    "Peak buffers:\n\tBuffer 1:\n\t\tSize: 8.00GiB\n\t\tEntry Parameter Subshape: f32[2147483648]\n\t\t==========": (
        "A part of an out-of-memory report, without its sums. Largest: f32[2147483648] 8.00 GiB; shard it"
    ),
    "BufferAssignment stats:\n     preallocated temp allocation:   12.50GiB\n     total allocation:   24.50GiB\n": (
        "A program did not fit as it ran: its allocations take 24.50 GiB. The message lists no buffers"
    ),
    "Error allocating device buffer: Attempting to allocate 4.00G. That was not possible. There are 2.00G free.": (
        "4.00 GiB of device memory could not be allocated: 2.00 GiB free. It is an array put on the device, or"
    ),
    "Attempting to allocate 32.00M. That was not possible. There are 64.00M free. The largest contiguous region of "
    "free memory is 16.00M due to fragmentation.": (
        "32.00 MiB of device memory could not be allocated: 64.00 MiB free, 16.00 MiB in one piece. Enough is free, but"
    ),
    "Error loading program 'jit_f': Attempting to reserve 8.00G at the bottom of memory. That was not possible. There "
    "are 6.00G free, 0B reserved, and 5.00G reservable.": (
        "jit_f: 8.00 GiB of device memory could not be allocated: 6.00 GiB free, 5.00 GiB in one piece. The message"
    ),
    "Out of host memory while trying to allocate 2.00GiB.": (
        "2.00 GiB of host memory could not be allocated. It is memory of the host"
    ),
    "Scoped allocation with size 20.00M and limit 16.00M exceeded scoped vmem limit by 4.00M": (
        "A kernel does not fit: 20.00 MiB of scoped vmem needed, 16.00 MiB there, 4.00 MiB too much. It is the"
    ),
    "TensorCore Hbm usage: 34.00G, SparseCore Hbm usage 174.00G, exceeding available bytes: 95.00G": (
        "The program does not fit: 208.00 GiB of hbm needed, 95.00 GiB there, 113.00 GiB too much. The message lists"
    ),
    "Can't reduce memory use below 37.00GiB by rematerialization; only reduced to 60.00GiB, down from 61.00GiB "
    "originally": (
        "The program takes 60.00 GiB by the compiler's count, 23.00 GiB more than the 37.00 GiB that it aims at; "
        "recomputing saved 1.00 GiB."
    ),
    "Can't reduce memory use below -1.00GiB by rematerialization; only reduced to 60.00GiB": (
        "The program takes 60.00 GiB by the compiler's count, and what it is given already leaves it nothing."
    ),
}


@pytest.mark.parametrize("said", SAYS_FIRST)
def test_a_message_of_memory_says_first_what_is_missing_and_what_to_do(said: str) -> None:
    report = post_mortem(said)
    assert report is not None
    for form in get_args(LedgerFormat):
        shown = render_ledger(report, form, 120)
        if form == "text":
            assert " ".join(shown.split()).startswith(SAYS_FIRST[said])
        elif form == "json":
            assert json.loads(shown).keys() >= {"refused", "rematerialization", "sections"}
        assert "cut" not in shown
