"""What a contract says about how its step is built, as one digest: a capture of another build proves nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def made_from(
    entry: str, args: Mapping[str, Any], reference_args: Mapping[str, Any], accumulation_arg: str | None
) -> str:
    """SHA-256 over the build function, its arguments, those of the one-device twin, and the name of the argument that
    sets the number of microbatches. What is promised about the program that comes out is not in it."""
    said = {"entry": entry, "args": args, "reference_args": reference_args, "accumulation_arg": accumulation_arg}
    return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":"), default=str).encode()).hexdigest()
