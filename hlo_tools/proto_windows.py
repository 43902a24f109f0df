"""Windows and dimension numbers of convolutions, spelt as HLO text prints them.

Field numbers: WindowDimension, ConvolutionDimensionNumbers and RaggedDotDimensionNumbers of xla/xla_data.proto.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from . import wire


def window(data: bytes, field: wire.Field) -> dict[str, str]:
    """`{size=1x2 stride=1x2 pad=0_0x1_1 lhs_dilate=1x2 rhs_dilate=1x1 rhs_reversal=0x1}`, defaults left out."""
    sides = []
    for entry in wire.fields(data, *wire.span(field)):
        if entry[0] == 1:
            sides.append({f[0]: wire.signed(f[2]) for f in wire.fields(data, *wire.span(entry)) if f[1] == wire.VARINT})
    if not sides:
        return {}
    parts = [f"size={_each(sides, 1, 0)}"]
    parts += [f"stride={_each(sides, 2, 1)}"] if any(side.get(2, 1) != 1 for side in sides) else []
    if any(side.get(3) or side.get(4) for side in sides):
        parts.append("pad=" + "x".join(f"{side.get(3, 0)}_{side.get(4, 0)}" for side in sides))
    parts += [f"lhs_dilate={_each(sides, 6, 1)}"] if any(side.get(6, 1) != 1 for side in sides) else []
    parts += [f"rhs_dilate={_each(sides, 5, 1)}"] if any(side.get(5, 1) != 1 for side in sides) else []
    parts += [f"rhs_reversal={_each(sides, 7, 0)}"] if any(side.get(7) for side in sides) else []
    return {"window": "{" + " ".join(parts) + "}"}


def dim_labels(data: bytes, field: wire.Field) -> dict[str, str]:
    """`b01f_01io->b01f`: what each dimension of input, kernel and result is."""
    single: dict[int, int] = {}
    spatial: dict[int, list[int]] = {6: [], 11: [], 12: []}
    for entry in wire.fields(data, *wire.span(field)):
        if entry[0] in spatial:
            spatial[entry[0]] += wire.integers(data, entry)
        elif entry[1] == wire.VARINT:
            single[entry[0]] = wire.number(entry)
    inputs = _labels({"b": single.get(7, 0), "f": single.get(8, 0)}, spatial[11])
    kernel = _labels({"i": single.get(3, 0), "o": single.get(4, 0)}, spatial[6])
    result = _labels({"b": single.get(9, 0), "f": single.get(10, 0)}, spatial[12])
    return {"dim_labels": f"{inputs}_{kernel}->{result}"}


def count(key: str) -> Callable[[bytes, wire.Field], dict[str, str]]:
    """A printer of `feature_group_count=2`; one group is not printed."""
    return lambda data, field: {key: str(number)} if (number := wire.number(field)) > 1 else {}


def ragged(data: bytes, field: wire.Field) -> dict[str, str]:
    """The dimensions of a ragged dot: those of the dot inside, the ragged and the group dimensions."""
    names = {1: "lhs_contracting_dims", 2: "rhs_contracting_dims", 3: "lhs_batch_dims", 4: "rhs_batch_dims"}
    found: dict[str, list[int]] = {}
    for entry in wire.fields(data, *wire.span(field)):
        if entry[0] == 1:
            for part in wire.fields(data, *wire.span(entry)):
                if part[0] in names:
                    found.setdefault(names[part[0]], []).extend(wire.integers(data, part))
        elif entry[0] in (2, 3):
            key = "lhs_ragged_dims" if entry[0] == 2 else "rhs_group_dims"
            found.setdefault(key, []).extend(wire.integers(data, entry))
    return {key: "{" + ",".join(map(str, values)) + "}" for key, values in found.items()}


def _each(sides: Sequence[Mapping[int, int]], number: int, default: int) -> str:
    return "x".join(str(side.get(number, default)) for side in sides)


def _labels(named: Mapping[str, int], spatial: Sequence[int]) -> str:
    places = {**{place: label for label, place in named.items()}, **{p: str(i) for i, p in enumerate(spatial)}}
    return "".join(places[place] for place in sorted(places))
