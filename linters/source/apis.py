"""What known functions and attributes give: a data table by dotted name, the longest matching prefix wins.

`array` is a tracer wherever tracing stages operations, an array on the host elsewhere; `static` is known while tracing;
`key` a PRNG key; `host` a numpy or Python value; `tree` a pytree of what went in; `same` what its first argument is;
`callable` a function; `unknown` nothing that matters here.
"""

from __future__ import annotations

from functools import cache

_STATIC_NUMPY = (
    "shape", "ndim", "size", "issubdtype", "isscalar", "iscomplexobj", "isrealobj", "dtype", "finfo", "iinfo",
    "result_type",
    "promote_types", "can_cast", "broadcast_shapes", "einsum_path", "isdtype", "iterable", "get_printoptions",
    "index_exp", "s_",
    "save", "savez", "printoptions", "set_printoptions",
)  # fmt: skip
_STATIC_CONSTANTS = (
    "pi", "e", "inf", "nan", "newaxis", "euler_gamma", "float64", "float32", "float16", "bfloat16", "int64", "int32",
    "int16",
    "int8", "int4", "uint64", "uint32", "uint16", "uint8", "bool_", "complex64", "complex128", "floating", "integer",
    "number",
    "inexact", "generic", "signedinteger", "unsignedinteger", "complexfloating", "float8_e4m3fn", "float8_e5m2",
    "float_",
    "int_", "double", "single", "NINF", "PINF",
)  # fmt: skip

RESULTS: dict[str, str] = {
    "jax": "unknown",
    "jax.numpy": "array",
    **{f"jax.numpy.{name}": "static" for name in _STATIC_NUMPY},
    "jax.numpy.vectorize": "callable",
    "jax.numpy.load": "array",
    "jax.numpy.ufunc": "callable",
    "jax.lax": "array",
    "jax.lax.stop_gradient": "tree",
    "jax.lax.optimization_barrier": "tree",
    "jax.lax.with_sharding_constraint": "tree",
    "jax.lax.axis_size": "static",
    "jax.lax.broadcast_shapes": "static",
    "jax.lax.dtype": "static",
    "jax.lax.ConvDimensionNumbers": "static",
    "jax.lax.conv_dimension_numbers": "static",
    "jax.lax.DotDimensionNumbers": "static",
    "jax.lax.GatherDimensionNumbers": "static",
    "jax.lax.ScatterDimensionNumbers": "static",
    "jax.lax.Precision": "static",
    "jax.lax.padtype_to_pads": "static",
    **dict.fromkeys(("jax.lax.psum", "jax.lax.pmean", "jax.lax.pmax", "jax.lax.pmin", "jax.lax.all_gather",
    "jax.lax.ppermute",
        "jax.lax.scan", "jax.lax.map", "jax.lax.cond", "jax.lax.switch", "jax.lax.while_loop", "jax.lax.fori_loop",
        "jax.lax.associative_scan", "jax.lax.pvary", "jax.lax.pcast", "jax.lax.custom_root", "jax.lax.all_to_all"),
        "outputs"),
    "jax.random": "array",
    **dict.fromkeys((f"jax.random.{name}" for name in ("key", "PRNGKey", "split", "fold_in", "clone",
    "wrap_key_data")), "key"),
    "jax.random.key_impl": "static",
    "jax.nn": "array",
    "jax.nn.initializers": "callable",
    "jax.scipy": "array",
    "jax.ops": "array",
    "jax.image": "array",
    "jax.flatten_util": "unknown",
    "jax.experimental.pallas.program_id": "array",
    "jax.experimental.pallas.load": "array",
    "jax.experimental.pallas.num_programs": "array",
    **dict.fromkeys(("jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map", "jax.tree_util.tree_map_with_path",
        "jax.tree.map_with_path", "jax.tree_multimap", "jax.tree_util.tree_multimap", "jax.tree_leaves"), "mapped"),
    **dict.fromkeys(("jax.tree.leaves", "jax.tree_util.tree_leaves", "jax.tree.unflatten",
    "jax.tree_util.tree_unflatten",
        "jax.tree.flatten", "jax.tree_util.tree_flatten", "jax.tree.leaves_with_path",
        "jax.tree_util.tree_leaves_with_path",
        "jax.device_put", "jax.tree_flatten", "jax.tree_unflatten", "jax.tree.transpose"), "tree"),
    **dict.fromkeys(("jax.tree.structure", "jax.tree_util.tree_structure", "jax.tree_structure", "jax.typeof",
    "jax.eval_shape",
        "jax.ShapeDtypeStruct", "jax.make_mesh", "jax.sharding", "jax.dtypes", "jax.device_count",
        "jax.local_device_count",
        "jax.process_index", "jax.process_count", "jax.devices", "jax.local_devices", "jax.default_backend",
        "jax.config",
        "jax.core.get_aval", "jax.core.ShapedArray", "jax.host_id", "jax.host_count", "jax.experimental.mesh_utils",
        "jax.version", "jax.__version__", "jax.core.is_constant_dim", "jax.core.Tracer", "jax.errors"), "static"),
    "jax.device_get": "host",
    "jax.block_until_ready": "same",
    "jax.debug": "static",
    "numpy": "host",
    **{f"numpy.{name}": "static" for name in (*_STATIC_NUMPY, *_STATIC_CONSTANTS)},
    "math": "static",
    "scipy": "host",
    "pandas": "host",
    "random": "host",
    "time": "host",
    "os": "host",
    "datetime": "host",
    "uuid": "host",
    "json": "host",
    "secrets": "host",
    "einops": "same",
    "einops.parse_shape": "static",
    **{f"flax.linen.{name}": "array" for name in (
        "relu", "gelu", "silu", "swish", "softmax", "log_softmax", "sigmoid", "tanh", "elu", "selu", "celu",
        "leaky_relu", "softplus",
        "one_hot", "dot_product_attention", "make_causal_mask", "make_attention_mask", "avg_pool", "max_pool", "pool",
        "standardize", "normalize", "log_sigmoid", "hard_tanh", "relu6", "soft_sign", "glu", "hard_sigmoid",
        "hard_silu")},
    **{f"flax.nnx.{name}": "array" for name in (
        "relu", "gelu", "silu", "swish", "softmax", "log_softmax", "sigmoid", "tanh", "elu", "selu", "leaky_relu",
        "softplus",
        "one_hot", "dot_product_attention", "make_causal_mask", "make_attention_mask")},
    **{f"optax.{name}": "array" for name in (
        "global_norm", "softmax_cross_entropy", "softmax_cross_entropy_with_integer_labels",
        "sigmoid_binary_cross_entropy",
        "squared_error", "l2_loss", "huber_loss", "cosine_similarity", "cosine_distance", "log_cosh", "ctc_loss",
        "hinge_loss",
        "safe_norm", "safe_root_mean_squares", "safe_int32_increment", "safe_increment", "smooth_labels",
        "kl_divergence",
        "losses.softmax_cross_entropy", "losses.softmax_cross_entropy_with_integer_labels", "losses.squared_error",
        "losses.sigmoid_binary_cross_entropy", "losses.l2_loss", "losses.huber_loss", "tree_utils.tree_l2_norm",
        "tree_utils.tree_sum", "tree_utils.tree_vdot")},
    "optax.apply_updates": "tree",
    "optax.incremental_update": "tree",
    **{f"builtins.{name}": "static" for name in (
        "len", "isinstance", "issubclass", "hasattr", "callable", "type", "id", "str", "repr", "format", "int",
        "float", "bool",
        "complex", "hash", "dir", "any", "all", "range", "print", "input", "ord", "chr", "bytes", "open", "slice",
        "bin", "hex")},
    **{f"builtins.{name}": "collection" for name in (
        "list", "tuple", "dict", "set", "frozenset", "sorted", "reversed", "zip", "enumerate", "map", "filter",
        "iter", "next",
        "vars")},
    **{f"builtins.{name}": "reduced" for name in ("sum", "max", "min", "abs", "pow", "round", "divmod")},
    "functools.reduce": "reduced",
    "operator": "reduced",
    "copy.copy": "same",
    "copy.deepcopy": "same",
    "typing.cast": "second",
    "itertools": "collection",
}  # fmt: skip

