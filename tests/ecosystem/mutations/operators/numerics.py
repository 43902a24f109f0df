"""Numbers that turn to nan, lose digits or double in width."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..operator import Edits, Site, operator
from ..traced import reads, targets

ROUGH = {"jax.numpy.sqrt", "jax.numpy.log"}
PRECISE = {"jax.nn.softmax", "jax.nn.log_softmax", "jax.nn.logsumexp", "jax.scipy.special.logsumexp", "jax.numpy.var"}


@operator("NUM101")
def root_or_logarithm_inside_where(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    for call, name in site.source.calls if jnp else ():
        if name in ROUGH and len(call.args) == 1 and isinstance(call.args[0], ast.Name):
            function, x = site.source.function(call), call.args[0].id
            if function in site.traced and x in site.arrays(function):
                yield (site.source.replace(call, f"{jnp}.where({x} > 0, {site.source.text(call)}, 0.0)"),)


@operator("NUM101")
def division_inside_where(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    for node in site.source.nodes if jnp else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.right, ast.Name):
            function = site.source.function(node)
            made = site.arrays(function).get(node.right.id) if function in site.traced else None
            guarded = made is not None and any(
                word in site.source.text(made) for word in ("where", "maximum", "clip", "eps")
            )
            if made is not None and not guarded and "safe" not in node.right.id:
                text = site.source.text(node)
                yield (site.source.replace(node, f"{jnp}.where({node.right.id} > 0, {text}, 0.0)"),)


@operator("NUM101")
def safe_logarithm_is_made_unsafe(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    for _, name, stmt in site.tracers if jnp else ():
        yield (site.source.after(stmt, f"_entropy = {jnp}.where({name} > 0, {name} * {jnp}.log({name}), 0.0)"),)


@operator("NUM102")
def guard_of_a_norm_is_lost(site: Site) -> Iterator[Edits]:
    """`x / (norm(x) + eps)` and `x / maximum(norm(x), eps)` become `x / norm(x)`."""
    for node in site.source.nodes:
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Div)
            and isinstance(node.right, (ast.BinOp, ast.Call))
        ):
            norms = [
                each
                for each in ast.walk(node.right)
                if isinstance(each, ast.Call) and site.source.dotted(each.func) == "jax.numpy.linalg.norm"
            ]
            over = site.source.text(node.left)
            if norms and norms[0] is not node.right and site.source.text(norms[0].args[0]) == over:
                yield (site.source.replace(node, f"{over} / {site.source.text(norms[0])}"),)


def vectors(site: Site) -> Iterator[tuple[str, ast.stmt]]:
    """Tracers that can be zero: no exponentials, counts, rotations or random numbers."""
    never = ("exp", "softmax", "sigmoid", "where", "rot", "quat", "wigner", "random", "cumsum", "arg", "ones", "eye")
    for _, name, stmt in site.tracers:
        text = f"{name} {site.source.text(stmt)}".lower()
        if not any(word in text for word in never):
            yield name, stmt


@operator("NUM102")
def vector_is_divided_by_its_norm(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    for name, stmt in vectors(site) if jnp else ():
        yield (site.source.after(stmt, f"_unit = {name} / {jnp}.linalg.norm({name}, axis=-1, keepdims=True)"),)


@operator("NUM102")
def vector_is_divided_by_a_norm_of_before(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    for name, stmt in vectors(site) if jnp else ():
        lines = (f"_length = {jnp}.linalg.norm({name})", f"{name} = {name} / _length")
        first, second = (site.source.after(stmt, line, marked=line is lines[1]) for line in lines)
        yield first, second


@operator("NUM104")
def reduction_in_float32_becomes_bfloat16(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    for call, name in site.source.calls if jnp else ():
        if name in PRECISE and call.args and isinstance(call.args[0], ast.Call):
            cast = call.args[0]
            if isinstance(cast.func, ast.Attribute) and cast.func.attr == "astype":
                yield (site.source.replace(cast, f"{site.source.text(cast.func)}({jnp}.bfloat16)"),)


@operator("NUM104")
def input_of_a_softmax_is_cast(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    for call, name in site.source.calls if jnp else ():
        if name in PRECISE and call.args and isinstance(call.args[0], ast.Name):
            yield (site.source.replace(call.args[0], f"{call.args[0].id}.astype({jnp}.bfloat16)"),)


@operator("NUM104")
def softmax_of_what_was_cast_before(site: Site) -> Iterator[Edits]:
    jnp, jax = site.source.alias("jax.numpy"), site.source.alias("jax")
    for _, name, stmt in site.tracers if jnp and jax else ():
        cast = site.source.after(stmt, f"_low = {name}.astype({jnp}.bfloat16)", marked=False)
        yield cast, site.source.after(stmt, f"_shares = {jax}.nn.softmax(_low, axis=-1)")


def half_names(site: Site) -> Iterator[tuple[str, ast.stmt]]:
    """Names after `x = y.astype(jnp.bfloat16)`."""
    for call in [n for n in site.source.nodes if isinstance(n, ast.Call)]:
        stmt = site.source.parents[call]
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "astype"
            and call.args
            and isinstance(stmt, ast.Assign)
        ):
            half = site.source.dotted(call.args[0]) in ("jax.numpy.bfloat16", "jax.numpy.float16")
            if half and site.source.alone(stmt) and isinstance(stmt.targets[0], ast.Name):
                yield stmt.targets[0].id, stmt


@operator("NUM105")
def half_precision_times_a_numpy_scalar(site: Site) -> Iterator[Edits]:
    numpy, imported = site.source.name_of("numpy")
    for name, stmt in half_names(site):
        yield *imported, site.source.after(stmt, f"{name} = {name} * {numpy}.float32(0.125)")


@operator("NUM105")
def half_precision_over_a_root_of_numpy(site: Site) -> Iterator[Edits]:
    numpy, imported = site.source.name_of("numpy")
    for name, stmt in half_names(site):
        yield *imported, site.source.after(stmt, f"{name} = {name} / {numpy}.sqrt(64)")


@operator("NUM105")
def tracer_is_cast_and_scaled_by_numpy(site: Site) -> Iterator[Edits]:
    numpy, imported = site.source.name_of("numpy")
    jnp = site.source.alias("jax.numpy")
    for _, name, stmt in site.tracers if jnp else ():
        cast = site.source.after(stmt, f"_low = {name}.astype({jnp}.bfloat16)", marked=False)
        yield *imported, cast, site.source.after(stmt, f"_scaled = _low / {numpy}.sqrt(128.0)")


@operator("NUM106")
def float32_becomes_float64(site: Site) -> Iterator[Edits]:
    for node in site.source.nodes:
        if isinstance(node, ast.Attribute) and site.source.dotted(node) == "jax.numpy.float32":
            above = site.source.parents[node]
            call = site.source.parents[above] if isinstance(above, ast.keyword) else above
            cast = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "astype"
            named = isinstance(call, ast.Call) and (site.source.dotted(call.func) or "").startswith("jax.numpy.")
            if site.source.function(node) is not None and (cast or (named and above is not call)):
                yield (site.source.replace(node, site.source.text(node).replace("float32", "float64")),)


def states(site: Site) -> Iterator[ast.Call]:
    """Where a function named `init...` makes a state that a function named `update...` of the file makes anew."""
    source = site.source
    classes = {each.name for each in source.nodes if isinstance(each, ast.ClassDef)}
    made: dict[str, set[str]] = {}
    for call, name in source.calls:
        function = source.function(call)
        if name in classes and function is not None:
            made.setdefault(name, set()).add(function.name)
    for call, name in source.calls:
        function = source.function(call)
        updated = any("update" in each or "step" in each for each in made.get(name, ()))
        if updated and function is not None and "init" in function.name:
            yield call


@operator("JIT119")
def array_of_a_state_starts_as_a_number(site: Site) -> Iterator[Edits]:
    """A float array that a state starts with becomes `jnp.asarray(0.0)`."""
    jnp = site.source.alias("jax.numpy")
    for call in states(site) if jnp else ():
        for value in [*call.args, *(each.value for each in call.keywords)]:
            zeros = isinstance(value, ast.Call) and site.source.dotted(value.func) in (
                "jax.numpy.zeros",
                "jax.numpy.ones",
            )
            text = site.source.text(value)
            if zeros and "int" not in text and "bool" not in text:
                yield (site.source.replace(value, f"{jnp}.asarray(0.0)"),)


@operator("JIT119")
def new_average_in_a_state(site: Site) -> Iterator[Edits]:
    """A module gets a running average whose state starts as a Python number."""
    jax, jnp = site.source.alias("jax"), site.source.alias("jax.numpy")
    last = site.source.tree.body[-1]
    if jax and jnp and site.jitted and site.source.alone(last):
        typing, imported = site.source.name_of("typing")
        before = (
            "",
            "",
            f"class _Average({typing}.NamedTuple):",
            f"    value: {jax}.Array",
            "",
            "",
            "def _init_average():",
        )
        after = (
            "",
            "",
            f"@{jax}.jit",
            "def _update_average(state, x):",
            "    return _Average(0.9 * state.value + 0.1 * x)",
        )
        head = site.source.after(last, *before, marked=False)
        state = site.source.after(last, f"    return _Average(value={jnp}.asarray(0.0))")
        yield *imported, head, state, site.source.after(last, *after, marked=False)


@operator("SHD104")
def loss_is_summed_over_devices_inside_its_gradient(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    gradients = {"jax.grad", "jax.value_and_grad"}
    for call, name in site.source.calls:
        if name in gradients and call.args and isinstance(call.args[0], ast.Name):
            function = site.source.definition(call.args[0].id, call)
            if function is None:
                continue
            for stmt in [n for n in function.body if isinstance(n, ast.Return) and n.value]:
                value = stmt.value
                loss = value.elts[0] if isinstance(value, ast.Tuple) else value
                if loss is not None and not targets(loss) and not reads(loss, "axis_name"):
                    text = site.source.text(loss)
                    yield *imported, site.source.replace(loss, f'{jax}.lax.psum({text}, axis_name="batch")')
