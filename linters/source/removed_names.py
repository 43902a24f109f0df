"""Names that JAX, Flax and Optax removed or renamed: JAX 0.3 to 0.12, Flax 0.6 to 0.12, Optax 0.1 to 0.2. A data table.

Made by comparing the public names of released wheels; every entry is checked against installed releases by a test. A
version is the first release without the name, or, for what was gone in the oldest release compared (JAX 0.4.16, Flax
0.6.1), that one.
"""

from __future__ import annotations

# (old name, deprecated since, removed in, new name, new name since, whether it means the same). "" where there is none.
RENAMED: tuple[tuple[str, str, str, str, str, bool], ...] = (
    ("jax.tree_map", "0.4.26", "0.6.0", "jax.tree.map", "0.4.25", True),
    ("jax.tree_flatten", "", "0.6.0", "jax.tree.flatten", "0.4.25", True),
    ("jax.tree_leaves", "", "0.6.0", "jax.tree.leaves", "0.4.25", True),
    ("jax.tree_structure", "", "0.6.0", "jax.tree.structure", "0.4.25", True),
    ("jax.tree_transpose", "", "0.6.0", "jax.tree.transpose", "0.4.25", True),
    ("jax.tree_unflatten", "", "0.6.0", "jax.tree.unflatten", "0.4.25", True),
    ("jax.treedef_is_leaf", "", "0.6.0", "jax.tree_util.treedef_is_leaf", "", True),
    ("jax.clear_backends", "0.4.26", "0.4.36", "jax.extend.backend.clear_backends", "0.4.26", False),
    ("jax.device_put_replicated", "0.8.1", "0.10.0", "jax.device_put", "", False),
    ("jax.device_put_sharded", "0.8.1", "0.10.0", "jax.device_put", "", False),
    ("jax.array_ref", "0.8.0", "0.9.0", "jax.new_ref", "0.7.2", True),
    ("jax.ArrayRef", "0.8.0", "0.9.0", "jax.Ref", "0.7.2", True),
    ("jax.experimental.mutable_array", "0.8.0", "0.9.0", "jax.new_ref", "0.7.2", True),
    ("jax.experimental.MutableArray", "0.8.0", "0.9.0", "jax.Ref", "0.7.2", True),
    ("jax.experimental.enable_x64", "0.8.0", "0.9.0", "jax.enable_x64", "0.8.0", False),
    ("jax.experimental.disable_x64", "0.8.0", "0.9.0", "jax.enable_x64", "0.8.0", False),
    ("jax.ad_checkpoint.checkpoint", "0.8.2", "0.10.0", "jax.checkpoint", "", True),
    ("jax.ad_checkpoint.remat", "0.8.2", "0.10.0", "jax.remat", "", True),
    ("jax.config.config", "0.4.20", "0.4.25", "jax.config", "", True),
    ("jax.experimental.pjit.with_sharding_constraint", "", "0.4.24", "jax.lax.with_sharding_constraint", "", True),
    ("jax.experimental.pjit.pjit", "0.8.0", "", "jax.jit", "", False),
    ("jax.experimental.shard_map.shard_map", "0.8.0", "", "jax.shard_map", "0.6.1", False),
    (
        "jax.experimental.compilation_cache.compilation_cache.initialize_cache",
        "0.7.1",
        "0.8.0",
        "jax.experimental.compilation_cache.compilation_cache.set_cache_dir",
        "0.4.24",
        True,
    ),
    ("jax.lib.xla_bridge.get_backend", "0.4.33", "0.8.0", "jax.extend.backend.get_backend", "0.4.33", True),
    ("jax.lax.zeros_like_array", "0.7.1", "0.9.0", "jax.numpy.zeros_like", "", True),
    ("jax.lax.pvary", "0.8.2", "0.10.0", "jax.lax.pcast", "0.8.2", False),
    ("jax.nn.normalize", "0.4.23", "0.4.30", "jax.nn.standardize", "", True),
    ("jax.numpy.in1d", "", "0.4.24", "jax.numpy.isin", "", False),
    ("jax.numpy.row_stack", "", "0.4.24", "jax.numpy.vstack", "", True),
    ("jax.numpy.trapz", "", "0.4.24", "jax.numpy.trapezoid", "0.4.26", True),
    ("jax.numpy.round_", "0.4.33", "0.4.38", "jax.numpy.round", "", True),
    ("jax.numpy.fix", "0.9.0", "0.10.0", "jax.numpy.trunc", "", True),
    ("jax.numpy.issubsctype", "", "0.4.24", "jax.numpy.issubdtype", "", False),
    ("jax.random.KeyArray", "", "0.4.24", "jax.Array", "", True),
    ("jax.random.PRNGKeyArray", "", "0.4.24", "jax.Array", "", True),
    ("jax.random.shuffle", "0.4.23", "0.4.31", "jax.random.permutation", "", False),
    ("jax.scipy.linalg.tril", "", "0.4.24", "jax.numpy.tril", "", True),
    ("jax.scipy.linalg.triu", "", "0.4.24", "jax.numpy.triu", "", True),
    ("jax.scipy.special.sph_harm", "0.7.0", "0.10.0", "jax.scipy.special.sph_harm_y", "0.5.0", False),
    ("jax.sharding.PositionalSharding", "0.6.0", "0.7.0", "jax.sharding.NamedSharding", "", False),
    ("jax.sharding.GSPMDSharding", "0.6.0", "0.7.0", "jax.sharding.NamedSharding", "", False),
    ("jax.sharding.PmapSharding", "0.8.1", "0.10.0", "jax.sharding.NamedSharding", "", False),
    ("jax.sharding.XLACompatibleSharding", "0.4.30", "0.4.34", "jax.sharding.Sharding", "", True),
    ("jax.sharding.AxisTypes", "", "0.5.3", "jax.sharding.AxisType", "0.5.3", True),
    ("jax.sharding.use_mesh", "", "0.7.1", "jax.set_mesh", "0.7.1", False),
    ("jax.tree_util.register_keypaths", "", "0.4.24", "jax.tree_util.register_pytree_with_keys", "", False),
    ("jax.core.ConcretizationTypeError", "0.4.38", "0.7.0", "jax.errors.ConcretizationTypeError", "", True),
    ("jax.core.TracerArrayConversionError", "0.4.20", "0.4.24", "jax.errors.TracerArrayConversionError", "", True),
    ("jax.core.TracerIntegerConversionError", "0.4.20", "0.4.24", "jax.errors.TracerIntegerConversionError", "", True),
    ("jax.core.UnexpectedTracerError", "0.4.20", "0.4.24", "jax.errors.UnexpectedTracerError", "", True),
    ("jax.core.Primitive", "0.4.38", "0.6.0", "jax.extend.core.Primitive", "0.4.27", True),
    ("jax.core.Jaxpr", "0.4.38", "0.6.0", "jax.extend.core.Jaxpr", "0.4.27", True),
    ("jax.core.ClosedJaxpr", "0.4.38", "0.6.0", "jax.extend.core.ClosedJaxpr", "0.4.27", True),
    ("jax.core.JaxprEqn", "0.4.38", "0.6.0", "jax.extend.core.JaxprEqn", "0.4.27", True),
    ("jax.core.Var", "0.4.38", "0.6.0", "jax.extend.core.Var", "0.4.27", True),
    ("jax.core.Token", "0.4.38", "0.6.0", "jax.extend.core.Token", "0.4.27", True),
    ("jax.core.jaxpr_as_fun", "0.4.38", "0.6.0", "jax.extend.core.jaxpr_as_fun", "0.4.27", True),
    ("jax.core.DropVar", "0.10.0", "0.12", "jax.extend.core.DropVar", "0.10.0", True),
    ("jax.core.new_jaxpr_eqn", "0.10.0", "0.12", "jax.extend.core.new_jaxpr_eqn", "0.10.0", True),
    ("jax.core.get_aval", "0.8.2", "0.10.0", "jax.typeof", "0.5.3", False),
    ("jax.interpreters.xla.ShapedArray", "", "0.4.24", "jax.core.ShapedArray", "", True),
    ("jax.interpreters.xla.canonicalize_dtype", "0.7.0", "0.8.0", "jax.dtypes.canonicalize_dtype", "", False),
    ("jax.interpreters.xla.pytype_aval_mappings", "0.5.0", "0.7.0", "jax.extend.core", "0.4.20", False),
    ("flax.linen.ConvLSTM", "", "0.6.11", "flax.linen.ConvLSTMCell", "0.6.11", True),
    ("flax.nnx.VariableState", "0.12.1", "", "flax.nnx.Variable", "", True),
    ("flax.nnx.with_sharding_constraint", "", "0.11.2", "jax.lax.with_sharding_constraint", "", False),
    ("flax.nnx.fork", "", "0.11.0", "flax.nnx.split_rngs", "0.9.0", False),
    ("optax.additive_weight_decay", "", "0.1.9", "optax.add_decayed_weights", "", True),
    ("optax.maybe_update", "", "0.2.5", "optax.conditionally_transform", "0.2.3", False),
    ("optax.hessian_diag", "", "0.1.9", "optax.second_order.hessian_diag", "0.1.9", False),
    ("optax.fisher_diag", "", "0.1.9", "optax.second_order.fisher_diag", "0.1.9", False),
    ("optax.hvp", "", "0.1.9", "optax.second_order.hvp", "0.1.9", False),
    ("optax.dpsgd", "0.2.3", "", "optax.contrib.dpsgd", "0.1.9", True),
    (
        "optax.differentially_private_aggregate",
        "0.2.3",
        "",
        "optax.contrib.differentially_private_aggregate",
        "0.1.9",
        True,
    ),
    (
        "optax.DifferentiallyPrivateAggregateState",
        "0.2.3",
        "",
        "optax.contrib.DifferentiallyPrivateAggregateState",
        "0.1.9",
        True,
    ),
    ("optax.tree_utils.tree_scalar_mul", "0.2.5", "", "optax.tree_utils.tree_scale", "0.2.5", True),
    ("optax.tree_utils.tree_l2_norm", "0.2.5", "", "optax.tree_utils.tree_norm", "0.2.5", True),
    ("optax.tree_utils.tree_add_scalar_mul", "0.2.5", "", "optax.tree_utils.tree_add_scale", "0.2.5", True),
    ("jax.tree_multimap", "0.3.5", "0.3.16", "jax.tree.map", "0.4.25", True),
    ("jax.tree_util.tree_multimap", "0.3.5", "0.3.16", "jax.tree_util.tree_map", "", True),
    ("jax.ops.index_update", "0.2.22", "0.3.2", "x.at[...].set(y)", "", False),
    ("jax.ops.index_add", "0.2.22", "0.3.2", "x.at[...].add(y)", "", False),
    ("jax.ops.index_mul", "0.2.22", "0.3.2", "x.at[...].multiply(y)", "", False),
    ("jax.ops.index_min", "0.2.22", "0.3.2", "x.at[...].min(y)", "", False),
    ("jax.ops.index_max", "0.2.22", "0.3.2", "x.at[...].max(y)", "", False),
    ("jax.ops.index", "0.2.22", "0.3.2", "jax.numpy.index_exp", "", True),
    ("jax.experimental.PartitionSpec", "", "0.4.16", "jax.sharding.PartitionSpec", "", True),
    ("jax.experimental.pjit.PartitionSpec", "", "0.4.16", "jax.sharding.PartitionSpec", "", True),
    ("jax.interpreters.pxla.PartitionSpec", "", "0.4.16", "jax.sharding.PartitionSpec", "", True),
    ("jax.interpreters.pxla.Mesh", "", "0.4.16", "jax.sharding.Mesh", "", True),
    ("jax.experimental.maps.Mesh", "", "0.4.16", "jax.sharding.Mesh", "", True),
    ("jax.interpreters.xla.DeviceArray", "0.4.1", "0.4.16", "jax.Array", "", True),
    ("jax.numpy.DeviceArray", "0.4.1", "0.4.16", "jax.Array", "", True),
    ("jax.interpreters.pxla.ShardedDeviceArray", "0.4.1", "0.4.16", "jax.Array", "", True),
    ("jax.numpy.alltrue", "0.4.12", "0.4.16", "jax.numpy.all", "", True),
    ("jax.numpy.sometrue", "0.4.12", "0.4.16", "jax.numpy.any", "", True),
    ("jax.numpy.product", "0.4.12", "0.4.16", "jax.numpy.prod", "", True),
    ("jax.numpy.cumproduct", "0.4.12", "0.4.16", "jax.numpy.cumprod", "", True),
    ("jax.numpy.msort", "0.4.1", "0.4.16", "jax.numpy.sort", "", False),
    ("flax.training.optimizers", "", "0.6.1", "optax", "", False),
    ("jax.experimental.maps.Mesh", "", "0.4.16", "jax.sharding.Mesh", "", True),
)

