"""Whether MaxText is there, and where; found without importing it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ...request import StepFailure

INSTALL = (
    "pip install 'jax-contract-lint[maxtext]' (Python 3.12 or newer), or name the interpreter that has it with --python"
)


def package_folder() -> Path:
    """The folder of the installed package. Raises StepFailure where there is none."""
    spec = importlib.util.find_spec("maxtext")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not places:
        missing = "MaxText is not installed in the interpreter that builds the step"
        raise StepFailure(missing, help=INSTALL, key=("args",))
    return Path(places[0])
