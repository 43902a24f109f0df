"""What a leg told, line by line, read back whether it ended or was killed. Never imports jax."""

from __future__ import annotations

import json
from typing import Any

from ...contracts.resume import LegSeen
from .request import LegRequest


def leg_of(request: LegRequest) -> LegSeen | None:
    """The leg as far as it got; None where it told nothing."""
    said: dict[str, Any] = {"restored": 0, "state": {}, "seen": [], "saved": []}
    try:
        with open(request.log, encoding="utf-8") as log:
            for line in log:
                for name, value in json.loads(line).items():
                    if name in ("seen", "saved"):
                        said[name].append(value)
                    else:
                        said[name] = value
    except FileNotFoundError:
        return None
    mesh = request.child.mesh.axes if request.child.mesh is not None else {}
    return LegSeen(mesh=mesh, **said)
