"""From `maxtext:FILE key=value ...` to a contract's step section; reads no configuration and loads no MaxText."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....contracts.errors import ContractLintError
from ....contracts.key import Key
from ....contracts.target_name import parse_target
from ..protocol import Adapted

ENTRY = "contract_lint.runtime.adapters.maxtext:build"
ALIAS = "maxtext"

AXES = (
    "diloco",
    "data",
    "stage",
    "fsdp",
    "fsdp_transpose",
    "context",
    "context_usp_ulysses",
    "context_autoregressive",
    "tensor",
    "tensor_sequence",
    "expert",
    "autoregressive",
)
"""MaxText's mesh, outermost first."""
_SIZE_KEYS = {"stage": "pipeline"}

BINDINGS: dict[Key, str] = {
    ("dtypes", "master"): "weight_dtype",
    ("dtypes", "compute"): "dtype",
    **{("mesh", "axes", axis): f"ici_{_SIZE_KEYS.get(axis, axis)}_parallelism" for axis in AXES},
}
"""What a contract says that one key of MaxText's configuration decides."""


class MaxText:
    """The adapter."""

    target = "cpu:8"

    def adapt(self, config: str, overrides: Mapping[str, Any], target: str, folder: Path) -> Adapted:
        """See the protocol. A file that is not there is left for MaxText's own folder of configurations."""
        try:
            parsed = parse_target(target)
        except ValueError as error:
            raise ContractLintError(f"`{target}` is not a target: {error}") from None
        file = Path(config)
        here = file.is_file()
        where = Path(os.path.relpath(file, folder)).as_posix() if here else file.as_posix()
        args: dict[str, Any] = {"config": where}
        if overrides:
            args["overrides"] = dict(overrides)
        return Adapted(
            entry=ENTRY,
            args=args,
            # Only CPU devices execute the step, and so compare it with one.
            reference_args={"devices": parsed.devices, "compute": "float32"} if parsed.platform == "cpu" else {},
            name=f"maxtext-{file.stem}".replace("_", "-"),
            config={ALIAS: where} if here else {},
            bindings={key: name for key, name in BINDINGS.items() if name not in overrides},
        )
