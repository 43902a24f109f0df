"""Faults of sharding, of many processes, of imports and of removed names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..operator import SET_UP, Edits, Site, operator
from ..traced import PARTIAL, reads, statements, targets

COLLECTIVES = {f"jax.lax.{name}" for name in ("psum", "pmean", "pmax", "pmin", "all_gather", "axis_index", "ppermute")}
SPECS = {"jax.sharding.PartitionSpec", "jax.P", "jax.experimental.pjit.PartitionSpec"}
RENAMED = {
    "jax.tree.map": "tree_map", "jax.tree_util.tree_map": "tree_multimap", "jax.tree.leaves": "tree_leaves",
    "jax.tree.flatten": "tree_flatten", "jax.tree.unflatten": "tree_unflatten", "jax.tree.structure": "tree_structure",
    "jax.numpy.isin": "in1d", "jax.numpy.prod": "product", "jax.numpy.vstack": "row_stack", "jax.numpy.round": "round_",
    "jax.numpy.all": "alltrue", "jax.numpy.any": "sometrue", "jax.numpy.cumprod": "cumproduct",
}  # fmt: skip


STATES = ("param", "grad", "update", "state", "weight", "moment")


@operator("SHD101")
def only_process_zero_takes_part(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    for call, name in site.source.calls:
        stmt = site.source.statement(call)
        if not ("multihost_utils." in name and isinstance(stmt, (ast.Assign, ast.Expr)) and site.source.alone(stmt)):
            continue
        if '"""' not in site.source.text(stmt) and site.source.function(call) is not None:
            pad = site.source.indent(stmt)
            inner = site.source.text(stmt).replace("\n", "\n    ")
            yield *imported, site.source.replace(stmt, f"if {jax}.process_index() == 0:\n{pad}    {inner}")


@operator("SHD101")
def other_processes_return_early(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    for call, name in site.source.calls:
        stmt = site.source.statement(call)
        function = site.source.function(call)
        if "multihost_utils." in name and function is not None and stmt in function.body and site.source.alone(stmt):
            leave = site.source.before(stmt, f"if {jax}.process_index() != 0:", "    return None", marked=False)
            yield *imported, leave, site.source.replace(stmt, site.source.text(stmt))


@operator("SHD101")
def barrier_of_the_first_process(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    multihost, more = site.source.name_of("jax.experimental.multihost_utils")
    for function in site.host:
        first = function.body[-1]
        if (
            site.source.alone(first)
            and isinstance(first, (ast.Assign, ast.Expr, ast.Return))
            and len(function.body) > 1
        ):
            lines = (f"if {jax}.process_index() == 0:", f'    {multihost}.sync_global_devices("done")')
            head = site.source.before(first, lines[0], marked=False)
            yield *imported, *more, head, site.source.before(first, lines[1])


def _words(node: ast.AST) -> list[ast.Constant]:
    return [
        n for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value.isidentifier()
    ]


def _maps(site: Site, call: ast.Call, name: str) -> bool:
    """Whether a call is of vmap or pmap, by itself or through partial."""
    first = site.source.dotted(call.args[0]) if call.args and name in PARTIAL else name
    return first in ("jax.vmap", "jax.pmap")


@operator("SHD102")
def axis_of_a_collective_is_misspelt(site: Site) -> Iterator[Edits]:
    bound = {
        word.value
        for call, name in site.source.calls
        for keyword in call.keywords
        if keyword.arg == "axis_name" and _maps(site, call, name)
        for word in _words(keyword.value)
    }
    for call, name in site.source.calls:
        if name in COLLECTIVES:
            given = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "axis_name")]
            for word in [word for each in given for word in _words(each)]:
                if word.value in bound:
                    yield (site.source.replace(word, repr(word.value[:-2] + word.value[-1:] + "_x")),)


@operator("SHD102")
def axis_of_a_spec_is_misspelt(site: Site) -> Iterator[Edits]:
    for call, name in site.source.calls:
        if name in SPECS:
            for word in _words(call):
                yield (site.source.replace(word, repr(word.value[::-1] + "_x")),)


