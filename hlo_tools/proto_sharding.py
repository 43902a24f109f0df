"""OpSharding spelt as HLO text prints it, where it places arrays.

Field numbers: xla/xla_data.proto. Placements on one device and on named axes are left out.
"""

from __future__ import annotations

from . import wire

_TUPLE, _OTHER = 2, 3
_WORDS = {0: "{replicated}", 4: "{manual}", 5: "{unknown}", 6: "{unreduced}"}
_LAST_KINDS = {0: "replicated", 4: "manual", 6: "unreduced"}


def sharding_text(data: bytes, start: int, end: int, nested: bool = False) -> str:
    """`{devices=[2,1,4]<=[8] last_tile_dim_replicate}`, `{replicated}`, `{manual}`; empty for other kinds."""
    kind = 0
    last_replicates = False
    lists: dict[int, list[int]] = {number: [] for number in (3, 4, 8, 9, 10)}
    parts: list[str] = []
    for entry in wire.fields(data, start, end):
        number = entry[0]
        if number == 5 and not nested:
            parts.append(sharding_text(data, *wire.span(entry), nested=True))
        elif number == 1:
            kind = wire.number(entry)
        elif number == 6:
            last_replicates = bool(wire.number(entry))
        elif number in lists:
            lists[number] += wire.integers(data, entry)
        elif number not in (2, 7):
            return ""
    tiles, listed, last, reshaped, transposed = lists.values()
    if kind == _TUPLE and parts and all(parts):
        return f"{{{', '.join(parts)}}}"
    if kind in _WORDS:
        return _WORDS[kind]
    if kind != _OTHER or not tiles or not set(last) <= _LAST_KINDS.keys():
        return ""
    if reshaped:
        devices = f"<=[{_joined(reshaped)}]"
        devices += f"T({_joined(transposed)})" if len(transposed) > 1 else ""
    else:
        devices = _joined(listed)
    more = " last_tile_dim_replicate" if last_replicates else ""
    more += f" last_tile_dims={{{', '.join(_LAST_KINDS[each] for each in last)}}}" if last else ""
    return f"{{devices=[{_joined(tiles)}]{devices}{more}}}"


def _joined(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))
