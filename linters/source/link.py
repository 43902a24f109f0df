"""Which functions are traced: from every transform in the program, along calls, to a fixed point.

Roots are the functions that transforms are given (as decorators, arguments, branches, through partial, lambda,
methods), those of custom derivatives, Module methods by convention, and what the project's options name. From a traced
function the property goes on to the functions defined in it and to those it calls, with what is known of their
arguments. What tests trace comes last: the chain of a function begins in a test only where nothing else traces it.
"""

from __future__ import annotations

from collections import deque
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from .callee import Callee
from .calling import Given
from .fixed import UNDECIDED, VARIES, is_dead, met, scalar
from .jit_options import HIDDEN, options_of
from .records import Call
from .states import INPUT, OPEN, TRACER, bit, fixed_under, is_input, named, states_under
from .summary import HIGHER_ORDER, FunctionSummary
from .text import is_test_path
from .traced import CONCRETE, STAGED, Traced, Why, is_conventional
from .transforms import MODULE_BASES, POSITIONAL, RULE_METHODS, TRANSFORMS, Transform
from .values.value import UNKNOWN, Value, dotted

if TYPE_CHECKING:
    from .program import Program

LONGEST_CHAIN = 12
_OF_APPLY = frozenset({"rngs", "mutable", "capture_intermediates"})
"""Keywords that `apply` takes for itself."""


