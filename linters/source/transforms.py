"""Which JAX functions take functions, and which parameters of those are tracers then. A data table.

`functions` are the positions of the functions among the arguments (names in `keywords`); `parameters` says which of
their parameters are traced: `all`, `argnums` (that of `argnums`, by default the first), `mapped` (all but those whose
`in_axes` is None), `sharded` (all but those whose spec is None, which are handed on as they are), `none`. `staged`
transforms make a program of everything inside; under the others an operation on a constant still runs at once.
`concrete` transforms differentiate: they run the function on its numbers, and Python can ask which way they go. `host`
marks the callbacks: their function runs on the host.
"""

from __future__ import annotations

from dataclasses import dataclass

from .traced import CONCRETE, HIDDEN, STAGED


@dataclass(frozen=True, slots=True)
class Transform:
    """One transform; see the module."""

    functions: tuple[int, ...] = (0,)
    keywords: tuple[str, ...] = ("f", "fun", "func", "fn", "function")
    parameters: str = "all"
    staged: bool = False
    wraps: bool = True
    host: bool = False
    compiles: bool = False
    transparent: bool = False
    concrete: bool = False

    @property
    def stage(self) -> int:
        """How far what it hands to a function is from its numbers; see `traced`."""
        at_once = self.concrete or self.transparent or self.host
        return STAGED if self.staged else CONCRETE if at_once else HIDDEN


_JIT = Transform(staged=True, compiles=True)
_PMAP = Transform(staged=True, compiles=True, parameters="mapped")
_CHECKPOINT = Transform(staged=True)
_GRAD = Transform(parameters="argnums", concrete=True)
_VMAP = Transform(parameters="mapped")
_EVAL_SHAPE = Transform(staged=True, wraps=False)
_RULE = Transform(staged=True, wraps=False)
_HOST = Transform(parameters="none", wraps=False, host=True, keywords=("callback", "func", "f"))
_SHARD = Transform(staged=True, parameters="sharded")
_KEEP = Transform(parameters="none", transparent=True)

