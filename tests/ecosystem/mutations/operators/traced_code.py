"""Faults inside traced functions: branches, leaks, host state, NumPy, shapes, item assignment, loops, sets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..operator import Edits, Site, operator
from ..source import Function
from ..traced import ARRAYS, is_array, reads, targets

RAISING = {"exp", "log", "sin", "cos", "tan", "tanh", "sqrt", "maximum", "minimum", "dot", "matmul", "abs", "power"}
INTO_PYTHON = {"jax.numpy.maximum": "max", "jax.numpy.minimum": "min"}


def numpy_calls(site: Site) -> Iterator[tuple[ast.Call, str]]:
    """Calls of array functions in traced code whose first argument surely is a tracer."""
    source = site.source
    for call, name in source.calls:
        function = source.function(call)
        if name in ARRAYS and call.args and function in site.traced and not call.keywords:
            first = call.args[0]
            known = isinstance(first, ast.Name) and first.id in site.arrays(function)
            if known or is_array(source, first):
                yield call, name


@operator("JIT103")
def where_becomes_a_conditional_expression(site: Site) -> Iterator[Edits]:
    for call, name in site.source.calls:
        if name == "jax.numpy.where" and len(call.args) == 3 and isinstance(call.args[0], ast.Compare):
            function = site.source.function(call)
            known = site.arrays(function) if function in site.traced else {}
            if any(reads(call.args[0], each) for each in known):
                test, yes, no = (site.source.text(each) for each in call.args)
                yield (site.source.replace(call, f"(({yes}) if ({test}) else ({no}))"),)


@operator("JIT103")
def maximum_becomes_max(site: Site) -> Iterator[Edits]:
    for call, name in numpy_calls(site):
        if name in INTO_PYTHON:
            yield (site.source.replace(call.func, INTO_PYTHON[name]),)


@operator("JIT103")
def array_is_asserted(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    for _, name, stmt in site.tracers if jnp else ():
        yield (site.source.after(stmt, f"assert {jnp}.all({jnp}.isfinite({name}))"),)


@operator("JIT103")
def early_exit_on_an_array(site: Site) -> Iterator[Edits]:
    for _, name, stmt in site.tracers:
        yield (site.source.after(stmt, f"if ({name} > 0).any():", f"    {name} = -{name}"),)


@operator("JIT103")
def loop_until_small(site: Site) -> Iterator[Edits]:
    for _, name, stmt in site.tracers:
        yield (site.source.after(stmt, f"while {name}.max() > 1.0:", f"    {name} = {name} * 0.5"),)


@operator("JIT104")
def kept_in_a_list_of_the_module(site: Site) -> Iterator[Edits]:
    for _, name, stmt in site.tracers:
        yield site.source.at_top("_seen_values = []"), site.source.after(stmt, f"_seen_values.append({name})")


@operator("JIT104")
def kept_in_a_dict_of_the_module(site: Site) -> Iterator[Edits]:
    for _, name, stmt in site.tracers:
        yield site.source.at_top("_last_values = {}"), site.source.after(stmt, f'_last_values["{name}"] = {name}')


@operator("JIT104")
def kept_in_a_global(site: Site) -> Iterator[Edits]:
    for function, name, stmt in site.tracers:
        if stmt in function.body and isinstance(stmt, ast.Assign):
            lines = ("global _last_value", f"_last_value = {name}")
            yield site.source.at_top("_last_value = None"), site.source.after(stmt, *lines)


@operator("JIT104")
def kept_in_a_list_of_the_enclosing_function(site: Site) -> Iterator[Edits]:
    for function, name, stmt in site.tracers:
        outer = site.source.function(function)
        if outer is not None and not site.is_traced(outer) and site.source.alone(outer.body[0]):
            made = site.source.before(outer.body[0], "collected = []", marked=False)
            yield made, site.source.after(stmt, f"collected.append({name})")


def compiled_tracers(site: Site) -> Iterator[tuple[Function, str, ast.stmt]]:
    """Tracers in functions that run once, while they are compiled."""
    return (each for each in site.tracers if each[0] in site.staged)


@operator("JIT110")
def clock_is_read(site: Site) -> Iterator[Edits]:
    time, imported = site.source.name_of("time")
    for _, name, stmt in compiled_tracers(site):
        yield *imported, site.source.after(stmt, f"{name} = {name} + {time}.time()")


@operator("JIT110")
def noise_of_numpy(site: Site) -> Iterator[Edits]:
    numpy, imported = site.source.name_of("numpy")
    for _, name, stmt in compiled_tracers(site):
        yield *imported, site.source.after(stmt, f"{name} = {name} + {numpy}.random.normal(0.0, 1e-3)")


@operator("JIT110")
def noise_of_python(site: Site) -> Iterator[Edits]:
    random, imported = site.source.name_of("random")
    for _, name, stmt in compiled_tracers(site):
        yield *imported, site.source.after(stmt, f"{name} = {name} * {random}.random()")


@operator("JIT110")
def environment_is_read(site: Site) -> Iterator[Edits]:
    os, imported = site.source.name_of("os")
    for _, name, stmt in compiled_tracers(site):
        yield *imported, site.source.after(stmt, f'{name} = {name} * float({os}.environ.get("SCALE", "1.0"))')


@operator("JIT112")
def mask_becomes_an_index(site: Site) -> Iterator[Edits]:
    for _, name, stmt in site.tracers:
        yield (site.source.after(stmt, f"_positive = {name}[{name} > 0]"),)


@operator("JIT112")
def where_with_one_argument(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    for _, name, stmt in site.tracers if jnp else ():
        yield (site.source.after(stmt, f"_indices = {jnp}.where({name} > 0)[0]"),)


@operator("JIT112")
def size_of_nonzero_is_lost(site: Site) -> Iterator[Edits]:
    sized = {f"jax.numpy.{name}" for name in ("nonzero", "unique", "argwhere", "flatnonzero", "bincount")}
    for call, name in site.source.calls:
        given = next((each for each in call.keywords if each.arg in ("size", "length")), None)
        if name in sized and given is not None and site.is_traced(call):
            kept = [site.source.text(each) for each in (*call.args, *call.keywords) if each is not given]
            yield (site.source.replace(call, f"{site.source.text(call.func)}({', '.join(kept)})"),)


@operator("JIT112")
def unique_values(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    for _, name, stmt in site.tracers if jnp else ():
        yield (site.source.after(stmt, f"_kinds = {jnp}.unique({name})"),)


@operator("JIT113")
def jnp_becomes_np(site: Site) -> Iterator[Edits]:
    numpy, imported = site.source.name_of("numpy")
    for call, name in numpy_calls(site):
        if name.removeprefix("jax.numpy.") in RAISING:
            yield *imported, site.source.replace(call.func, f"{numpy}.{name.removeprefix('jax.numpy.')}")


@operator("JIT113")
def tracer_becomes_a_numpy_array(site: Site) -> Iterator[Edits]:
    numpy, imported = site.source.name_of("numpy")
    for _, name, stmt in site.tracers:
        yield *imported, site.source.after(stmt, f"_copy = {numpy}.asarray({name})")


@operator("JIT114")
def at_set_becomes_item_assignment(site: Site) -> Iterator[Edits]:
    for stmt, target, index, value, verb in at_updates(site):
        assigned = "=" if verb == "set" else "+="
        yield (site.source.replace(stmt, f"{target}[{index}] {assigned} {value}"),)


def at_updates(site: Site) -> Iterator[tuple[ast.stmt, str, str, str, str]]:
    """Statements `x = x.at[i].set(v)`: the statement, x, i, v and set or add."""
    for stmt in site.source.nodes:
        if not (isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 and isinstance(stmt.targets[0], ast.Name)):
            continue
        call, name = stmt.value, stmt.targets[0].id
        if isinstance(call, ast.Call) and len(call.args) == 1 and isinstance(call.func, ast.Attribute):
            item = call.func.value
            if (
                call.func.attr in ("set", "add")
                and isinstance(item, ast.Subscript)
                and isinstance(item.value, ast.Attribute)
                and item.value.attr == "at"
                and site.source.dotted(item.value.value) == name
            ):
                value = site.source.text(call.args[0])
                value = f"({value})" if "\n" in value else value
                yield stmt, name, site.source.text(item.slice), value, call.func.attr


@operator("JIT115")
def scan_becomes_a_loop(site: Site) -> Iterator[Edits]:
    source = site.source
    for call, name in source.calls:
        stmt = source.parents[call]
        if name == "jax.lax.scan" and len(call.args) == 3 and not call.keywords and site.is_traced(call):
            body, init, xs = (source.text(each) for each in call.args)
            if isinstance(stmt, ast.Assign) and source.alone(stmt) and isinstance(call.args[2], ast.Name):
                names = [source.text(each) for each in getattr(stmt.targets[0], "elts", ())]
                distinct = len({*names, xs, "_"}) == 4
                if len(names) == 2 and distinct and all(each.isidentifier() for each in names):
                    carry, ys = names
                    pad = source.indent(stmt)
                    text = f"\n{pad}    ".join(
                        (
                            f"for _t in range({xs}.shape[0]):",
                            f"{carry}, _y = {body}({carry}, {xs}[_t])",
                            f"{ys}.append(_y)",
                        )
                    )
                    begin = source.before(stmt, f"{carry}, {ys} = {init}, []", marked=False)
                    yield begin, source.replace(stmt, text, marked=True)


@operator("JIT115")
def fori_loop_becomes_a_loop(site: Site) -> Iterator[Edits]:
    source = site.source
    for call, name in source.calls:
        stmt = source.parents[call]
        if not (name == "jax.lax.fori_loop" and len(call.args) == 4 and site.is_traced(call)):
            continue
        if isinstance(stmt, ast.Assign) and source.alone(stmt) and isinstance(stmt.targets[0], ast.Name):
            _, _, body, init = (source.text(each) for each in call.args)
            x = stmt.targets[0].id
            begin = source.before(stmt, f"{x} = {init}", marked=False)
            loop = f"for _t in range(1000):\n{source.indent(stmt)}    {x} = ({body})(_t, {x})"
            yield begin, source.replace(stmt, loop)


@operator("JIT115")
def time_steps_in_a_python_loop(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    for _, name, stmt in site.tracers if jnp else ():
        lines = (f"for _t in range({name}.shape[0]):", f"    {name} = {name} + {jnp}.tanh({name}[_t])")
        yield (site.source.after(stmt, *lines),)


@operator("JIT121")
def keys_of_a_set(site: Site) -> Iterator[Edits]:
    """`for k in d.keys()` and `for k in sorted(d.keys())` in traced code, that compute something, go over a set."""
    source = site.source
    for loop in [n for n in source.nodes if isinstance(n, ast.For)]:
        call = loop.iter
        if isinstance(call, ast.Call) and source.dotted(call.func) == "sorted" and call.args and not call.keywords:
            call = call.args[0]
        computes = any(isinstance(one, ast.BinOp) for stmt in loop.body for one in ast.walk(stmt))
        keys = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "keys"
        if keys and computes and site.is_traced(loop):
            yield (source.replace(loop.iter, f"set({source.text(call)})"),)


@operator("JIT121")
def terms_in_the_order_of_a_set(site: Site) -> Iterator[Edits]:
    for _, name, stmt in site.tracers:
        made = site.source.after(stmt, f'_terms = {{"aux": {name}, "main": 2.0 * {name}}}', marked=False)
        lines = ('for _part in set(_terms) | {"aux"}:', f"    {name} = {name} + _terms[_part]")
        yield made, site.source.after(stmt, *lines)


def steps(site: Site) -> Iterator[tuple[str, ast.stmt]]:
    """Tracers in every run of a compiled function, those aside whose name says that they look after something."""
    compiled = {each.function for each in site.jitted}
    for function, name, stmt in site.tracers:
        looks = any(word in function.name for word in ("check", "print", "debug", "log", "assert", "report", "trace"))
        if function in compiled and stmt in function.body and not looks:
            yield name, stmt


@operator("JIT118")
def value_is_printed_in_the_step(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    for name, stmt in steps(site):
        yield *imported, site.source.after(stmt, f'{jax}.debug.print("{name}: {{x}}", x={name})')


@operator("JIT118")
def host_is_called_in_the_step(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    for name, stmt in steps(site):
        yield *imported, site.source.after(stmt, f"{jax}.debug.callback(print, {name})")


@operator("JIT111")
def table_of_the_module(site: Site) -> Iterator[Edits]:
    numpy, imported = site.source.name_of("numpy")
    for _, name, stmt in site.tracers:
        table = site.source.at_top(f"_TABLE = {numpy}.random.default_rng(0).standard_normal((4096, 4096))")
        yield *imported, table, site.source.after(stmt, f"{name} = {name} + _TABLE[0, 0]")


@operator("JIT111")
def array_of_the_module(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    for _, name, stmt in site.tracers if jnp else ():
        table = site.source.at_top(f"_WEIGHTS = {jnp}.ones((8192, 1024))")
        yield table, site.source.after(stmt, f"{name} = {name} * _WEIGHTS.sum()")


@operator("JIT104")
def kept_on_an_object_of_outside(site: Site) -> Iterator[Edits]:
    """A traced method that is no Module's writes a tracer on self."""
    for function, name, stmt in site.tracers:
        owner = site.source.parents[function]
        compiled = {each.function for each in site.jitted}
        first = function.args.args[0].arg if function.args.args else ""
        if isinstance(owner, ast.ClassDef) and function in compiled and first == "self" and targets(stmt):
            yield (site.source.after(stmt, f"self.last_{name} = {name}"),)
