"""MaxText as a step: its configuration and `key=value` words in, its own jitted train step out.

    entry: contract_lint.runtime.adapters.maxtext:build
    args: { config: configs/tiny.yml, overrides: { ici_fsdp_parallelism: 4 } }

MaxText is used as it is installed. Importing this package loads neither it nor jax; `build` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def build(
    mesh: Any,
    config: str = "base.yml",
    overrides: Mapping[str, Any] | None = None,
    devices: int | None = None,
    compute: str | None = None,
) -> Any:
    """MaxText's train step over the devices of `mesh`, laid out as its configuration says.

    config: a MaxText configuration file, found like a module: in `step.NAME.path`, beside the contract, at the
    project's root; else among MaxText's own configurations.
    overrides: keys of that configuration, as on MaxText's command line.
    devices: how many devices the configuration is for; on a mesh of one device that one takes the batch of all.
    compute: replaces the configuration's `dtype`; only `--run` asks for it, to compare in float32.
    Raises StepFailure for a configuration that cannot be found or that MaxText refuses.
    """
    from .step import build_step

    return build_step(mesh, config, overrides or {}, devices, compute)
