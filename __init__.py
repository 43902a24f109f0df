"""contract-lint: hold a JAX training step to its contract. Names load on first use, so the import costs nothing."""

from importlib import import_module as _import_module
from typing import Any as _Any

_EXPORTS = {
    "Finding": "contracts.finding",
    "capture": "plugins.api",
    "check_source": "plugins.api",
    "collectives": "plugins.api",
    "data_position": "runtime.data",
    "diff": "plugins.api",
    "load_contract": "plugins.api",
    "memory": "plugins.api",
    "parse_hlo": "hlo_tools.module",
    "verify": "plugins.api",
}

__version__ = "0.1.0"
__all__ = ["__version__", *_EXPORTS]


def __getattr__(name: str) -> _Any:
    if name in _EXPORTS:
        return getattr(_import_module(f".{_EXPORTS[name]}", __package__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
