"""How an array is split, and which devices hold the same part of it, out of a placement as XLA prints it.

{replicated}                                            all hold all of it
{devices=[2,1,4]<=[4,2]T(1,0)}                          each another part
{devices=[2,1,4]<=[8] last_tile_dim_replicate}          four hold each part
{devices=[2,2]0,1,2,3}                                  devices listed one by one
{mesh['a'=2,'b'=4], [{'a'}, {}]}                        those that differ in `b` alone hold the same part
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod

from ..contracts.errors import ContractLintError
from .replica_groups import Groups, parse_groups, parse_mesh_groups

_TILES = re.compile(
    r"\{devices=\[([\d,]{1,400})\](<=\[[\d,]{1,400}\](?:T\([\d,]{1,400}\))?|[\d,]+)([^{}]*)(?:\{([^}]*)\})?"
)
_MESH = re.compile(r"\{(mesh\[[^\]]*\]),\s*\[((?:\{[^{}]*\}|[\s,])*)\]\s*(?:,\s*replicated=\{[^{}]*\}\s*)?\}")
_DIMENSION = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"['\"]([^'\"]*)['\"]")


@lru_cache(maxsize=4096)
def same_part(placement: str, devices: int) -> Groups | None:
    """Groups of devices that hold the same part; None for a placement that says it of none, or not here."""
    placement = placement.strip()
    try:
        if placement.startswith("{replicated"):
            return (tuple(range(devices)),)
        if (tiled := _TILES.match(placement)) is not None:
            return _of_tiles(tiled)
        if (named := _MESH.match(placement)) is not None:
            return _of_mesh(named[1], named[2])
    except ContractLintError:
        return None
    return None


@lru_cache(maxsize=4096)
def tiles(placement: str, rank: int) -> tuple[int, ...] | None:
    """Into how many parts each dimension is split; None for a placement that does not say it of `rank` dimensions."""
    placement = placement.strip()
    if placement.startswith("{replicated"):
        return (1,) * rank
    if (tiled := _TILES.match(placement)) is not None:
        sizes = tuple(int(size) for size in tiled[1].split(",") if size)
        return sizes[:rank] if len(sizes) >= rank else None
    if (named := _MESH.match(placement)) is not None and "(" not in named[2]:
        try:
            known = parse_mesh_groups(named[1])
        except ContractLintError:
            return None
        split = [_NAME.findall(part) for part in _DIMENSION.findall(named[2])]
        if known is None or len(split) != rank:
            return None
        sizes_of = dict(known.axes)
        return tuple(prod(sizes_of.get(name, 1) for name in names) for names in split)
    return None


def _of_tiles(tiled: re.Match[str]) -> Groups | None:
    sizes = [int(size) for size in tiled[1].split(",") if size]
    more = tiled[3]
    extra = 0
    if "last_tile_dims" in more:
        kinds = [kind.strip() for kind in (tiled[4] or "").split(",")]
        if set(kinds) != {"replicated"}:
            return None
        extra = len(kinds)
    elif "last_tile_dim_replicate" in more:
        extra = 1
    alike = prod(sizes[len(sizes) - extra :])
    parts = prod(sizes[: len(sizes) - extra])
    if tiled[2].startswith("<="):
        return parse_groups(f"[{parts},{alike}]{tiled[2]}")
    listed = [int(device) for device in tiled[2].split(",") if device]
    if len(listed) != parts * alike:
        return None
    return tuple(tuple(listed[at : at + alike]) for at in range(0, len(listed), alike))


def _of_mesh(mesh: str, dimensions: str) -> Groups | None:
    if "(" in dimensions:
        return None  # a part of an axis
    known = parse_mesh_groups(mesh)
    if known is None:
        return None
    used = set(_NAME.findall(dimensions))
    left = [f"'{name}'" for name, _ in known.axes if name not in used]
    if not left:
        return tuple((device,) for device in known.device_ids)
    return parse_groups(f"{mesh} {{{','.join(left)}}}")
