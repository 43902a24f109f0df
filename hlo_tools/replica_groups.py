"""Replica groups in every spelling, as tuples of device numbers.

    {{0,1},{2,3}}                                  a list
    [2,4]<=[8]     [4,2]<=[2,4]T(1,0)              iota: arange.reshape(dims).transpose(perm).reshape(groups, size)
    mesh['a'=2,'b'=4] {'b'}                        mesh axes; between them `device_ids=([4,2]T(1,0))` or `(0,2,1,3)`
    mesh['a'=8] {'a':(2)2}                         a sub-axis: pre-size 2, size 2
    {}  or nothing                                 one group of everything
    {{0,1},{1,2}}                                  source_target_pairs, read the same way

Sources: xla/hlo/ir/collective_device_list.h, mesh_and_axis.h; grammar as printed by jaxlib 0.4.9 to 0.12.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import prod

from ..contracts.errors import ContractLintError
from .text.attributes import integer

Groups = tuple[tuple[int, ...], ...]

# A group list names each device once; more than this is no machine that exists.
_MAX_DEVICES = 1 << 24

_GROUP = re.compile(r"\{([\d,\s]*)\}")
_LIST = re.compile(r"\{\s*(?:\{[\d,\s]*\}\s*,?\s*)*+\}|\{[\d,\s]*\}")
_IOTA = re.compile(r"\[([\d,\s]+)\]\s*<=\s*\[([\d,\s]+)\]\s*(?:T\(([\d,\s]+)\))?")
_MESH = re.compile(
    r"@?mesh\s*\[([^\]]*)\]\s*(?:,\s*device_ids=\((?P<ids>[^()]*(?:\([^()]*\))?[^()]*)\)\s*)?(?P<axes>\{.*\})?\s*",
    re.DOTALL,
)
_MAXIMAL = re.compile(r"@?maximal_mesh\[\s*device_id\s*=\s*(\d+)\s*\].*", re.DOTALL)
_AXIS = re.compile(r"[\"']([^\"']*)[\"']\s*=\s*(\d+)")
_AXIS_REF = re.compile(r"[\"']([^\"']*)[\"']\s*(?::\s*\((\d+)\)\s*(\d+))?")
_IDS_IOTA = re.compile(r"\[([\d,\s]+)\]\s*(?:T\(([\d,\s]+)\))?")
_SYNTHETIC = re.compile(r"axis_\d+")


@dataclass(frozen=True, slots=True)
class MeshGroups:
    """The mesh spelling: axes of the printed mesh with sizes, its devices in mesh order, the axes the groups span."""

    axes: tuple[tuple[str, int], ...]
    device_ids: tuple[int, ...]
    spans: tuple[tuple[str, int, int], ...]
    """(axis, pre-size, size); the whole axis is (axis, 1, size of the axis)."""

    @property
    def is_named(self) -> bool:
        """False for `axis_0`, `axis_1`: names the compiler made up."""
        return not all(_SYNTHETIC.fullmatch(name) for name, _ in self.axes)

    @property
    def is_ordered(self) -> bool:
        """True where device i stands at place i of the mesh."""
        return self.device_ids == tuple(range(len(self.device_ids)))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(integer(n) for n in text.split(",") if n.strip())


def _fits(sizes: Sequence[int], text: str) -> int:
    total = prod(sizes)
    if not 0 < total <= _MAX_DEVICES:
        raise ContractLintError(f"{total} devices in replica groups {text[:80]!r}")
    return total


def _transposed(dims: Sequence[int], order: Sequence[int] | None, text: str) -> list[int]:
    """arange(prod(dims)).reshape(dims).transpose(order).ravel()"""
    _fits(dims, text)
    order = list(order) if order else list(range(len(dims)))
    if sorted(order) != list(range(len(dims))):
        raise ContractLintError(
            f"T({','.join(map(str, order))}) is no permutation of {len(dims)} dimensions: {text[:80]!r}"
        )
    strides = [prod(dims[d + 1 :]) for d in range(len(dims))]
    ids = [0]
    for dimension in order:
        stride = strides[dimension]
        ids = [base + i * stride for base in ids for i in range(dims[dimension])]
    return ids


@lru_cache(maxsize=4096)
def parse_mesh_groups(text: str) -> MeshGroups | None:
    """The mesh spelling taken apart; None for the others."""
    match = _MESH.fullmatch(text.strip())
    if match is None:
        return None
    axes = tuple((name, integer(size)) for name, size in _AXIS.findall(match[1]))
    sizes = [size for _, size in axes]
    total = _fits(sizes, text)
    ids_text = match["ids"]
    if ids_text is None:
        ids = tuple(range(total))
    elif iota := _IDS_IOTA.fullmatch(ids_text.strip()):
        ids = tuple(_transposed(_numbers(iota[1]), _numbers(iota[2]) if iota[2] else None, text))
    else:
        ids = _numbers(ids_text)
    if len(ids) != total:
        raise ContractLintError(f"{len(ids)} device ids for a mesh of {total}: {text[:80]!r}")
    known = dict(axes)
    spans = []
    for name, pre, size in _AXIS_REF.findall(match["axes"] or ""):
        if name not in known:
            raise ContractLintError(f"axis {name!r} is not in the mesh: {text[:80]!r}")
        span = (name, integer(pre), integer(size)) if pre else (name, 1, known[name])
        if span[1] * span[2] <= 0 or known[name] % (span[1] * span[2]):
            raise ContractLintError(f"sub-axis ({span[1]}){span[2]} does not divide axis {name!r}: {text[:80]!r}")
        spans.append(span)
    return MeshGroups(axes, ids, tuple(spans))


def _mesh_to_groups(mesh: MeshGroups, text: str) -> Groups:
    """Each axis is cut where a sub-axis begins or ends; the spanned pieces, in the order given, run inside a group."""
    dims: list[int] = []
    piece_of: dict[tuple[str, int], int] = {}
    spans = {}
    for name, size in mesh.axes:
        cuts = sorted(
            {1, size} | {p for n, p, _ in mesh.spans if n == name} | {p * s for n, p, s in mesh.spans if n == name}
        )
        for low, high in pairwise(cuts):
            if high % low:
                raise ContractLintError(f"sub-axes of {name!r} overlap: {text[:80]!r}")
            piece_of[name, low] = len(dims)
            dims.append(high // low)
    inside: list[int] = []
    for name, pre, size in mesh.spans:
        low = pre
        while low < pre * size:
            piece = piece_of[name, low]
            if piece in spans:
                raise ContractLintError(f"axis {name!r} is spanned twice: {text[:80]!r}")
            spans[piece] = True
            inside.append(piece)
            low *= dims[piece]
    outside = [d for d in range(len(dims)) if d not in spans]
    order = _transposed(dims, outside + inside, text) if dims else [0]
    size = prod(dims[d] for d in inside)
    ids = [mesh.device_ids[i] for i in order]
    return tuple(tuple(ids[i : i + size]) for i in range(0, len(ids), size))


@lru_cache(maxsize=4096)
def parse_groups(text: str) -> Groups:
    """Any spelling as groups of device numbers; `()` stands for one group of everything.

    Raises ContractLintError for what is none of the spellings.
    """
    text = text.strip()
    if not text or text == "{}":
        return ()
    if _LIST.fullmatch(text):
        inner = text[1:-1].strip()
        if inner and not inner.startswith("{"):
            return (_numbers(inner),)
        return tuple(_numbers(group) for group in _GROUP.findall(inner))
    iota = _IOTA.fullmatch(text)
    if iota:
        shape, dims = _numbers(iota[1]), _numbers(iota[2])
        if prod(shape) != prod(dims):
            raise ContractLintError(f"{prod(shape)} places for {prod(dims)} devices: {text[:80]!r}")
        ids = _transposed(dims, _numbers(iota[3]) if iota[3] else None, text)
        size = prod(shape[1:])
        return tuple(tuple(ids[i : i + size]) for i in range(0, len(ids), size))
    maximal = _MAXIMAL.fullmatch(text)
    if maximal:
        return ((integer(maximal[1]),),)
    mesh = parse_mesh_groups(text)
    if mesh is None:
        raise ContractLintError(f"not replica groups: {text[:80]!r}")
    return _mesh_to_groups(mesh, text)


def canonical_groups(groups: Iterable[Iterable[int]]) -> frozenset[frozenset[int]]:
    """Groups without any order, for comparison."""
    return frozenset(frozenset(group) for group in groups)


def united(groups: Iterable[Iterable[int]]) -> Groups:
    """Groups that share a device as one, members in order: of a permute's pairs, the rings and chains they form."""
    leader: dict[int, int] = {}

    def find(device: int) -> int:
        while leader.setdefault(device, device) != device:
            leader[device] = leader[leader[device]]
            device = leader[device]
        return device

    for group in groups:
        devices = list(group)
        for device in devices:
            leader[find(device)] = find(devices[0])
    members: dict[int, list[int]] = {}
    for device in sorted(leader):
        members.setdefault(find(device), []).append(device)
    return tuple(tuple(group) for group in members.values())