class Linker:
    """Fills in `traced_functions`, `bindings` and `host_functions` of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.traced: dict[str, Traced] = {}
        program.traced_functions = self.traced
        self.bits: dict[str, dict[str, int]] = {}
        self.fixed: dict[str, dict[str, Any]] = {}
        self.work: deque[str] = deque()
        self.queued: set[str] = set()
        self.children: dict[str, list[str]] = {}
        self.roots: list[Given] = []
        self.passed: dict[str, set[str]] = {}

    def run(self) -> None:
        program = self.program
        for id, (data, _) in program.function_data.items():
            outer = data.get("u")
            if outer is not None:
                self.children.setdefault(outer, []).append(id)
        self._sort_calls()
        tests = [given for given in self.roots if is_test_path(program.function_data[given[0]][1].path)]
        by_tests = set(tests)
        self._begin([given for given in self.roots if given not in by_tests])
        self._conventions()
        self._spread_all()
        self._begin(tests)
        self._spread_all()
        for id, traced in self.traced.items():
            bits = self.bits.get(id, {})
            traced.parameters = named(bits)
            traced.fixed = {name: each for name, each in self.fixed.get(id, {}).items() if each is not VARIES}

    def _begin(self, roots: list[Given]) -> None:
        """The functions that these transforms are given."""
        program = self.program
        for id, at in roots:
            function = program.function(id)
            assert function is not None
            call = program.thawed_call(function.calls[at], function)
            callee = program.callee(call.func)
            transform = TRANSFORMS.get(callee.name or "")
            if transform is not None and not callee.wraps:
                self._root(function, call, callee, transform)
            program.make_room()

    def _spread_all(self) -> None:
        while self.work:
            id = self.work.popleft()
            self.queued.discard(id)
            self._spread(id)

    # First sweep: transforms and calls

    def _sort_calls(self) -> None:
        program = self.program
        bound: list[Given] = []
        for id, (data, _) in program.function_data.items():
            if not data["c"]:
                continue
            program.make_room()
            function = program.function(id)
            if function is None:
                continue
            for at in data.get("t", ()):
                frozen = data["c"][at]
                func = program.thaw(frozen[0], function)
                if func is UNKNOWN:
                    continue
                if func.op == "attr" and func.data in RULE_METHODS:
                    self._derivative_rule(function, program.thawed_call(frozen, function, func))
                    continue
                callee = program.callee(func)
                transform = TRANSFORMS.get(callee.name) if callee.name and not callee.wraps else None
                if transform is not None and not (transform.transparent and transform.parameters == "none"):
                    self.roots.append((id, at))
                elif callee.function is not None:
                    bound.append((id, at))
            self._note_passed(function, data["c"])
        bindings: dict[tuple[str, int], list[Given]] = {}
        for given in bound:
            self._bind(given, bindings)
            program.make_room()
        program.bindings = bindings
        # What a parameter calls was asked before its bindings were known.
        program.begin()

    def _note_passed(self, function: FunctionSummary, calls: list[Any]) -> None:
        """Which parameters the calls of compiled functions give: the defaults of the others stay Python values."""
        program = self.program
        for frozen in calls:
            func = frozen[0]
            if not func or func[0] not in ("n", "x", ".") or not (frozen[1] or frozen[2]):
                continue
            if func[0] == "n":
                target = program.resolve(func[1])
                if target is None or target.op == "ref":
                    continue
            callee = program.frozen_callee(func, function.id)
            if callee.function is not None and callee.wraps:
                call = program.thawed_call(frozen, function, UNKNOWN)
                given = program.matched(callee, call.args, call.keywords)
                self.passed.setdefault(callee.function.id, set()).update(given)

    def _bind(self, given: Given, bindings: dict[tuple[str, int], list[Given]]) -> None:
        """Remembers functions that are given to project functions: what calls its parameter calls them."""
        program = self.program
        caller = program.function(given[0])
        assert caller is not None
        call = program.thawed_call(caller.calls[given[1]], caller)
        callee = program.callee(call.func)
        function = callee.function
        if function is None:
            return
        by_name = {each.name: each.index for each in function.parameters}
        for name, value in program.matched(callee, call.args, call.keywords).items():
            if name in by_name and _may_be_function(value) and program.callee(value).function is not None:
                bindings.setdefault((function.id, by_name[name]), []).append(given)

    # Roots

    def _root(self, function: FunctionSummary, call: Call, callee: Callee, transform: Transform) -> None:
        args = [*callee.bound, *call.args]
        keywords = options_of({**callee.bound_keywords, **call.keywords})
        keywords.update(zip(POSITIONAL.get(callee.name or "", ()), args[1:], strict=False))
        given = [args[at] for at in transform.functions if at < len(args)]
        given += [keywords[name] for name in transform.keywords if name in keywords]
        line = getattr(call.node, "lineno", 0)
        for value in given:
            for inner in self._functions(value):
                why = Why(function.path, line, f"{callee.name}({inner.function.name if inner.function else ''})")
                self._mark_root(function, inner, callee.name or "", transform, keywords, why)
            if transform.compiles and not any(name == HIDDEN or name.startswith("static") for name in keywords):
                self._model_root(function, value, callee.name or "", line)

    def _model_root(self, maker: FunctionSummary, value: Value, name: str, line: int) -> None:
        """`jax.jit(model.apply)` of a Flax module: what its `__call__` takes is traced, but for what has a default."""
        applied = self.program.callee(value)
        inner = self._module_call(applied) if applied.name == ".apply" else None
        if inner is None or inner.function is None:
            return
        parameters = inner.function.parameters
        why = Why(maker.path, line, f"{name}(apply)")
        states = {each.name: TRACER for each in parameters if is_input(each)}
        fixed = {each.name: VARIES for each in parameters}
        self._mark(inner.function.id, name, (why,), STAGED, True, states, fixed)

    def _functions(self, value: Value, depth: int = 0) -> list[Callee]:
        """The project functions that a value given to a transform can be."""
        if depth > 3:
            return []
        if value.op in ("list", "tuple", "phi"):
            return [each for part in value.args for each in self._functions(part, depth + 1)]
        if value.op == "param":
            bound = self.program.bound(value.data.function.id, value.data.index)
            return [each for part in bound[:8] for each in self._functions(part, depth + 1)]
        callee = self.program.callee(value)
        if callee.cls is not None:
            return []
        return [callee] if callee.function is not None else []

    def _mark_root(
        self,
        maker: FunctionSummary,
        inner: Callee,
        name: str,
        transform: Transform,
        options: dict[str, Value],
        why: Why,
    ) -> None:
        function = inner.function
        if function is None:
            return
        if transform.host:
            self.program.host_functions.add(function.id)
            return
        if transform.transparent:
            return
        outer = self.traced.get(maker.id)
        passed = self.passed.get(function.id, ())
        states = states_under(self.program, inner, name, transform, options, passed)
        fixed = fixed_under(self.program, inner, name, passed)
        self._mark(
            function.id, name, (why,), max(transform.stage, outer.stage if outer else CONCRETE), True, states, fixed
        )

    def _derivative_rule(self, function: FunctionSummary, call: Call) -> None:
        base = call.func.args[0]
        for value in (*call.args, *call.keywords.values()):
            for inner in self._functions(value):
                if inner.function is None:
                    continue
                named = dotted(base) or "custom rule"
                why = Why(
                    function.path, getattr(call.node, "lineno", 0), f"{named}.{call.func.data}({inner.function.name})"
                )
                states = {each.name: OPEN for each in inner.function.parameters}
                fixed = dict.fromkeys(states, VARIES)
                self._mark(inner.function.id, f"jax.custom_vjp.{call.func.data}", (why,), CONCRETE, True, states, fixed)

    def _conventions(self) -> None:
        program = self.program
        methods = set(program.options.module_methods)
        for id, (data, file) in program.class_data.items():
            base = program.module_kind(id) if data["b"] else None
            if base is None:
                continue
            wanted = MODULE_BASES[base] | methods
            for name, method in data["m"].items():
                found = program.function(method)
                if found is None:
                    continue
                compact = any("compact" in str(each) for each in found.data.get("d", ()))
                if name in wanted or compact:
                    why = Why(file.path, found.line, f"{base} method {data['n']}.{name}, by convention")
                    fixed = dict.fromkeys((each.name for each in found.parameters), VARIES)
                    states = {each.name: INPUT for each in found.parameters if is_input(each)}
                    self._mark(method, f"{base}.{name}", (why,), STAGED, False, states, fixed)
        for pattern in program.options.traced:
            for id, (data, file) in program.function_data.items():
                if fnmatchcase(id, pattern):
                    why = Why(file.path, data["l"], f"{pattern}, named in the project's settings")
                    states = {each[0]: TRACER for each in data["p"] if each[0] not in ("self", "cls")}
                    self._mark(id, pattern, (why,), STAGED, False, states, dict.fromkeys(states, VARIES))

    # Spreading

    def _mark(
        self,
        id: str,
        transform: str,
        chain: tuple[Why, ...],
        stage: int,
        direct: bool,
        states: dict[str, int],
        fixed: dict[str, Any],
    ) -> None:
        program = self.program
        found = self.traced.get(id)
        changed = False
        if found is None:
            if id in program.host_functions or id not in program.function_data:
                return
            self.traced[id] = Traced(transform, chain, stage, direct)
            changed = True
        else:
            if stage > found.stage:
                found.stage, changed = stage, True
            if direct and not found.direct:
                changed = changed or is_conventional(found.chain)
                found.direct, found.chain, found.transform = True, chain, transform
            elif is_conventional(found.chain) and not is_conventional(chain):
                found.chain, found.transform, changed = chain, transform, True
        bits = self.bits.setdefault(id, {})
        for name, state in states.items():
            old = bits.get(name, 0)
            if old | state != old:
                bits[name] = old | state
                changed = True
        constants = self.fixed.setdefault(id, {})
        for name, constant in fixed.items():
            old = constants.get(name, constant)
            constants[name] = new = met(old, constant)
            changed = changed or new is not old
        if changed and id not in self.queued:
            self.queued.add(id)
            self.work.append(id)

    def _spread(self, id: str) -> None:
        """From a traced function to those in it and those it calls."""
        program = self.program
        traced = self.traced[id]
        bits = self.bits.get(id, {})
        traced.parameters = named(bits)
        function = program.function(id)
        if function is None:
            return
        chain = traced.chain
        for child in self.children.get(id, ()):
            data = program.function_data[child][0]
            if len(chain) < LONGEST_CHAIN and child not in program.host_functions:
                why = Why(function.path, data["l"], _shown(data["n"]))
                self._mark(child, traced.transform, (*chain, why), traced.stage, False, {}, {})
        program.forget()
        program.make_room()
        dead = self._dead(function)
        for at, frozen in enumerate(function.calls):
            if at not in dead:
                self._call(function, traced, frozen, chain)

    def _dead(self, function: FunctionSummary) -> set[int]:
        """The calls of a function that none of the traced calls of it comes to, as far as they are seen by now."""
        known = self.fixed.get(function.id, {})

        def lookup(value: Value) -> Any:
            found = known.get(value.data.name, VARIES) if value.data.function.id == function.id else VARIES
            return UNDECIDED if found is VARIES else found

        thaw = self.program.thaw
        return {
            at
            for at, conditions in function.data.get("q", ())
            if is_dead([(thaw(frozen, function), arm) for frozen, arm in conditions], lookup)
        }

    def _call(self, function: FunctionSummary, traced: Traced, frozen: Any, chain: tuple[Why, ...]) -> None:
        program = self.program
        callee = program.frozen_callee(frozen[0], function.id)
        name = callee.name
        if name is None:
            return
        if name == ".apply":
            callee, frozen = self._applied(callee, frozen)
        if name in HIGHER_ORDER and not callee.wraps:
            self._mapped(function, traced, frozen, program.thaw(frozen[0], function), chain)
            return
        if name in TRANSFORMS and not callee.wraps:
            call = program.thawed_call(frozen, function)
            transform = TRANSFORMS[name]
            if transform.stage < traced.stage and not transform.host:
                self._root(function, call, callee, transform)
            return
        if callee.cls is not None:
            init = program.member(callee.cls, "__init__")
            callee = program.callee(init).with_(bound=(UNKNOWN,)) if init is not None else callee
        target = callee.function
        if target is None or len(chain) >= LONGEST_CHAIN:
            return
        call = program.thawed_call(frozen, function, UNKNOWN)
        states: dict[str, int] = {}
        fixed: dict[str, Any] = {}
        if not any(TRANSFORMS[each.name].staged for each in callee.wraps if each.name in TRANSFORMS):
            given = program.matched(callee, call.args, call.keywords)
            starred = any(arg.op == "star" for arg in call.args) or None in call.keywords
            for parameter in target.parameters:
                value = given.get(parameter.name)
                hidden = starred or parameter.kind in ("star", "double_star")
                argument = value if value is not None or hidden else parameter.default
                fixed[parameter.name] = self._constant(argument, function.id)
                if value is not None:
                    state = bit(program.kind(value))
                    states[parameter.name] = INPUT if state == OPEN and program.is_input(value) else state
                elif hidden:
                    states[parameter.name] = OPEN
                elif parameter.default is not None:
                    states[parameter.name] = bit(program.kind(parameter.default))
        if callee.wraps:
            # The transform itself says which arguments are tracers.
            mapped = self.bits.get(target.id, {})
            states = {key: state for key, state in states.items() if not mapped.get(key, 0) & TRACER}
            fixed = {}
        why = Why(function.path, getattr(call.node, "lineno", 0), f"{_shown(target.name)}()")
        stages = [TRANSFORMS[each.name].stage for each in callee.wraps if each.name in TRANSFORMS]
        stage = max([traced.stage, *stages])
        self._mark(target.id, traced.transform, (*chain, why), stage, False, states, fixed)

    def _applied(self, callee: Callee, frozen: Any) -> tuple[Callee, Any]:
        """`model.apply(variables, x)` of a Flax module as the call of its `__call__` that it makes."""
        func, args, keywords, line = frozen
        called = self._module_call(callee)
        if called is None or not args or "method" in keywords:
            return callee, frozen
        given = {name: each for name, each in keywords.items() if name not in _OF_APPLY}
        return called, [func, args[1:], given, line]

    def _module_call(self, applied: Callee) -> Callee | None:
        """The `__call__` of the Flax module whose `apply` is called; None where it is that of something else."""
        program, model = self.program, applied.instance
        kind = program.type_of(model) if model is not None else None
        if kind is None or model is None or program.module_kind(kind) != "flax.linen.Module":
            return None
        called = program.member(kind, "__call__")
        return program.callee(called).with_(bound=(model,), instance=model) if called is not None else None

    def _constant(self, value: Value | None, caller: str) -> Any:
        """The constant that an argument is; a parameter of the caller that is handed on may be one."""
        if value is not None and value.op == "param" and value.data.function.id == caller:
            return self.fixed.get(caller, {}).get(value.data.name, VARIES)
        return scalar(self.program.constant(value, VARIES))

    def _mapped(
        self, function: FunctionSummary, traced: Traced, frozen: Any, func: Value, chain: tuple[Why, ...]
    ) -> None:
        """tree.map, map, reduce: the function gets elements of the other arguments."""
        call = self.program.thawed_call(frozen, function, func)
        if not call.args:
            return
        for inner in self._functions(call.args[0]):
            if inner.function is None or len(chain) >= LONGEST_CHAIN:
                continue
            others = [bit(self.program.kind(each)) for each in call.args[1:]]
            states: dict[str, int] = {}
            positional = [each for each in inner.function.parameters if each.kind == "positional"][len(inner.bound) :]
            name = dotted(func) or ""
            if name.startswith("jax.") and not name.endswith("with_path") and "Partial" not in name:
                states = {each.name: bit for each, bit in zip(positional, others, strict=False)}
            why = Why(function.path, getattr(call.node, "lineno", 0), f"{name}({_shown(inner.function.name)})")
            fixed = {each.name: VARIES for each in inner.function.parameters}
            self._mark(inner.function.id, traced.transform, (*chain, why), traced.stage, False, states, fixed)


def _may_be_function(value: Value) -> bool:
    return value.op in ("ref", "name", "call", "attr", "function") or (value.op == "phi")


def _shown(name: str) -> str:
    return "lambda" if name.startswith("<lambda") else name
