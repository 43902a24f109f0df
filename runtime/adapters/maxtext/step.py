"""The train step that MaxText's own loop would jit, with its arguments as shapes and placements."""

# MaxText is not installed where types are checked: it needs a newer Python.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax

from ...step import Step
from . import config as configuration
from .installed import package_folder
from .values import example_of


def build_step(
    mesh: jax.sharding.Mesh, config: str, overrides: Mapping[str, Any], devices: int | None, compute: str | None
) -> Step:
    """See `build` of this package."""
    package_folder()
    # MaxText's trainers set it before anything else; with other keys the program draws its random numbers otherwise.
    jax.config.update("jax_default_prng_impl", "unsafe_rbg")
    cfg = configuration.load(config, overrides, mesh, devices, compute)
    from maxtext.trainers.pre_train import train, train_compile
    from maxtext.utils import maxtext_utils, sharding

    # Its own layout over the target's devices: on a torus that is not row-major.
    own = maxtext_utils.get_mesh_from_config(cfg, devices=sorted(mesh.devices.flat, key=lambda device: device.id))
    (state, batch), _, state_shardings, _, graphdef = train_compile.get_shaped_inputs(own, cfg)
    # The steps of train_compile.main, which are those of the training loop.
    parameters, state_shardings = sharding.maybe_update_params_sharding_with_opt(cfg, state_shardings)
    going_in = sharding.build_zero1_input_state_mesh_shardings(cfg, state_shardings, parameters)
    function, ins, outs, static, donate = maxtext_utils.get_functional_train_with_signature(
        train.train_step, sharding.get_input_data_sharding(cfg, own), going_in, graphdef, cfg, parameters
    )
    with_rules = under_rules(function, cfg.logical_axis_rules)
    return Step(
        fn=jax.jit(with_rules, in_shardings=ins, out_shardings=outs, static_argnums=static, donate_argnums=donate),
        args=(state, batch),
        donate=("state",),
        carry={0: "state"},
        example=example_of(cfg, own, state, batch),
        loss_and_grads=under_rules(_loss_and_grads(cfg, graphdef, parameters), cfg.logical_axis_rules),
        mesh=own,
        logical_axes=_logical_axes(state),
    )


def under_rules(function: Callable[..., Any], rules: Any) -> Callable[..., Any]:
    """The function traced with MaxText's logical axis rules current."""
    from flax.core.spmd import logical_axis_rules

    def train_step(state: Any, data: Any) -> Any:
        with logical_axis_rules(rules):
            return function(state, dict(data))

    return train_step


def _logical_axes(state: Any) -> dict[str, list[str | None]]:
    """MaxText's names for the dimensions of each parameter (`embed`, `layers`, `mlp`), by path."""
    from flax import nnx

    found: dict[str, list[str | None]] = {}
    for path, variable in nnx.to_flat_state(state):
        names = variable.get_metadata().get("out_sharding") if isinstance(variable, nnx.Variable) else None
        if path[0] == "model" and names and all(name is None or isinstance(name, str) for name in names):
            found["/".join(map(str, path))] = list(names)
    return found


def _loss_and_grads(cfg: Any, graphdef: Any, parameters: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Loss and gradients of a state and a batch by MaxText's own functions, before clipping and the optimizer."""
    from flax import nnx
    from maxtext.trainers.pre_train import train
    from maxtext.utils.gradient_accumulation import gradient_accumulation_loss_and_grad

    def loss_and_grads(state: Any, data: Any) -> tuple[Any, Any]:
        model = nnx.merge(graphdef, state).model
        nnx.pop(model, nnx.Intermediate)
        if cfg.gradient_accumulation_steps > 1:
            loss, _, grads = gradient_accumulation_loss_and_grad(
                train.loss_fn, cfg, model, None, parameters, data, None
            )
            return loss, grads
        graph, params, rest = nnx.split(model, nnx.Param, ...)

        def loss_of(params: Any) -> Any:
            return train.loss_fn(nnx.merge(graph, params, rest, copy=True), cfg, data, None, None, is_train=True)[0]

        return jax.value_and_grad(loss_of)(params)

    return loss_and_grads
