"""What runtimes say when they cannot allocate, in every wording; and what is no refusal."""

from __future__ import annotations

import pytest
from contract_lint.hlo_tools.refusals import Refusal, refusal

GIB = 1 << 30
MIB = 1 << 20
WORDINGS = {
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 13421772800 bytes.": Refusal(12 * GIB + GIB // 2),
    "Resource exhausted: Out of memory while trying to allocate 24 bytes.": Refusal(24),
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 12.50GiB": Refusal(12 * GIB + GIB // 2),
    "RESOURCE_EXHAUSTED: Out of host memory while trying to allocate 2.00GiB. Please set": Refusal(2 * GIB, "host"),
    "Failed to allocate request for 32.00MiB (33554433B) on device ordinal 0": Refusal(32 * MIB + 1),
    "RESOURCE_EXHAUSTED: Out of memory allocating 4096 bytes.": Refusal(4096),
    "INTERNAL: Failed to allocate 98697216 bytes for new constant": Refusal(98_697_216),
    "Failed to allocate 4096 bytes for host offloading transfer buffer": Refusal(4096, "host"),
    "Error allocating device buffer: Attempting to allocate 4.00G. That was not possible. There are 2.50G free.; "
    "(0x0x0_HBM0)": Refusal(4 * GIB, by="array", free_bytes=2 * GIB + GIB // 2),
    "Attempting to allocate 32.00M. That was not possible. There are 64.00M free. Due to fragmentation, the largest "
    "contiguous region of free memory is 16.00M.; (0x0x0_HBM0)": Refusal(
        32 * MIB, free_bytes=64 * MIB, usable_bytes=16 * MIB
    ),
    "Attempting to allocate 32.00M. That was not possible. There are 64.00M free. The largest contiguous region of "
    "free memory is 16.00M due to fragmentation.": Refusal(32 * MIB, free_bytes=64 * MIB, usable_bytes=16 * MIB),
    "Error loading program 'jit_step': Attempting to reserve 29.50G at the bottom of memory. That was not possible. "
    "There are 128.00M free, 0B reserved, and 64.00M reservable. Scope: unknown..": Refusal(
        29 * GIB + GIB // 2, by="program", program="jit_step", free_bytes=128 * MIB, usable_bytes=64 * MIB
    ),
    "Error loading program: Attempting to reserve 7.00G at the bottom of memory.\nThat was not possible. There are "
    "6.00G free": Refusal(7 * GIB, by="program", free_bytes=6 * GIB),
    "TPU TensorCore Hbm usage: 34.00G, SparseCore Hbm usage 174.00G, exceeding available bytes: 95.00G": Refusal(
        208 * GIB, "hbm", "compiler", limit_bytes=95 * GIB
    ),
    "memory space vmem while allocating on stack for %k. Scoped allocation with size 20.00M and limit 16.00M exceeded "
    "scoped vmem limit by 4.00M.": Refusal(20 * MIB, "scoped vmem", "compiler", limit_bytes=16 * MIB),
    "Allocation (size=134217728) would exceed memory (size=67108864) :: #allocation25 [shape = 'u8[134217728]{0}', "
    "space=vmem, size = 0x8000000] :: k.2": Refusal(128 * MIB, "vmem", "compiler", limit_bytes=64 * MIB),
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 2147483648)requested": Refusal(
        2 * GIB
    ),
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 2147483648) from the lower end "
    "requested by op \nStats: \nLimit:  8589934592\nInUse:  7516192768\n": Refusal(
        2 * GIB, free_bytes=GIB, limit_bytes=8 * GIB
    ),
    "Allocator (xla_gpu_host_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 2147483648)": Refusal(
        2 * GIB, "host"
    ),
    "gpu_async_0 cuMemAllocAsync failed to allocate 2147483648 bytes: CUDA error: out of memory\n Reported by CUDA: "
    "Free memory/Total memory: 1073741824/17179869184": Refusal(2 * GIB, free_bytes=GIB, limit_bytes=16 * GIB),
    "failed to allocate 2.00GiB (2147483648 bytes) from device: HIP_ERROR_OutOfMemory": Refusal(2 * GIB),
}


@pytest.mark.parametrize("said", WORDINGS)
def test_wordings_of_runtimes(said: str) -> None:
    assert refusal(f"Traceback\njax.errors.JaxRuntimeError: {said}\nmore") == WORDINGS[said]


@pytest.mark.parametrize(
    "said",
    [
        "",
        "RESOURCE_EXHAUSTED: too many requests",
        "Out of memory while trying to allocate 1342",
        "Attempting to allocate 3.91G. That was not poss",
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.25GiB with freed_by_count=0. The caller "
        "indicates that this is not a failure",
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.25GiB from the lower end with freed_by_count=0.",
        "failed to allocate a name",
    ],
)
def test_what_is_no_refusal_or_cut_is_none(said: str) -> None:
    assert refusal(said) is None


def test_the_error_goes_before_what_its_allocator_logged_and_the_first_before_later_ones() -> None:
    logged = (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 2147483648)requested by op\n"
    )
    errors = "".join(f"Out of memory while trying to allocate {size} bytes.\n" for size in (4096, 8192))
    found = refusal(logged + errors)
    assert found is not None and found.wanted_bytes == 4096


@pytest.mark.parametrize(("free", "fragmented"), [("33.00M", True), ("31.00M", False)])
def test_enough_that_is_free_is_in_pieces(free: str, fragmented: bool) -> None:
    found = refusal(f"Attempting to allocate 32.00M. That was not possible. There are {free} free.")
    assert found is not None and found.is_fragmented is fragmented
