"""What a value is as a Python constant, where the code says it: in this file or another."""

from __future__ import annotations

from typing import Any

from .names import Names
from .values.value import Value, dotted


class Constants(Names):
    """The part of `Program` about literals and names that are bound to one."""

    def constant(self, value: Value | None, missing: Any) -> Any:
        """The Python value of a literal, of a tuple or list of literals, or of a name bound to one."""
        if value is None:
            return missing
        if value.op == "const":
            return value.data
        if value.op in ("tuple", "list"):
            parts = [self.constant(each, missing) for each in value.args]
            return missing if any(part is missing for part in parts) else tuple(parts)
        if value.op == "name":
            target = self.resolve(value.data)
            return self.constant(target, missing) if target is not None and target.op != "name" else missing
        if value.op == "call" and dotted(value.data.func) in ("builtins.tuple", "builtins.list"):
            call = value.data
            return self.constant(call.args[0], missing) if len(call.args) == 1 and not call.keywords else missing
        if value.op == "phi":
            parts = [self.constant(each, missing) for each in value.args]
            if all(part is not missing and type(part) is type(parts[0]) and part == parts[0] for part in parts):
                return parts[0]
        return missing

    def strings(self, value: Value | None) -> frozenset[str] | None:
        """Every string that a value can be or hold."""
        if value is not None and value.op == "phi":
            parts = [self.strings(each) for each in value.args]
            return None if any(part is None for part in parts) else frozenset().union(*(part or () for part in parts))
        missing = object()
        found = self.constant(value, missing)
        if isinstance(found, str):
            return frozenset({found})
        if isinstance(found, tuple) and all(isinstance(each, str) for each in found):
            return frozenset(found)
        return None
