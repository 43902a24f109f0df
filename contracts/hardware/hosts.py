"""GPUs that one host has at most, as published: a target of more in a host is a machine that nobody can have."""

from __future__ import annotations

MOST_GPUS: dict[str, tuple[int, str]] = {
    "a100": (16, "https://cloud.google.com/compute/docs/gpus"),
    "h100": (8, "https://docs.nvidia.com/dgx/dgxh100-user-guide/"),
    "h200": (8, "https://docs.nvidia.com/dgx/dgxh100-user-guide/"),
    "b200": (8, "https://docs.nvidia.com/dgx/dgxb200-user-guide/"),
}
"""Kind -> cards of the largest host, and where that is published."""


def no_such_host(kind: str, gpus: int) -> str | None:
    """Why no host has so many GPUs of a kind; None where one has."""
    most, page = MOST_GPUS.get(kind, (gpus, ""))
    if gpus <= most:
        return None
    return f"a host has up to {most} {kind} ({page}); write more hosts, as in cuda:{kind}:{-(-gpus // most)}x{most}"
