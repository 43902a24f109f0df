"""What was removed or renamed in JAX, Flax and Optax, and what a project's requirements say about it.

`NOTED` holds the names whose every mention the interpreter records.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from .pattern import Pattern
from .removed_names import GONE, MODULES, RENAMED

if TYPE_CHECKING:
    from .facts import FileFacts


class Removal(NamedTuple):
    """One name: `removed` is the first version without it ("" while it is deprecated only), `new` what replaces it.

    `since` is the first version with `new`; `same` says that it means the same, so that a rewrite changes nothing.
    """

    name: str
    deprecated: str
    removed: str
    new: str = ""
    since: str = ""
    same: bool = False
    is_module: bool = False

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]


class Keyword(NamedTuple):
    """An argument of a function that was removed or renamed; `new` is the name it has now."""

    function: str
    name: str
    removed: str
    new: str = ""
    since: str = ""
    same: bool = False
    advice: str = ""

    @property
    def package(self) -> str:
        return self.function.partition(".")[0]


REMOVALS: dict[str, Removal] = {
    **{row[0]: Removal(*row) for row in RENAMED},
    **{row[0]: Removal(*row, is_module=True) for row in MODULES},
    **{
        f"{module}.{name}": Removal(f"{module}.{name}", "", gone)
        for module, gone, names in GONE
        for name in names.split()
    },
}
KEYWORDS: dict[tuple[str, str], Keyword] = {
    (each.function, each.name): each
    for each in (
        Keyword("jax.shard_map", "check_rep", "0.6.1", "check_vma", "0.6.1", True),
        Keyword("jax.shard_map", "auto", "0.6.1", advice="name the manual axes in axis_names="),
        Keyword("jax.experimental.shard_map.shard_map", "check_rep", "", "check_vma of jax.shard_map", "0.6.1"),
        Keyword("jax.experimental.shard_map.shard_map", "auto", "0.8.0", advice="name the manual axes in axis_names="),
        Keyword("jax.numpy.clip", "a_min", "0.10.0", "min", "0.4.27", True),
        Keyword("jax.numpy.clip", "a_max", "0.10.0", "max", "0.4.27", True),
        Keyword("jax.numpy.quantile", "interpolation", "0.8.0", "method", same=True),
        Keyword("jax.numpy.percentile", "interpolation", "0.8.0", "method", same=True),
        Keyword("jax.numpy.nanquantile", "interpolation", "0.8.0", "method", same=True),
        Keyword("jax.numpy.nanpercentile", "interpolation", "0.8.0", "method", same=True),
        Keyword("jax.experimental.pjit.pjit", "in_axis_resources", "0.4.16", "in_shardings", same=True),
        Keyword("jax.experimental.pjit.pjit", "out_axis_resources", "0.4.16", "out_shardings", same=True),
        Keyword("jax.checkpoint", "concrete", "0.10.0", advice="name what is static in static_argnums="),
        Keyword("jax.remat", "concrete", "0.10.0", advice="name what is static in static_argnums="),
        Keyword("jax.jit", "abstracted_axes", "0.10.0", advice="no release of JAX supports it any more"),
    )
}
NOTED: frozenset[str] = frozenset(REMOVALS)

_CLAUSE = Pattern(r"\s*(===|==|~=|!=|<=|>=|<|>)\s*v?(\d+(?:\.\d+)*)(\.\*)?[^,]*")


def numbers(version: str) -> tuple[int, ...]:
    """The release numbers of a version, zeros at the end left out: `0.4.0` gives (0, 4)."""
    found = tuple(int(part) for part in re.findall(r"\d+", version))
    while found and found[-1] == 0:
        found = found[:-1]
    return found


@dataclass(frozen=True, slots=True)
class Allowed:
    """The versions of a package that a project declares: from `lowest` on, to `bound`, which counts if `inclusive`."""

    lowest: tuple[int, ...] = ()
    bound: tuple[int, ...] | None = None
    inclusive: bool = False

    def reaches(self, version: str) -> bool:
        """Whether this version or a later one may be installed."""
        wanted = numbers(version)
        return self.bound is None or wanted < self.bound or (self.inclusive and wanted == self.bound)

    def always(self, version: str) -> bool:
        """Whether every version that may be installed is this one or later."""
        return self.lowest >= numbers(version)


def allowed(specifier: str) -> Allowed:
    """What a PEP 440 specifier allows; what is not understood allows everything."""
    lowest: tuple[int, ...] = ()
    bound: tuple[int, ...] | None = None
    inclusive = False
    for clause in specifier.split(","):
        match = _CLAUSE.fullmatch(clause)
        if match is None:
            continue
        operator, version = match[1], match[2]
        number = numbers(version)
        upper: tuple[tuple[int, ...], bool] | None = None
        if operator in (">=", ">"):
            lowest = max(lowest, number)
        elif operator == "~=" or match[3]:
            parts = [int(part) for part in version.split(".")]
            parts = parts if match[3] else parts[:-1]
            if operator in ("~=", "==", "===") and parts:
                lowest = max(lowest, number)
                upper = (*parts[:-1], parts[-1] + 1), False
        elif operator in ("==", "==="):
            lowest, upper = max(lowest, number), (number, True)
        elif operator in ("<", "<="):
            upper = number, operator == "<="
        if upper is not None and (bound is None or upper[0] < bound or (upper[0] == bound and not upper[1])):
            bound, inclusive = upper
    return Allowed(lowest, bound, inclusive)


@lru_cache(256)
def declared(requirements: tuple[tuple[str, str], ...], package: str) -> Allowed:
    """The versions of a package that requirements allow; jaxlib's stand for jax's where only those are given."""
    known = dict(requirements)
    if package == "jax" and "jax" not in known:
        return allowed(known.get("jaxlib", ""))
    return allowed(known.get(package, ""))


def versions_of(facts: FileFacts, package: str) -> Allowed:
    """The versions of a package that the project declares."""
    return declared(facts.program.options.requirements, package)


def own(facts: FileFacts, package: str) -> bool:
    """Whether the linted project is that package."""
    return facts.program.module(package) is not None


def title(package: str) -> str:
    return {"jax": "JAX", "flax": "Flax", "optax": "Optax"}.get(package, package)