CONSTANTS: frozenset[str] = frozenset(
    f"{module}.{name}" for module in ("jax.numpy", "numpy") for name in _STATIC_CONSTANTS
) | {"math.pi", "math.inf", "math.e", "math.nan", "math.tau"}

STATIC_ATTRIBUTES = frozenset({
    "shape", "ndim", "dtype", "size", "sharding", "aval", "weak_type", "itemsize", "nbytes", "committed", "vma",
    "is_fully_addressable", "is_fully_replicated", "__class__", "__name__", "__len__",
})  # fmt: skip
ARRAY_ATTRIBUTES = frozenset({"T", "mT", "real", "imag", "at", "flat"})
ARRAY_METHODS = frozenset({
    "all", "any", "argmax", "argmin", "argsort", "astype", "choose", "clip", "compress", "conj", "conjugate", "cumprod",
    "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min", "nonzero", "prod", "ptp", "ravel", "repeat",
    "reshape",
    "round", "searchsorted", "sort", "squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose", "var", "view",
    "set", "add", "multiply", "mul", "divide", "power", "apply", "subtract",
})  # fmt: skip
# Not those that dictionaries and modules have as well.
SURE_ARRAY_METHODS = ARRAY_METHODS - {"set", "add", "apply", "view", "take", "sort", "choose", "compress", "repeat",
"trace",
    "dot", "multiply", "mul", "divide", "power", "subtract", "conj", "round"}  # fmt: skip
TREE_METHODS = frozenset({"items", "keys", "values", "get", "copy", "pop", "popitem", "setdefault", "unfreeze"})
HOST_METHODS = frozenset({"item", "tolist", "tobytes"})