TRANSFORMS: dict[str, Transform] = {
    **dict.fromkeys(
        (
            "jax.jit", "jax.pjit", "jax.experimental.pjit.pjit", "jax.api.jit", "jax.xla_computation",
            "equinox.filter_jit",
            "equinox.internal.filter_jit", "flax.nnx.jit", "flax.linen.jit", "haiku.jit", "chex.jit",
            "jax.interpreters.pxla.pjit",
        ),
        _JIT,
    ),
    **dict.fromkeys(("jax.pmap", "flax.nnx.pmap", "equinox.filter_pmap", "jax.soft_pmap"), _PMAP),
    **dict.fromkeys(
        (
            "jax.checkpoint", "jax.remat", "jax.ad_checkpoint.checkpoint", "jax.ad_checkpoint.remat",
            "flax.linen.remat", "flax.linen.checkpoint", "flax.nnx.remat", "flax.nnx.checkpoint",
            "equinox.filter_checkpoint",
            "jax.experimental.remat", "haiku.remat",
        ),
        _CHECKPOINT,
    ),
    **dict.fromkeys(
        (
            "jax.grad", "jax.value_and_grad", "jax.jacfwd", "jax.jacrev", "jax.jacobian", "jax.hessian",
            "flax.nnx.grad", "flax.nnx.value_and_grad", "equinox.filter_grad", "equinox.filter_value_and_grad",
            "equinox.filter_jacfwd", "equinox.filter_jacrev", "equinox.filter_hessian",
            "flax.linen.grad", "flax.linen.value_and_grad", "haiku.grad", "haiku.value_and_grad",
        ),
        _GRAD,
    ),
    **dict.fromkeys(("jax.linearize", "jax.vjp", "jax.jvp", "equinox.filter_vjp", "equinox.filter_jvp",
        "flax.linen.vjp", "flax.linen.jvp", "flax.nnx.vjp", "flax.nnx.jvp"), Transform(wraps=False, concrete=True)),
    "jax.linear_transpose": Transform(wraps=False),
    **dict.fromkeys(
        (
            "jax.vmap", "flax.nnx.vmap", "equinox.filter_vmap", "flax.linen.vmap", "haiku.vmap",
            "jax.experimental.maps.xmap",
            "jax.numpy.vectorize",
        ),
        _VMAP,
    ),
    **dict.fromkeys(
        ("jax.shard_map", "jax.experimental.shard_map.shard_map", "flax.nnx.shard_map",
        "jax.experimental.pallas.pallas_call",
         "jax.smap"),
        _SHARD,
    ),
    **dict.fromkeys(
        ("jax.eval_shape", "flax.nnx.eval_shape", "equinox.filter_eval_shape", "jax.make_jaxpr",
        "equinox.filter_make_jaxpr",
         "jax.closure_convert", "jax.export.export"),
        _EVAL_SHAPE,
    ),
    **dict.fromkeys(("jax.custom_vjp", "jax.custom_jvp", "jax.custom_gradient", "jax.custom_batching.custom_vmap",
        "jax.custom_derivatives.custom_vjp", "jax.custom_derivatives.custom_jvp", "equinox.filter_custom_vjp",
        "equinox.filter_custom_jvp", "flax.nnx.custom_vjp", "flax.linen.custom_vjp",
        "jax.custom_transpose", "jax.named_call", "equinox.filter_closure_convert",
        "jax.custom_derivatives.custom_gradient"),
        Transform(transparent=True)),
    **dict.fromkeys(("jax.lax.scan", "flax.nnx.scan", "jax.lax.map", "jax.lax.associative_scan",
        "equinox.internal.scan", "haiku.scan", "haiku.map"), Transform(keywords=("f", "fn", "body"), staged=True,
        wraps=False)),
    "flax.linen.scan": Transform(staged=True),
    **dict.fromkeys(("jax.lax.while_loop", "flax.nnx.while_loop", "equinox.internal.while_loop", "haiku.while_loop",
    "flax.linen.while_loop"),
        Transform((0, 1), ("cond_fun", "body_fun", "cond_fn", "body_fn"), staged=True, wraps=False)),
    **dict.fromkeys(("jax.lax.fori_loop", "flax.nnx.fori_loop", "haiku.fori_loop"),
        Transform((2,), ("body_fun", "body_fn"), staged=True, wraps=False)),
    **dict.fromkeys(("jax.lax.cond", "flax.nnx.cond", "haiku.cond"),
        Transform((1, 2, 3, 4), ("true_fun", "false_fun", "true_fn", "false_fn"), staged=True, wraps=False)),
    "flax.linen.cond": Transform((1, 2), ("true_fun", "false_fun"), staged=True, wraps=False),
    **dict.fromkeys(("jax.lax.switch", "flax.nnx.switch", "haiku.switch", "flax.linen.switch"), Transform((1,),
    ("branches",), staged=True, wraps=False)),
    **dict.fromkeys(("jax.lax.custom_root", "jax.lax.custom_linear_solve", "jax.scipy.optimize.minimize",
        "jax.scipy.sparse.linalg.cg", "jax.scipy.sparse.linalg.gmres", "jax.scipy.sparse.linalg.bicgstab"),
        Transform((0, 2, 3), ("f", "fun", "A", "matvec", "solve", "transpose_solve", "M"), staged=True, wraps=False)),
    "jax.experimental.ode.odeint": Transform(staged=True, wraps=False),
    "jax.lax.reduce": Transform((2,), ("computation",), staged=True, wraps=False),
    "jax.lax.reduce_window": Transform((2,), ("computation",), staged=True, wraps=False),
    "jax.flatten_util.ravel_pytree": Transform(()),
    **dict.fromkeys(("jax.pure_callback", "jax.experimental.io_callback", "jax.debug.callback",
    "jax.experimental.host_callback.call",
        "jax.experimental.host_callback.id_tap", "jax.debug.print", "jax.experimental.callback.io_callback",
        "jax.experimental.pure_callback", "jax.monitoring.register_event_listener",
        "equinox.internal.filter_pure_callback",
        "equinox.filter_pure_callback"), _HOST),
    **dict.fromkeys(("functools.wraps", "functools.lru_cache", "functools.cache", "builtins.staticmethod",
    "builtins.classmethod",
        "flax.linen.compact", "flax.linen.nowrap", "typing.overload", "abc.abstractmethod", "typing.no_type_check",
        "jaxtyping.jaxtyped", "beartype.beartype", "typeguard.typechecked", "contextlib.contextmanager",
        "jax.util.unzip",
        "jax.named_scope", "jax.profiler.annotate_function", "jax.disable_jit", "typing_extensions.override",
        "typing.override",
        "haiku.transparent", "haiku.transform", "haiku.transform_with_state", "haiku.without_apply_rng",
        "flax.linen.named_call",
        "jax.default_matmul_precision", "functools.singledispatch", "typing.final", "typing_extensions.deprecated",
        "chex.assert_max_traces", "equinox.debug.assert_max_traces", "flax.linen.jit.wraps"), _KEEP),
}  # fmt: skip

# Options by the positions after the function.
POSITIONAL: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("jax.grad", "jax.value_and_grad", "jax.jacfwd", "jax.jacrev", "jax.hessian"), ("argnums", "has_aux")
    ),
    "jax.vmap": ("in_axes", "out_axes", "axis_name"),
    "jax.pmap": ("axis_name",),
    "jax.shard_map": ("mesh", "in_specs", "out_specs"),
    "jax.experimental.shard_map.shard_map": ("mesh", "in_specs", "out_specs"),
}

# Methods of custom derivatives: every function given to them runs under a transform, on all arguments.
RULE_METHODS = {
    "defvjp",
    "defjvp",
    "defjvps",
    "def_fwd",
    "def_bwd",
    "def_jvp",
    "def_vmap",
    "defvjp_all",
    "def_transpose",
}
COMPILES = frozenset(name for name, each in TRANSFORMS.items() if each.compiles)
WRAPPERS = frozenset(name for name, each in TRANSFORMS.items() if each.wraps and not each.host)

# Base classes whose methods of these names are traced by convention.
MODULE_BASES: dict[str, frozenset[str]] = {
    "flax.linen.Module": frozenset({"__call__"}),
    "flax.nnx.Module": frozenset({"__call__"}),
    "equinox.Module": frozenset({"__call__"}),
    "haiku.Module": frozenset({"__call__"}),
    "penzai.pz.nn.Layer": frozenset({"__call__"}),
    "penzai.core.struct.Struct": frozenset(),
}