# Modules, in the same form.
MODULES: tuple[tuple[str, str, str, str, str, bool], ...] = (
    ("jax.abstract_arrays", "", "0.4.20", "jax.core", "", False),
    ("jax.linear_util", "", "0.4.24", "jax.extend.linear_util", "", True),
    ("jax.prng", "", "0.4.24", "jax.extend.random", "", False),
    ("jax.util", "0.6.0", "0.8.0", "", "", False),
    ("jax.lib.xla_bridge", "0.4.33", "0.8.0", "jax.extend.backend", "0.4.26", False),
    ("jax.lib.xla_client", "0.4.33", "0.8.0", "", "", False),
    ("jax.lib.xla_extension", "0.4.36", "0.8.0", "", "", False),
    ("jax.experimental.host_callback", "0.4.26", "0.8.0", "jax.pure_callback", "", False),
    ("jax.experimental.maps", "", "0.4.31", "jax.shard_map", "0.6.1", False),
    ("jax.experimental.array_api", "", "0.5.0", "jax.numpy", "", True),
    ("jax.experimental.export", "0.4.30", "0.4.36", "jax.export", "0.4.30", True),
    ("jax.experimental.attrs", "", "0.7.0", "jax.new_ref", "0.7.2", False),
    ("jax.experimental.stax", "", "0.3.0", "jax.example_libraries.stax", "", True),
    ("jax.experimental.optimizers", "", "0.3.0", "jax.example_libraries.optimizers", "", True),
    ("jax.experimental.global_device_array", "", "0.4.16", "jax.Array", "", False),
    ("jax.experimental.gda_serialization", "", "0.4.16", "jax.experimental.array_serialization", "", False),
    ("jax.interpreters.sharded_jit", "", "0.4.16", "jax.jit", "", False),
    ("jax.experimental.loops", "", "0.4.16", "jax.lax.fori_loop", "", False),
    ("jax.experimental.ann", "", "0.4.16", "jax.lax.approx_max_k", "", False),
    ("jax.extend.ffi", "0.5.0", "0.7.0", "jax.ffi", "0.5.0", True),
    ("jax.experimental.shard_alike", "", "0.12", "", "", False),
    ("flax.optim", "0.5.0", "0.6.0", "optax", "", False),
    ("flax.nn", "0.4.0", "0.6.0", "flax.linen", "", False),
    ("flax.experimental.nnx", "0.8.4", "", "flax.nnx", "0.8.4", True),
    ("optax.monte_carlo", "", "0.2.7", "", "", False),
)

