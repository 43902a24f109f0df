"""Faults around jit: rebuilt, in a loop, static arguments, donation, what the host waits for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..operator import SET_UP, Edits, Site, operator
from ..traced import ARRAYS, JITS, Jitted, reads, statements, targets

STEPS = ("train_step", "update", "step", "training_step")


def host_arrays(site: Site) -> Iterator[tuple[ast.Call, bool]]:
    """Calls jnp.f(x, keyword=...) in functions of the host, and whether they are in a loop."""
    source = site.source
    for call, name in source.calls if not site.has_kernels else ():
        function = source.function(call)
        if not (name in ARRAYS and len(call.args) == 1 and function is not None and not site.is_traced(call)):
            continue
        if function not in site.host and not site.comes_back(call):
            continue
        if not any(part in function.name for part in SET_UP) and not _lambda_above(site, call):
            looped = any(isinstance(above, (ast.For, ast.While)) for above in source.above(source.statement(call)))
            yield call, looped


def _lambda_above(site: Site, node: ast.AST) -> bool:
    return any(isinstance(above, (ast.Lambda, ast.comprehension)) for above in site.source.above(node))


@operator("JIT101")
def lambda_jitted_in_a_loop(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    for call, looped in host_arrays(site):
        if looped:
            given = "".join(f", {site.source.text(each)}" for each in call.keywords)
            fresh = f"{jax}.jit(lambda _x: {site.source.text(call.func)}(_x{given}))({site.source.text(call.args[0])})"
            yield *imported, site.source.replace(call, fresh)


@operator("JIT101")
def step_made_in_the_loop(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    jnp = site.source.alias("jax.numpy")
    for function in site.host:
        for loop in site.loops(function) if jnp else ():
            if site.source.alone(loop.body[0]) and not isinstance(loop.body[0], ast.Expr):
                lines = (f"_norm = {jax}.jit(lambda _x: {jnp}.sqrt({jnp}.sum(_x * _x)))", f"_norm({jnp}.ones(3))")
                yield *imported, site.source.before(loop.body[0], *lines)


@operator("JIT101")
def gradient_jitted_in_a_loop(site: Site) -> Iterator[Edits]:
    """`jax.grad(f)(x)` or `jax.vmap(f)(x)` in a loop of the host is jitted there."""
    jax, imported = site.source.name_of("jax")
    for call, name in site.source.calls:
        parent = site.source.parents[call]
        if (
            name in ("jax.grad", "jax.value_and_grad", "jax.vmap")
            and isinstance(parent, ast.Call)
            and parent.func is call
        ):
            looped = any(isinstance(above, (ast.For, ast.While)) for above in site.source.above(call))
            if looped and site.source.function(call) in site.host:
                yield *imported, site.source.replace(call, f"{jax}.jit({site.source.text(call)})")


@operator("JIT102")
def partial_jitted_and_called(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    functools, more = site.source.name_of("functools")
    for call, looped in host_arrays(site):
        if not looped and call.keywords and site.comes_back(call):
            given = ", ".join(site.source.text(each) for each in (call.func, *call.keywords))
            fresh = f"{jax}.jit({functools}.partial({given}))({site.source.text(call.args[0])})"
            yield *imported, *more, site.source.replace(call, fresh)


@operator("JIT102")
def lambda_jitted_and_called(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    for call, looped in host_arrays(site):
        if not looped and site.comes_back(call):
            given = "".join(f", {site.source.text(each)}" for each in call.keywords)
            fresh = f"{jax}.jit(lambda _x: {site.source.text(call.func)}(_x{given}))({site.source.text(call.args[0])})"
            yield *imported, site.source.replace(call, fresh)


@operator("JIT102")
def vmap_jitted_and_called(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    for call, name in site.source.calls:
        parent, function = site.source.parents[call], site.source.function(call)
        if name in ("jax.grad", "jax.vmap") and isinstance(parent, ast.Call) and parent.func is call and function:
            looped = any(isinstance(above, (ast.For, ast.While)) for above in site.source.above(call))
            set_up = any(part in function.name for part in SET_UP)
            again = site.comes_back(call) and not site.is_traced(call)
            if not looped and not set_up and again and not _lambda_above(site, call):
                yield *imported, site.source.replace(call, f"{jax}.jit({site.source.text(call)})")


def step_calls(site: Site) -> Iterator[tuple[ast.For, ast.Assign, str]]:
    """In loops of the host: statements that bring a state on by a jitted function, and the last name that they bind."""
    source = site.source
    names = {each.name for each in site.jitted}
    names |= {
        target.id
        for call, name in source.calls
        if name in JITS and isinstance(source.parents[call], ast.Assign)
        for target in targets(source.parents[call])
    }
    for function in source.functions:
        if site.is_traced(function):
            continue
        for loop in site.loops(function):
            if any(word in source.text(loop) for word in ("perf_counter", "time.time", "timeit", "block_until_ready")):
                continue
            for stmt in loop.body:
                value = stmt.value if isinstance(stmt, ast.Assign) else None
                if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in names:
                    bound = [each.id for each in targets(stmt)]
                    carried = any(reads(value, each) for each in bound)
                    if carried and source.alone(stmt) and isinstance(stmt, ast.Assign):
                        yield loop, stmt, bound[-1]


@operator("JIT105")
def metrics_fetched_each_step(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    for _, stmt, name in step_calls(site):
        yield *imported, site.source.after(stmt, f"_host = {jax}.device_get({name})")


@operator("JIT105")
def metrics_printed_each_step(site: Site) -> Iterator[Edits]:
    for _, stmt, name in step_calls(site):
        yield (site.source.after(stmt, f'print(f"{{{name}}}")'),)


@operator("JIT105")
def device_waited_for_each_step(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    for _, stmt, name in step_calls(site):
        yield *imported, site.source.after(stmt, f"{jax}.block_until_ready({name})")


@operator("JIT105")
def numbers_of_a_new_jitted_step(site: Site) -> Iterator[Edits]:
    """A loop of the host calls a jitted function of the module and reads its result in every round."""
    jax, imported = site.source.name_of("jax")
    for function in site.host:
        if not isinstance(site.source.parents[function], ast.Module) or not site.source.alone(function):
            continue
        for loop in site.loops(function):
            if site.source.alone(loop.body[-1]) and not isinstance(
                loop.body[-1], (ast.Return, ast.Continue, ast.Break)
            ):
                pad = site.source.indent(loop.body[-1])
                made = site.source.before(
                    function, f"@{jax}.jit", "def _measure(x):", "    return (x * x).sum()", "", "", marked=False
                )
                called = site.source.before(loop.body[0], f"_value = _measure({jax}.numpy.ones(8))", marked=False)
                if pad and loop.body[0] is not loop.body[-1]:
                    yield *imported, made, called, site.source.after(loop.body[-1], "_sum = float(_value)")


def static_calls(site: Site) -> Iterator[tuple[Jitted, ast.Call, ast.expr]]:
    """Calls of a jitted function of the file, with an argument that it holds static."""
    for each in site.jitted:
        static = each.static()
        for call, name in site.source.calls if static else ():
            if name == each.name and call is not each.jit and not site.is_traced(call):
                pairs = list(zip(each.parameters, call.args, strict=False))
                pairs += [(given.arg or "", given.value) for given in call.keywords]
                for parameter, value in pairs:
                    if parameter in (static or ()) and not isinstance(value, ast.Starred):
                        yield each, call, value


@operator("JIT106")
def static_argument_becomes_a_list(site: Site) -> Iterator[Edits]:
    for _, _, value in static_calls(site):
        yield (site.source.replace(value, f"[{site.source.text(value)}]"),)


@operator("JIT106")
def static_argument_becomes_a_dict(site: Site) -> Iterator[Edits]:
    for _, _, value in static_calls(site):
        yield (site.source.replace(value, f'{{"value": {site.source.text(value)}}}'),)


@operator("JIT106")
def list_given_to_a_static_parameter(site: Site) -> Iterator[Edits]:
    """A new caller of a jitted function with static parameters passes a list."""
    for each in site.jitted:
        static = each.static()
        if static and isinstance(site.source.parents[each.function], ast.Module) and each.name == each.function.name:
            given = ", ".join("[1, 2]" if name in static else name for name in each.parameters)
            taken = ", ".join(name for name in each.parameters if name not in static)
            lines = ("", "", f"def _again({taken}):", f"    return {each.name}({given})")
            if site.source.alone(each.function) and set(static) <= set(each.parameters):
                yield (site.source.after(each.function, *lines),)


@operator("JIT107")
def lambda_as_static_argument(site: Site) -> Iterator[Edits]:
    for _, call, value in static_calls(site):
        if isinstance(value, (ast.Name, ast.Attribute)) and site.comes_back(call):
            yield (site.source.replace(value, f"(lambda *_a: {site.source.text(value)}(*_a))"),)


@operator("JIT107")
def lambda_as_static_argument_in_a_new_loop(site: Site) -> Iterator[Edits]:
    for each in site.jitted:
        static = each.static()
        if static and isinstance(site.source.parents[each.function], ast.Module) and each.name == each.function.name:
            given = ", ".join("lambda v: v" if name == static[0] else name for name in each.parameters)
            taken = ", ".join(name for name in each.parameters if name != static[0])
            lines = (
                "",
                "",
                f"def _rounds({taken}):",
                "    for _ in range(1000):",
                f"        _out = {each.name}({given})",
            )
            if site.source.alone(each.function) and set(static) <= set(each.parameters):
                yield (site.source.after(each.function, *lines),)


@operator("JIT107")
def loop_counter_as_static_argument(site: Site) -> Iterator[Edits]:
    for each in site.jitted:
        static = each.static()
        if static and isinstance(site.source.parents[each.function], ast.Module) and each.name == each.function.name:
            given = ", ".join("_step" if name == static[0] else name for name in each.parameters)
            taken = ", ".join(name for name in each.parameters if name != static[0])
            lines = (
                "",
                "",
                f"def _sweep({taken}):",
                "    for _step in range(10_000):",
                f"        _out = {each.name}({given})",
                "    return _out",
            )
            if site.source.alone(each.function) and set(static) <= set(each.parameters):
                yield (site.source.after(each.function, *lines),)


@operator("JIT108")
def method_jitted_with_static_self(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    functools, more = site.source.name_of("functools")
    for owner in [n for n in site.source.nodes if isinstance(n, ast.ClassDef) and not n.decorator_list and not n.bases]:
        methods = [each for each in owner.body if isinstance(each, ast.FunctionDef)]
        made = next((each for each in methods if each.name == "__init__"), None)
        fields = (
            {n.attr for n in ast.walk(made) if isinstance(n, ast.Attribute) and _on_self(n, ast.Store)}
            if made
            else set()
        )
        for method in methods:
            read = sorted(
                {n.attr for n in ast.walk(method) if isinstance(n, ast.Attribute) and _on_self(n, ast.Load)} & fields
            )
            written = any(isinstance(n, ast.Attribute) and _on_self(n, ast.Store) for n in ast.walk(method))
            plain = not method.name.startswith("__") and not method.decorator_list and not written
            if plain and read and method.args.args and site.source.alone(method):
                compiled = site.source.before(method, f"@{functools}.partial({jax}.jit, static_argnums=0)")
                setter = ("", f"def _set_{read[0]}(self, value):", f"    self.{read[0]} = value")
                yield *imported, *more, compiled, site.source.after(method, *setter, marked=False)


def _on_self(node: ast.Attribute, context: type[ast.expr_context]) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self" and isinstance(node.ctx, context)


@operator("JIT109")
def name_of_a_static_argument_is_misspelt(site: Site) -> Iterator[Edits]:
    for each in site.jitted:
        if each.function.args.kwarg is None:
            for name in ("static_argnames", "donate_argnames"):
                keyword = each.keywords.get(name)
                for text in [n for n in ast.walk(keyword.value) if isinstance(n, ast.Constant)] if keyword else ():
                    if isinstance(text.value, str):
                        yield (site.source.replace(text, repr(text.value + "_")),)


@operator("JIT109")
def number_of_an_argument_is_out_of_range(site: Site) -> Iterator[Edits]:
    for each in site.jitted:
        if each.function.args.vararg is None:
            for name in ("static_argnums", "donate_argnums"):
                keyword = each.keywords.get(name)
                for number in [n for n in ast.walk(keyword.value) if isinstance(n, ast.Constant)] if keyword else ():
                    yield (site.source.replace(number, "17"),)


@operator("JIT109")
def jit_names_a_parameter_that_is_not_there(site: Site) -> Iterator[Edits]:
    for each in site.jitted:
        if each.by == "jax.jit" and not isinstance(each.jit, ast.Call) and each.function.args.kwarg is None:
            functools, imported = site.source.name_of("functools")
            text = f'{functools}.partial({site.source.text(each.jit)}, static_argnames=("deterministic_",))'
            yield *imported, site.source.replace(each.jit, text)


def _donating(site: Site, each: Jitted, number: int) -> Edits:
    """The same jit, donating one argument."""
    text = site.source.text(each.jit)
    if isinstance(each.jit, ast.Call):
        return (
            site.source.replace(
                each.jit, f"{text[:-1].rstrip().rstrip(',')}, donate_argnums=({number},))", marked=False
            ),
        )
    functools, imported = site.source.name_of("functools")
    changed = f"{functools}.partial({text}, donate_argnums=({number},))"
    return (*imported, site.source.replace(each.jit, changed, marked=False))


@operator("MEM101")
def argument_that_is_read_later_is_donated(site: Site) -> Iterator[Edits]:
    source = site.source
    for each in site.jitted:
        if each.by not in ("jax.jit", "flax.nnx.jit") or each.keywords.keys() & {"donate_argnums", "donate_argnames"}:
            continue
        static = each.static() or []
        for call, name in source.calls:
            stmt = source.statement(call)
            if name != each.name or call is each.jit or site.is_traced(call) or not isinstance(stmt, ast.Assign):
                continue
            block = source.block(stmt)
            later = block[block.index(stmt) + 1 :] if stmt in block else []
            bound = {target.id for target in targets(stmt)}
            for number, given in enumerate(call.args):
                parameter = each.parameters[number] if number < len(each.parameters) else "self"
                if isinstance(given, ast.Name) and given.id not in bound and parameter not in {"self", *static}:
                    plain = (ast.Assign, ast.Expr, ast.Return)
                    read = next((one for one in later if isinstance(one, plain) and reads(one, given.id)), None)
                    if read is not None and source.alone(read):
                        marked = source.before(read, f"_before = {given.id} * 1", marked=True)
                        yield *_donating(site, each, number), marked


@operator("MEM101")
def donated_state_is_compared_after_the_step(site: Site) -> Iterator[Edits]:
    """A new loop around a jitted function of the module donates its first argument and then reads it."""
    for each in site.jitted:
        top = isinstance(site.source.parents[each.function], ast.Module) and each.name == each.function.name
        static = each.static()
        if (
            top
            and each.by == "jax.jit"
            and static == []
            and each.parameters
            and not each.keywords
            and site.source.alone(each.function)
        ):
            given = ", ".join(each.parameters)
            first = each.parameters[0]
            lines = (
                "",
                "",
                f"def _compare({given}):",
                f"    _new = {each.name}({given})",
                f"    return _new, {first}",
            )
            after = site.source.after(each.function, *lines[:-1], marked=False)
            read = site.source.after(each.function, lines[-1])
            yield *_donating(site, each, 0), after, read


@operator("MEM102")
def donation_is_dropped(site: Site) -> Iterator[Edits]:
    for each in site.jitted:
        if isinstance(each.jit, ast.Call) and each.keywords.keys() & {"donate_argnums", "donate_argnames"}:
            dropped = {"donate_argnums", "donate_argnames"}
            kept = [
                site.source.text(one)
                for one in (*each.jit.args, *each.jit.keywords)
                if getattr(one, "arg", "") not in dropped
            ]
            text = f"{site.source.text(each.jit.func)}({', '.join(kept)})"
            listed = all(
                isinstance(one.value, (ast.Tuple, ast.List, ast.Constant))
                for one in each.keywords.values()
                if one.arg in dropped
            )
            learns = "train" in each.function.name or "grad" in site.source.text(each.function)
            if listed and learns and any(step in each.function.name for step in STEPS):
                yield (site.source.replace(each.jit, text),)


@operator("MEM102")
def step_around_a_loss_donates_nothing(site: Site) -> Iterator[Edits]:
    """A new train step around a loss of the module updates parameters and moments and donates neither."""
    jax, imported = site.source.name_of("jax")
    optax, more = site.source.name_of("optax")
    for call, name in site.source.calls:
        if name in ("jax.grad", "jax.value_and_grad") and call.args and isinstance(call.args[0], ast.Name):
            loss = site.source.definition(call.args[0].id, call)
            if loss is None or not isinstance(site.source.parents[loss], ast.Module) or not site.source.alone(loss):
                continue
            if not loss.args.args or call.keywords or name == "jax.value_and_grad":
                continue
            lines = (
                "",
                "",
                "def _make_step(tx):",
                f"    @{jax}.jit",
                "    def _train_step(params, opt_state, *batch):",
                f"        grads = {jax}.grad({loss.name})(params, *batch)",
                "        updates, opt_state = tx.update(grads, opt_state, params)",
                f"        return {optax}.apply_updates(params, updates), opt_state",
                "",
                "    return _train_step",
            )
            parts = [site.source.after(loss, *lines[:3], marked=False), site.source.after(loss, *lines[3:5])]
            yield *imported, *more, *parts, site.source.after(loss, *lines[5:], marked=False)


@operator("MEM103")
def input_of_a_scalar_is_donated(site: Site) -> Iterator[Edits]:
    """A jitted function that returns but one number donates its first argument."""
    scalar = {f"jax.numpy.{name}" for name in ("mean", "sum", "max", "min", "all", "any")}
    for each in site.jitted:
        returned = [one.value for one in statements(site.source, each.function) if isinstance(one, ast.Return)]
        lone = returned[0] if len(returned) == 1 else None
        if not (isinstance(lone, ast.Call) and site.source.dotted(lone.func) in scalar and len(lone.args) == 1):
            continue
        if not lone.keywords and each.by == "jax.jit" and not each.keywords and each.parameters[:1] != ["self"]:
            edits = _donating(site, each, 0)
            yield *edits[:-1], site.source.replace(each.jit, edits[-1].text)


@operator("MEM103")
def batch_of_an_evaluation_is_donated(site: Site) -> Iterator[Edits]:
    """A new evaluation beside a function of the module donates what it only reads."""
    jax, imported = site.source.name_of("jax")
    jnp = site.source.alias("jax.numpy")
    functools, more = site.source.name_of("functools")
    for each in site.jitted if jnp else ():
        top = isinstance(site.source.parents[each.function], ast.Module)
        if top and len(each.parameters) == 1 and site.source.alone(each.function):
            lines = (
                "",
                "",
                f"@{functools}.partial({jax}.jit, donate_argnums=(0,))",
                "def _measure(batch):",
                f"    return {jnp}.sum({each.function.name}(batch))",
            )
            yield *imported, *more, site.source.after(each.function, *lines)
