"""Arguments of calls in brief: what another file must know of a value to say whether it is a tracer, and no more.

A sketch is frozen as `frozen` says, with `["=", kind]` for what an operation of a library gives: `array` (a tracer
where operations are staged), `static`, `host`, `key`. Functions, parameters and constants stay what they are.
"""

from __future__ import annotations

from .apis import CONSTANTS, STATIC_ATTRIBUTES, is_library, result_of
from .frozen import Freezer, Frozen
from .records import Call
from .transforms import TRANSFORMS
from .values.value import Value, dotted

DEEPEST = 4
LARGEST = 12
FUNCTION = 16
_PLAIN = frozenset({"array", "static", "host", "key"})
_ARRAY: Frozen = ["=", "array"]
_STATIC: Frozen = ["=", "static"]
_MAKERS = frozenset({"functools.partial", "jax.tree_util.Partial"})


class Sketcher:
    """Sketches the values of one function after another; each value once."""

    def __init__(self, freezer: Freezer) -> None:
        self.freezer = freezer
        self.known: dict[int, Frozen] = {}
        self.held: list[Value] = []
        self.home = ""

    def sketch(self, value: Value, depth: int = 0) -> Frozen:
        op = value.op
        if op == "const":
            data = value.data
            short = data is None or type(data) in (bool, int, float) or (type(data) is str and len(data) < 40)
            return self.freezer.freeze(value, 1) if short else _STATIC
        if op == "name":
            return _STATIC if value.data in CONSTANTS else ["n", value.data]
        if op in ("function", "class", "param"):
            return self.freezer.freeze(value, 1)
        if self.home is not self.freezer.home:
            # Parameters are written as seen from the function at hand.
            self.home = self.freezer.home
            self.known.clear()
            self.held.clear()
        if depth > DEEPEST:
            return 0
        key = id(value)
        if key in self.known:
            return self.known[key]
        self.known[key] = 0
        found = self._compound(value, op, depth)
        if _size(found) > LARGEST:
            found = 0
        self.known[key] = found
        self.held.append(value)  # ids stay taken
        return found

    def _compound(self, value: Value, op: str, depth: int) -> Frozen:
        if op == "call":
            return self._call(value, depth)
        if op == "attr":
            if value.data in STATIC_ATTRIBUTES:
                return _STATIC
            base = self.sketch(value.args[0], depth + 1)
            return [".", base, value.data] if base and base[0] != "=" else base if base == _STATIC else 0
        if op in ("item", "element", "star"):
            base = self.sketch(value.args[0], depth + 1)
            if not base or base[0] == "=":
                return base
            if op == "item":
                index = value.args[1]
                return ["i", base, self.freezer.freeze(index, 1) if index.op == "const" else 0]
            return ["e", base] if op == "element" else ["o", op, None, [base]]
        if op in ("bin", "compare", "unary", "bool"):
            return self._operation(value, op, depth)
        if op in ("phi", "loop"):
            found: list[Frozen] = []
            for each in value.args[:4]:
                sketched = self.sketch(each, depth + 1)
                if sketched not in found:
                    found.append(sketched)
            return ["|", found] if len(found) > 1 else found[0]
        if op in ("tuple", "list"):
            if len(value.args) > 8:
                return 0
            return ["o", op, None, [self.sketch(each, depth + 1) for each in value.args]]
        return _STATIC if op == "format" else 0

    def _operation(self, value: Value, op: str, depth: int) -> Frozen:
        if op == "compare" and value.data[0] in ("Is", "IsNot", "In", "NotIn"):
            return _STATIC
        if op == "unary" and value.data == "Not":
            return _STATIC
        parts = [self.sketch(each, depth + 1) for each in value.args]
        if _ARRAY in parts and op != "bool":
            return _ARRAY
        if all(part == _STATIC or (part and part[0] == "c") for part in parts):
            return _STATIC
        kept = [part for at, part in enumerate(parts) if part != _STATIC and part not in parts[:at]]
        if len(kept) == 1 and op == "bin":
            kept.append(["c", 1])
        return ["o", op, value.data, kept if op == "bin" else parts] if all(kept) else 0

    def _call(self, value: Value, depth: int) -> Frozen:
        call: Call = value.data
        name = dotted(call.func)
        if name is not None:
            if name in TRANSFORMS or name in _MAKERS:
                return self.freezer.freeze(value, FUNCTION)
            result = result_of(name)
            if result in _PLAIN:
                return ["=", result]
            if result is None and is_library(name):
                return 0
        elif call.func.op not in ("function", "attr", "call", "class"):
            return 0
        if call.decorates is not None or (name is None and call.func.op == "call"):
            return self.freezer.freeze(value, FUNCTION)
        func = self.sketch(call.func, depth + 1)
        if not func or func[0] == "=":
            return 0
        keywords = {each or "**": self.sketch(given, depth + 1) for each, given in call.keywords.items()}
        return ["x", func, [self.sketch(each, depth + 1) for each in call.args], keywords, 0]


def _size(frozen: Frozen) -> int:
    """The number of nodes, as far as it matters."""
    if not isinstance(frozen, (list, dict)):
        return 0
    count = 0 if isinstance(frozen, list) and frozen and isinstance(frozen[0], list) else 1
    for each in frozen if isinstance(frozen, list) else frozen.values():
        count += _size(each)
    return count
