"""Why a file of a run could not be written, in the system's words wherever it was the system."""

from __future__ import annotations

import errno

import pytest
from contract_lint.runtime.trainer.not_written import why

FULL = (
    'RESOURCE_EXHAUSTED: Error opening "zarr" driver: Failed to write 197 bytes: No space left on device '
    "[tensorstore_spec='{\"cache_pool\":{}}'] [os_error_code='28']"
)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError(FULL), "No space left on device"),
        (OSError(errno.ENOSPC, "No space left on device", "/run/8/d"), "No space left on device"),
        (OSError(errno.EROFS, "any word"), "Read-only file system"),
        (ValueError("two\nlines"), "ValueError: two lines"),
        (OSError("without a number"), "OSError: without a number"),
    ],
)
def test_why(error: Exception, said: str) -> None:
    assert why(error) == said


def test_a_long_error_is_cut() -> None:
    assert len(why(ValueError("x" * 5_000))) == 300
