"""The adapters by name, and which entry means one."""

from __future__ import annotations

from .maxtext.adapter import MaxText
from .protocol import Adapter

ADAPTERS: dict[str, Adapter] = {"maxtext": MaxText()}
SUFFIXES = (".yml", ".yaml")


def adapter_for(entry: str) -> tuple[Adapter, str] | None:
    """The adapter and its configuration file of `maxtext:configs/base.yml`; None for a `module:function`."""
    name, _, config = entry.partition(":")
    adapter = ADAPTERS.get(name)
    return (adapter, config) if adapter is not None and config.endswith(SUFFIXES) else None
