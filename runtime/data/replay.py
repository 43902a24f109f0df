"""The child process of `batch replay`: opens a loader at two cursors and digests what it gives.

`python -m contract_lint.runtime.data.replay REQUEST REPORT FD`, as `worker` says.
"""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import Field

from ..request import ChildFailure, Message, StepFailure
from ..worker import Progress, leave, require, serve

TARGET = "cpu:1"


class ReplayRequest(Message):
    """A loader, the two cursors to put in, and how many batches to compare. `path` holds absolute folders."""

    entry: str
    path: list[str] = Field(default_factory=list)
    fallback_path: list[str] = Field(default_factory=list)
    args: dict[str, Any] = Field(default_factory=dict)
    cursors: list[Any]
    batches: int
    project_root: str


class ReplayReport(Message):
    """For each cursor the digests of its batches, or why it was not taken; the stages of loader and iterator."""

    failure: ChildFailure | None = None
    digests: list[list[str]] = Field(default_factory=list)
    refused: list[str | None] = Field(default_factory=list)
    pipeline: list[str] = Field(default_factory=list)
    iterator: list[str] = Field(default_factory=list)


def replay(request: ReplayRequest, progress: Progress) -> ReplayReport:
    """Open the loader once for each cursor. Raises StepFailure for whatever the user's code raises."""
    require(TARGET)
    from ..errors import failure
    from ..frames import FramePaths
    from ..load_entry import load_entry
    from .cursor import NoBatches, Refused, opened
    from .digest import NotABatch, batch_digest
    from .pipeline import described

    paths = FramePaths(Path(request.project_root), [Path(folder) for folder in request.path])
    progress(f"importing {request.entry}")
    key = ("data", "loader", "entry")
    entry = load_entry(request.entry, request.path, paths, key, "data.loader.path", request.fallback_path)
    digests: list[list[str]] = []
    refused: list[str | None] = []
    pipeline: list[str] = []
    iterating: list[str] = []
    for number, cursor in enumerate(request.cursors):
        progress(f"reading {request.batches} batches from position {'AB'[number] if number < 2 else number}")
        try:
            iterator, loader = opened(entry, request.args, cursor)
            pipeline, iterating = described(loader), described(iterator)
            digests.append([batch_digest(batch) for batch in islice(iterator, request.batches)])
            refused.append(None)
        except Refused as error:
            digests.append([])
            refused.append(str(error))
        except (NoBatches, NotABatch) as error:
            raise StepFailure(f"the loader `{request.entry}` cannot be replayed: {error}", key=key) from None
        except BaseException as error:  # SystemExit and the like end the user's code here, not this process
            raise failure(error, paths, f"reading from `{request.entry}`", key) from None
    if not any(digests) and not any(refused):
        raise StepFailure(f"`{request.entry}` gives no batch from either position", key=key)
    return ReplayReport(digests=digests, refused=refused, pipeline=pipeline, iterator=iterating)


if __name__ == "__main__":
    leave(serve(sys.argv[1:], ReplayRequest, replay, lambda _, failure: ReplayReport(failure=failure)))