# Names without a public successor: (module, removed in, names).
GONE: tuple[tuple[str, str, str], ...] = (
    ("jax.util", "0.7.0", "cache safe_map safe_zip split_dict split_list toposort unzip2 wrap_name wraps"),
    ("flax.core", "0.10.0", "trace_level"),
    ("flax.linen", "0.10.7", "GeGLU"),
    ("flax.linen.spmd", "0.8.5", "PartitionSpecPytree"),
    ("flax.linen.spmd", "0.7.5", "ScanIn ScanOut"),
    ("flax.linen.spmd", "0.10.7", "logical_axis_rules set_logical_axis_rules"),
    ("flax.nnx", "0.12.8", "ArrayRef array_ref is_array_ref to_arrays to_refs use_refs using_refs"),
    ("flax.nnx", "0.10.0", "EMPTY Empty TreeNode"),
    ("flax.nnx", "0.11.0", "ForkStates field"),
    ("flax.nnx", "0.10.7", "Jit Pmap Remat Scan Vmap register_variable_name_type_pair"),
    (
        "flax.nnx",
        "0.11.2",
        "MutableArray freeze is_mutable_array mutable mutable_array use_mutable_arrays using_mutable_arrays",
    ),
    ("flax.nnx", "0.12.0", "is_data_type"),
    ("flax.traverse_util", "0.8.5", "Path"),
    (
        "jax.core",
        "0.10.0",
        "AbstractToken TraceTag call_impl mapped_aval set_current_trace subjaxprs "
        "take_current_trace traverse_jaxpr_params unmapped_aval",
    ),
    ("jax.core", "0.7.0", "AxisName axis_frame call_p closed_call_p get_type trace_state_clean typecheck typematch"),
    (
        "jax.core",
        "0.6.0",
        "AxisSize EvalTrace InDBIdx InputType MapPrimitive OpaqueTraceState OutDBIdx "
        "TRACER_LEAK_DEBUGGER_WARNING concrete_aval dedup_referents escaped_tracer_error "
        "extend_axis_env_nd full_lower get_referent join_effects lattice_join leaked_tracer_error "
        "maybe_find_leaked_tracers raise_to_shaped raise_to_shaped_mappings reset_trace_state "
        "str_eqn_compact substitute_vars_in_output_ty typecompat used_axis_names_jaxpr",
    ),
    (
        "jax.core",
        "0.12",
        "CallPrimitive DebugInfo Effect Effects InconclusiveDimensionOperation JaxprPpContext "
        "JaxprPpSettings JaxprTypeError OutputType abstract_token aval_mapping_handlers call "
        "check_jaxpr concrete_or_error concretization_function_error custom_typechecks "
        "find_top_trace gensym get_opaque_trace_state is_concrete is_constant_dim is_constant_shape "
        "jaxprs_in_params literalable_types no_axis_name no_effects nonempty_axis_env_DO_NOT_USE "
        "primal_dtype_to_tangent_dtype trace_ctx unsafe_am_i_under_a_jit_DO_NOT_USE "
        "unsafe_am_i_under_a_vmap_DO_NOT_USE unsafe_get_axis_names_DO_NOT_USE valid_jaxtype",
    ),
    (
        "jax.core",
        "0.4.36",
        "ConcreteArray MainTrace NameGatheringSubst Sublevel ThreadLocalState TraceStack TraceState "
        "apply_todos call_bind_with_continuation cur_sublevel do_subst_axis_names_jaxpr "
        "extend_axis_env jaxpr_uses_outfeed map_bind map_bind_with_continuation new_base_main "
        "new_main new_sublevel outfeed_primitives primitive_uses_outfeed process_env_traces_call "
        "process_env_traces_map raise_as_much_as_possible stash_axis_env subst_axis_names "
        "subst_axis_names_eqn subst_axis_names_jaxpr subst_axis_names_var thread_local_state "
        "used_axis_names",
    ),
    ("jax.core", "0.8.2", "DShapedArray UnshapedArray"),
    ("jax.core", "0.4.30", "DimSize Shape"),
    ("jax.core", "0.5.3", "JaxprDebugInfo"),
    (
        "jax.core",
        "0.4.31",
        "NamedShape as_named_shape canonicalize_shape definitely_equal dimension_as_value "
        "join_named_shapes symbolic_equal_dim",
    ),
    ("jax.core", "0.4.24", "as_hashable_function safe_map safe_zip tuple_delete tuple_insert"),
    (
        "jax.core",
        "0.4.38",
        "check_eqn check_type check_valid_jaxtype non_negative_dim unsafe_get_current_trace_DO_NOT_USE",
    ),
    (
        "jax.core",
        "0.4.34",
        "pp_aval pp_eqn pp_eqn_rules pp_eqns pp_jaxpr pp_jaxpr_eqn_range pp_jaxpr_skeleton "
        "pp_jaxprs pp_kv_pair pp_kv_pairs pp_var pp_vars",
    ),
    ("jax.core", "0.4.27", "token"),
    ("jax.custom_derivatives", "0.8.0", "custom_jvp_call_jaxpr_p"),
    ("jax.custom_derivatives", "0.6.1", "custom_vjp_call_jaxpr_p"),
    ("jax", "0.10.0", "enable_custom_vjp_by_custom_transpose"),
    ("jax", "0.4.26", "enable_key_reuse_checks"),
    ("jax.errors", "0.8.0", "SimplifiedTraceback"),
    ("jax.experimental.compilation_cache.compilation_cache", "0.8.0", "is_initialized"),
    ("jax.experimental", "0.12", "cur_qdd"),
    ("jax.experimental.pjit", "0.10.1", "AUTO"),
    ("jax.experimental.pjit", "0.7.0", "pjit_p"),
    ("jax.experimental", "0.8.2", "saved_input_vjp si_vjp"),
    ("jax.extend.core", "0.12", "CallPrimitive call_impl"),
    ("jax.interpreters.ad", "0.4.36", "CustomJVPException CustomVJPException zeros_like_jaxval"),
    ("jax.interpreters.ad", "0.8.2", "closed_backward_pass vjp"),
    ("jax.interpreters.ad", "0.7.1", "backward_pass_internal unpair_pval"),
    (
        "jax.interpreters.ad",
        "0.9.0",
        "bilinear_transpose call_param_updaters call_transpose call_transpose_param_updaters "
        "custom_lin_p defjvp_zero f_jvp_traceable jvp_subtrace jvp_subtrace_aux jvpfun linear_jvp "
        "linear_transpose linear_transpose2 map_transpose nonzero_outputs nonzero_tangent_outputs "
        "rearrange_binders standard_jvp standard_jvp2 traceable zero_jvp zeros_like_p",
    ),
    ("jax.interpreters.ad", "0.4.24", "instantiate_zeros_aval"),
    ("jax.interpreters.ad", "0.4.34", "recast_to_float0 replace_float0s"),
    ("jax.interpreters.ad", "0.10.0", "reducing_transposes"),
    (
        "jax.interpreters.batching",
        "0.9.0",
        "Array AxisSize BatchTrace BatchTracer BatchingRule Elt FromEltHandler GetIdx "
        "MakeIotaHandler MapSpec ToEltHandler Vmappable ZeroIfMapped Zeros batch "
        "batch_custom_jvp_subtrace batch_custom_vjp_bwd batch_jaxpr broadcast_batcher "
        "flatten_fun_for_vmap from_elt from_elt_handlers is_vmappable make_iota make_iota_handlers "
        "matchaxis moveaxis reducer_batcher spec_types to_elt to_elt_handlers vectorized_batcher "
        "vmappables vtile",
    ),
    (
        "jax.interpreters.batching",
        "0.8.2",
        "IndexedAxisSize Jumble JumbleAxis JumbleTy RaggedAxis batch_jaxpr2 jumble_axis",
    ),
    ("jax.interpreters.batching", "0.10.0", "NotMapped"),
    ("jax.interpreters.batching", "0.7.1", "Zero"),
    ("jax.interpreters.batching", "0.4.24", "add_batched zeros_like_batched zeros_like_p"),
    ("jax.interpreters.batching", "0.10.2", "not_mapped"),
    ("jax.interpreters.batching", "0.4.36", "spmd_axis_primitive_batchers"),
    (
        "jax.interpreters.partial_eval",
        "0.8.2",
        "AbstractedAxesSpec AbstractedAxisName BoundedAxisSize call_padding_rule "
        "def_trivial_padding infer_lambda_input_type pad_jaxpr padding_rules "
        "trace_to_jaxpr_dynamic2",
    ),
    (
        "jax.interpreters.partial_eval",
        "0.9.0",
        "Const ConstFoldRule ConstVar DCERule DynamicJaxprTrace ForwardingRule FreeVar Jaxpr "
        "JaxprEqnRecipe JaxprStackFrame JaxprTrace JaxprTracerRecipe LambdaBinding ParamsUpdater "
        "PartialEvalCustomResult PartialEvalCustomRule ResAvalUpdater TracerAsName TracerId "
        "call_param_updaters call_partial_eval_custom_rule call_partial_eval_rules "
        "closed_call_partial_eval_custom_rule const_fold_rules convert_envvars_to_constvars "
        "convert_invars_to_constvars custom_staging_rules forwarding_rules has_effects "
        "instantiate_const_at make_jaxpr_effects move_binders_to_front partial_eval_jaxpr_custom "
        "partial_eval_jaxpr_custom_rule_not_implemented partial_eval_wrapper_nounits "
        "partition_pvals recipe_to_eqn trace_to_subjaxpr_nounits trace_to_subjaxpr_nounits_fwd "
        "tracers_to_jaxpr",
    ),
    (
        "jax.interpreters.partial_eval",
        "0.5.0",
        "DebugInfo arg_info_all debug_info debug_info_final result_info sig_info",
    ),
    (
        "jax.interpreters.partial_eval",
        "0.4.36",
        "extend_jaxpr_stack trace_to_jaxpr trace_to_jaxpr_final trace_to_jaxpr_final2 "
        "trace_to_subjaxpr trace_to_subjaxpr_dynamic trace_to_subjaxpr_dynamic2",
    ),
    ("jax.interpreters.partial_eval", "0.4.34", "trace_to_subjaxpr_nounits_dyn"),
    ("jax.interpreters.partial_eval", "0.5.3", "tracing_debug_info tracing_debug_info_final"),
    ("jax.interpreters.partial_eval", "0.6.0", "trivial_ctx"),
    (
        "jax.interpreters.pxla",
        "0.12",
        "ArrayMapping Index MeshAxisName MeshExecutable are_hlo_shardings_equal "
        "array_mapping_to_axis_resources global_aval_to_result_handler global_result_handlers "
        "is_hlo_sharding_replicated op_sharding_to_indices",
    ),
    (
        "jax.interpreters.pxla",
        "0.10.0",
        "Chunked MapTracer NoSharding PmapExecutable Replicated ShardedAxis ShardingSpec Unstacked "
        "parallel_callable shard_args spec_to_indices xla_pmap_p",
    ),
    ("jax.interpreters.pxla", "0.7.2", "are_op_shardings_equal is_op_sharding_replicated"),
    ("jax.interpreters.pxla", "0.4.24", "mesh_sharding_specs"),
    ("jax.interpreters.pxla", "0.4.30", "shard_arg"),
    ("jax.interpreters.xla", "0.4.24", "AxisEnv ConcreteArray axis_groups backend_compile"),
    (
        "jax.interpreters.xla",
        "0.4.30",
        "TranslationContext TranslationRule XlaOp backend_specific_translations "
        "register_translation translations xla_destructure",
    ),
    ("jax.interpreters.xla", "0.7.0", "abstractify"),
    ("jax", "0.10.2", "jax_api jax_core"),
    ("jax", "0.9.2", "jaxlib_extension_version"),
    ("jax.lax", "0.4.35", "DotAlgorithmLike DotTransposeAlgorithmLike"),
    ("jax.lax", "0.10.0", "all_gather_done all_gather_start"),
    ("jax.lax", "0.8.2", "all_gather_invariant all_gather_reduced preduced unreduced_psum unreduced_psum_scatter"),
    ("jax.lax", "0.12", "dce_sink_p"),
    ("jax.lax", "0.7.0", "infeed infeed_p outfeed outfeed_p"),
    (
        "jax.lax",
        "0.4.24",
        "naryop naryop_dtype_rule standard_abstract_eval standard_naryop standard_primitive "
        "standard_unop unop unop_dtype_rule",
    ),
    ("jax.lax", "0.4.31", "pdot xeinsum"),
    ("jax.lax", "0.6.0", "random_gamma_grad_p"),
    ("jax.lax", "0.4.36", "scan_bind"),
    ("jax.lax", "0.4.30", "tie_in"),
    ("jax.numpy", "0.4.24", "NINF NZERO PZERO"),
    ("jax.random", "0.4.24", "default_prng_impl rbg_key threefry2x32_key threefry2x32_p threefry_2x32 unsafe_rbg_key"),
    ("jax", "0.6.1", "spmd_mode"),
    ("jax.stages", "0.7.0", "OutInfo"),
    ("jax.stages", "0.4.28", "Specialized"),
    ("jax.tree_util", "0.4.24", "AttributeKeyPathEntry GetitemKeyPathEntry"),
    ("jax.tree_util", "0.7.0", "build_tree"),
    ("jax", "0.4.34", "xla_computation"),
    (
        "optax",
        "0.1.9",
        "AdditiveWeightDecayState control_delta_method control_variates_jacobians "
        "measure_valued_jacobians moving_avg_baseline pathwise_jacobians score_function_jacobians",
    ),
    ("optax", "0.2.5", "MaybeUpdateState"),
    ("optax", "0.1.5", "ScaleByFromageState"),
)