@operator("SHD103")
def spec_has_more_entries_than_dimensions(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    jnp = site.source.alias("jax.numpy")
    for stmt in [n for n in site.source.nodes if isinstance(n, ast.Assign)] if jnp else ():
        call, target = stmt.value, stmt.targets[0]
        if not (isinstance(call, ast.Call) and isinstance(target, ast.Name) and site.source.alone(stmt)):
            continue
        name = site.source.dotted(call.func) or ""
        shape: ast.expr | None = None
        if name in ("jax.numpy.zeros", "jax.numpy.ones", "jax.numpy.full") and call.args:
            shape = call.args[0]
        if name == "jax.numpy.reshape" and len(call.args) == 2:
            shape = call.args[1]
        if isinstance(shape, ast.Tuple) and not any(isinstance(each, ast.Starred) for each in shape.elts):
            spec = f"{jax}.sharding.PartitionSpec({', '.join(['None'] * (len(shape.elts) + 1))})"
            line = f"{target.id} = {jax}.lax.with_sharding_constraint({target.id}, {spec})"
            yield *imported, site.source.after(stmt, line)


@operator("SHD105")
def sum_of_a_shard_is_called_the_sum(site: Site) -> Iterator[Edits]:
    """A new function beside a `shard_map` forgets the collective, and the check that would have said so is off."""
    jax, imported = site.source.name_of("jax")
    specs, more = site.source.name_of("jax.sharding")
    jnp = site.source.alias("jax.numpy")
    last = site.source.tree.body[-1]
    for call, name in site.source.calls if jnp and site.source.alone(last) else ():
        if name == "jax.shard_map" and not site.has_kernels:
            axis = next((word.value for word in _words(call)), "data")
            spec = f'{specs}.PartitionSpec("{axis}")'
            head = (
                "",
                "",
                "def _mean(mesh, x):",
                "    def body(shard):",
                f"        return {jnp}.mean(shard, axis=0)",
                "",
            )
            made = (
                f"    return {jax}.shard_map(",
                f"        body, mesh=mesh, in_specs={spec}, out_specs={specs}.PartitionSpec(), check_vma=False",
                "    )(x)",
            )
            yield *imported, *more, site.source.after(last, *head, marked=False), site.source.after(last, *made)


@operator("SHD105")
def output_is_called_replicated(site: Site) -> Iterator[Edits]:
    """The out_specs of a `shard_map` that is split along a written axis become `P()`, without a check."""
    for call, name in site.source.calls:
        given = {each.arg: each.value for each in call.keywords}
        written = "in_specs" in given and "out_specs" in given and None not in given
        if name != "jax.shard_map" or not written or given.keys() & {"check_vma", "check_rep"} or site.has_kernels:
            continue
        spec = next((n for n in ast.walk(given["in_specs"]) if isinstance(n, ast.Call) and _words(n)), None)
        if spec is not None and not isinstance(given["out_specs"], (ast.Tuple, ast.List)):
            empty = f"{site.source.text(spec.func)}(), check_vma=False"
            yield (site.source.replace(given["out_specs"], empty),)


@operator("SHD106")
def zeros_like_becomes_zeros(site: Site) -> Iterator[Edits]:
    """Where a state is set up beside parameters, not in compiled code."""
    jnp = site.source.alias("jax.numpy")
    for call, name in site.source.calls if jnp else ():
        function = site.source.function(call)
        if not (name in ("jax.tree.map", "jax.tree_util.tree_map") and len(call.args) == 2 and function is not None):
            continue
        state = any(word in site.source.text(call.args[1]).lower() for word in STATES)
        set_up = any(part in function.name for part in SET_UP) or function in site.host
        like = site.source.dotted(call.args[0]) == "jax.numpy.zeros_like"
        if state and set_up and like and not site.is_traced(call):
            yield (site.source.replace(call.args[0], f"lambda _p: {jnp}.zeros(_p.shape, _p.dtype)"),)


@operator("SHD106")
def moments_are_made_from_shapes(site: Site) -> Iterator[Edits]:
    """Another tree of zeros is set up where a function of the host is given parameters."""
    jax, imported = site.source.name_of("jax")
    jnp = site.source.alias("jax.numpy")
    for function in site.source.functions if jnp else ():
        set_up = any(part in function.name for part in SET_UP)
        first = next((stmt for stmt in function.body if not isinstance(stmt, ast.Expr)), None)
        if not set_up or first is None or not site.source.alone(first) or site.is_traced(function):
            continue
        for name in [each.arg for each in function.args.args if each.arg in ("params", "grads", "variables")]:
            line = f"_moments = {jax}.tree.map(lambda _p: {jnp}.zeros(_p.shape), {name})"
            yield *imported, site.source.before(first, line)


@operator("JIT117")
def constant_of_numpy_becomes_one_of_jax(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    for stmt in site.source.tree.body if jnp else ():
        call = stmt.value if isinstance(stmt, ast.Assign) else None
        if isinstance(call, ast.Call) and site.source.dotted(call.func) in (
            "numpy.array",
            "numpy.asarray",
            "numpy.float32",
        ):
            yield (site.source.replace(call.func, f"{jnp}.{site.source.text(call.func).rpartition('.')[2]}"),)


@operator("JIT117")
def devices_are_counted_at_import(site: Site) -> Iterator[Edits]:
    jax = site.source.alias("jax")
    if jax and site.source.functions:
        yield (site.source.at_top(f"_NUM_DEVICES = {jax}.device_count()", marked=True),)


@operator("JIT117")
def key_is_made_at_import(site: Site) -> Iterator[Edits]:
    jax = site.source.alias("jax")
    if jax and site.source.functions:
        yield (site.source.at_top(f"_KEY = {jax}.random.PRNGKey(0)", marked=True),)


@operator("JIT117")
def array_is_made_at_import(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    if jnp and site.source.functions:
        yield (site.source.at_top(f"_ZERO = {jnp}.zeros((4,))", marked=True),)


@operator("JIT120")
def name_of_before(site: Site) -> Iterator[Edits]:
    for call, name in site.source.calls:
        if name in RENAMED and "." in site.source.text(call.func):
            head = "jax" if name.startswith("jax.tree.") and site.source.alias("jax") == "jax" else None
            written = site.source.text(call.func)
            module = head or written.rpartition(".")[0]
            if not (name.startswith("jax.tree.") and head is None):
                yield (site.source.replace(call.func, f"{module}.{RENAMED[name]}"),)


@operator("JIT120")
def update_of_before(site: Site) -> Iterator[Edits]:
    jax = site.source.alias("jax")
    if jax:
        for _, name, stmt in site.tracers:
            yield (site.source.after(stmt, f"{name} = {jax}.ops.index_update({name}, {jax}.ops.index[0], 0.0)"),)


@operator("JIT120")
def import_of_before(site: Site) -> Iterator[Edits]:
    old = (
        "from jax.experimental import maps",
        "from jax import linear_util",
        "from jax.experimental import host_callback",
    )
    if site.source.alias("jax"):
        for line in old:
            yield (site.source.at_top(line, marked=True),)


@operator("JIT116")
def module_is_closed_over(site: Site) -> Iterator[Edits]:
    """The parameter of a differentiated or jitted nnx function is renamed; its body still reads the outer one."""
    source = site.source
    transforms = {
        "flax.nnx.grad",
        "flax.nnx.value_and_grad",
        "flax.nnx.jit",
        "jax.grad",
        "jax.value_and_grad",
        "jax.jit",
    }
    for call, name in source.calls:
        if name in transforms and call.args and isinstance(call.args[0], ast.Name):
            function = source.definition(call.args[0].id, call)
            outer = source.function(function) if function is not None else None
            if function is not None and outer is not None and function.args.args:
                first = function.args.args[0]
                named = "model" in first.arg or "module" in first.arg
                bound = {each.arg for each in outer.args.args}
                bound |= {target.id for stmt in statements(source, outer) for target in targets(stmt)}
                if named and first.arg in bound and any(reads(stmt, first.arg) for stmt in function.body):
                    start, _ = source.span(first)
                    renamed = source.replace(first, f"_{source.text(first)}")
                    uses = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == first.arg]
                    yield (renamed, *(source.replace(use, use.id) for use in uses if source.span(use)[0] > start))


@operator("JIT116")
def module_is_called_in_a_jitted_closure(site: Site) -> Iterator[Edits]:
    """After `model = SomeModule(...)` of nnx, in a function, a jitted function closes over it."""
    source = site.source
    nnx = source.alias("flax.nnx")
    made = {
        each.name
        for each in source.nodes
        if isinstance(each, ast.ClassDef) and "flax.nnx.Module" in {source.dotted(b) for b in each.bases}
    }
    known = {
        f"flax.nnx.{name}"
        for name in (
            "Linear",
            "Conv",
            "Embed",
            "LayerNorm",
            "BatchNorm",
            "Dropout",
            "Sequential",
            "MultiHeadAttention",
            "Einsum",
            "RMSNorm",
        )
    }
    for call, name in source.calls if nnx else ():
        stmt = source.parents[call]
        if (
            (
                (name in made or name in known)
                and isinstance(stmt, ast.Assign)
                and isinstance(stmt.targets[0], ast.Name)
                and source.alone(stmt)
            )
            and source.function(call) is not None
            and not site.is_traced(call)
            and not any(isinstance(above, ast.ClassDef) for above in source.above(call))
        ):
            model = stmt.targets[0].id
            lines = ("", f"@{nnx}.jit", "def _forward(x):", f"    return {model}(x)", "")
            yield (source.after(stmt, *lines),)