# Layers of libraries that give one array; others may give a tuple, and some hold arrays or keys alone.
_ARRAY_LAYERS = frozenset({
    "BatchNorm", "Conv", "Conv1d", "Conv2d", "Conv3d", "ConvLocal", "ConvTranspose", "ConvTranspose1d",
    "ConvTranspose2d", "ConvTranspose3d", "Dense", "DenseGeneral", "Dropout", "Einsum", "Embed", "Embedding",
    "GroupNorm", "InstanceNorm", "LayerNorm", "Linear", "LinearGeneral", "LoRA", "LoRALinear", "MLP",
    "MultiHeadAttention", "MultiHeadDotProductAttention", "MultiheadAttention", "PReLU", "RMSNorm",
    "RotaryPositionalEmbedding", "SelfAttention", "SpectralNorm", "WeightNorm", "AvgPool1d", "AvgPool2d", "AvgPool3d",
    "MaxPool1d", "MaxPool2d", "MaxPool3d", "Conv1D", "Conv2D", "Conv3D",
})  # fmt: skip
_TUPLE_LAYERS = frozenset({"equinox.nn.BatchNorm", "equinox.nn.SpectralNorm"})
_LAYER_MODULES = ("flax.linen.", "flax.nnx.", "equinox.nn.", "haiku.")
_NO_LAYERS = frozenset({"Rngs", "RngStream", "Param", "Variable", "State", "Shared", "StateIndex", "Optimizer"})


@cache
def layer_gives(called: str) -> str | None:
    """What the call of a library's layer gives, where arrays are traced: `array`, or `traced` for what may be a tree.

    `called` is that of the instance, `flax.linen.Dense.__call__`; None for what is no layer.
    """
    layer, _, method = called.rpartition(".")
    name = layer.rpartition(".")[2]
    if method != "__call__" or not layer.startswith(_LAYER_MODULES) or name in _NO_LAYERS or not name[:1].isupper():
        return None
    return "array" if name in _ARRAY_LAYERS and layer not in _TUPLE_LAYERS else "traced"


# Calls that ask for devices: JAX chooses and starts a backend for the first of them. So does every array that is made.
_ASKS_FOR_DEVICES = frozenset({
    "jax.devices", "jax.local_devices", "jax.device_count", "jax.local_device_count", "jax.process_index",
    "jax.process_count",
    "jax.process_indices", "jax.default_backend", "jax.make_mesh", "jax.device_put", "jax.live_arrays", "jax.host_id",
    "jax.host_count", "jax.debug.print", "jax.experimental.mesh_utils.create_device_mesh",
    "jax.experimental.mesh_utils.create_hybrid_device_mesh", "jax.lib.xla_bridge.get_backend",
    "jax.lib.xla_bridge.device_count",
    "jax.extend.backend.get_backend",
})  # fmt: skip
_MAKES_NO_ARRAY = frozenset({
    "jax.numpy.frompyfunc", "jax.numpy.array_repr", "jax.numpy.array_str", "jax.numpy.array_equal", "jax.lax.psum",
})  # fmt: skip
_SCALAR_TYPES = frozenset(f"jax.numpy.{name}" for name in _STATIC_CONSTANTS if name[-1].isdigit() or name == "bool_")


@cache
def starts_backend(name: str | None) -> bool:
    """Whether a call of this library function needs a device, and so starts the backend if none runs yet."""
    if name is None or not name.startswith("jax."):
        return False
    if name in _ASKS_FOR_DEVICES or name in _SCALAR_TYPES or name == "jax.random.PRNGKey":
        return True
    return (
        result_of(name) in ("array", "key")
        and name not in _MAKES_NO_ARRAY
        and not name.rpartition(".")[2][:1].isupper()
    )


# Packages whose functions are no part of the linted project whatever it vendors, and need no call graph.
LIBRARIES = ("jax", "numpy", "builtins", "math", "os", "functools", "itertools", "typing", "logging", "collections",
"re",
    "time", "sys", "json", "random", "dataclasses", "abc", "operator", "enum", "pathlib", "scipy", "contextlib",
    "warnings",
    "copy", "string", "inspect", "absl", "pytest", "unittest", "tensorflow", "torch", "matplotlib", "pandas", "tqdm",
    "einops", "threading", "queue", "subprocess", "argparse", "types", "datetime", "textwrap", "tempfile", "shutil",
    "pickle",
    "immutabledict", "ml_dtypes", "jaxtyping", "typing_extensions", "concurrent", "asyncio",
    "multiprocessing")  # fmt: skip
_LIBRARIES = frozenset(LIBRARIES)


@cache
def is_library(dotted: str) -> bool:
    return dotted.split(".", 1)[0] in _LIBRARIES


@cache
def result_of(dotted: str) -> str | None:
    """What a call of this function gives; None where nothing is known."""
    name = dotted
    while name:
        found = RESULTS.get(name)
        if found is not None:
            return found
        name = name.rpartition(".")[0]
    return None
