"""What each wire carries in one step: collectives split over the links inside a slice or host and the network between.

A group of n devices lies in c cores of each chip, m chips of each part (slice or host) and s parts, n = c m s. Moving
data from part to part only once, all-gather and reduce-scatter of an array S send, for each device,

    between parts  S (s - 1) / n,   between chips of a part  S (m - 1) / (c m),   inside a chip  S (c - 1) / c

and an all-reduce twice that; the sum is the S (n - 1) / n of a ring (hierarchical collectives; Thakur et al. 2005).
All-to-all sends S / n to each of the others wherever they are; a permutation and a broadcast send S.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

from ...contracts.manifest import MeshFact
from ...contracts.target_name import TargetName
from ..collectives import Collective, CollectiveLedger
from ..mesh_axes import Axes
from ..participants import PAIRED
from ..replica_groups import Groups
from ..transfers import Transfer
from .fabric import Span, crossing, span

_SPREAD = ("all-to-all", "ragged-all-to-all")
NAMES: dict[str, tuple[str, str]] = {"tpu": ("ICI", "DCN"), "cuda": ("NVLink", "network")}
"""What the wires inside a slice or host and those between are called, by platform."""


@dataclass(slots=True)
class Load:
    """Bytes one device sends in one step over one set of mesh axes, inside its part and between parts.

    `seconds` on the links is that of each collective on its own links, added; None where no rate is published.
    """

    axes: Axes
    link_bytes: Fraction = field(default_factory=Fraction)
    network_bytes: Fraction = field(default_factory=Fraction)
    link_seconds: float | None = 0.0
    network_seconds: float | None = 0.0


@dataclass(slots=True)
class Wires:
    """The loads by mesh axes, and the time that all of them need together on shared links."""

    loads: list[Load] = field(default_factory=list)
    together_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class _Share:
    link: Fraction
    network: Fraction
    lanes: tuple[tuple[str, int], ...]


def wires(ledger: CollectiveLedger, target: TargetName) -> Wires:
    """The loads of every collective of a module on the wires of `target`."""
    kind = target.kind
    link = kind.share(kind.link) if kind.link else None
    network = kind.share(kind.network) if kind.network else None
    loads: dict[Axes, Load] = {}
    demands: dict[tuple[tuple[str, int], ...], Fraction] = {}
    shares: dict[tuple[str, tuple[tuple[int, ...], ...]], _Share] = {}
    for row in ledger.dearest_path():
        key = (row.kind, row.groups)
        share = shares.get(key)
        if share is None:
            share = shares[key] = _share(row, _ids(ledger, row), target)
        sent = Fraction(row.ring_bytes) if row.ring_exact is None else row.ring_exact
        load = loads.setdefault(row.axes, Load(row.axes))
        inside, between = sent * share.link, sent * share.network
        load.link_bytes += inside
        load.network_bytes += between
        demands[share.lanes] = demands.get(share.lanes, Fraction()) + inside
        load.link_seconds = _plus(load.link_seconds, inside, link, sum(links for _, links in share.lanes))
        load.network_seconds = _plus(load.network_seconds, between, network, 1)
    found = [load for load in loads.values() if load.link_bytes or load.network_bytes]
    return Wires(found, None if link is None else _together(demands, link))


@dataclass(frozen=True, slots=True)
class Sending:
    """One execution of a collective: the least time it takes, the wires it holds meanwhile, and their name."""

    seconds: float
    wires: tuple[str, ...]
    name: str


def sendings(ledger: CollectiveLedger, target: TargetName) -> Iterator[tuple[Collective, Sending]]:
    """Every row with one execution of it on the wires of `target`: on links and network at once, the slower counts."""
    kind = target.kind
    link = kind.share(kind.link) if kind.link else None
    network = kind.share(kind.network) if kind.network else None
    link_name, network_name = NAMES[target.platform]
    shares: dict[tuple[str, Groups], _Share] = {}
    for row in ledger.rows:
        key = (row.kind, row.groups)
        if key not in shares:
            shares[key] = _share(row, _ids(ledger, row), target)
        share = shares[key]
        sent = Transfer(row.kind, row.parts, size=row.group_size).ring_bytes
        links = sum(number for _, number in share.lanes)
        inside = float(sent * share.link) / (link * links) if link and links else 0.0
        between = float(sent * share.network) / network if network else 0.0
        held = tuple(f"{link_name} {lane}" for lane, _ in share.lanes) if inside else ()
        name = network_name if between > inside else f"{link_name} over {axes_text(row.axes)}"
        yield row, Sending(max(inside, between), (*held, network_name) if between else held, name)


def axes_text(axes: Axes) -> str:
    """`data,fsdp`; `?` where the program's axes are unknown."""
    if axes is None:
        return "?"
    return axes if isinstance(axes, str) else ",".join(axes) or "-"


def between_parts(ledger: CollectiveLedger, target: TargetName) -> list[tuple[Collective, Fraction]]:
    """Every row that counts with the bytes one device sends in it between slices or hosts, per step."""
    shares: dict[tuple[str, tuple[tuple[int, ...], ...]], _Share] = {}
    found = []
    for row in ledger.dearest_path():
        key = (row.kind, row.groups)
        if key not in shares:
            shares[key] = _share(row, _ids(ledger, row), target)
        sent = Fraction(row.ring_bytes) if row.ring_exact is None else row.ring_exact
        found.append((row, sent * shares[key].network))
    return found


def _plus(seconds: float | None, amount: Fraction, rate: float | None, links: int) -> float | None:
    if not amount:
        return seconds
    return None if seconds is None or rate is None or not links else seconds + float(amount) / (rate * links)


def _ids(ledger: CollectiveLedger, row: Collective) -> list[tuple[int, ...]]:
    """The groups as jax device ids: partition i of the program is the i-th device of the mesh."""
    mesh: MeshFact | None = ledger.mesh
    ids = mesh.device_ids if mesh is not None and len(mesh.device_ids) == ledger.devices else None
    groups = row.groups or (tuple(range(ledger.devices)),)
    if ids is None:
        return list(groups)
    return [tuple(ids[member] if 0 <= member < len(ids) else member for member in group) for group in groups]


def _share(row: Collective, groups: Sequence[tuple[int, ...]], target: TargetName) -> _Share:
    """Which part of a row's ring bytes goes over links and which over the network, for the device that sends most."""
    if row.kind in PAIRED:
        pairs = [group for group in groups if len(group) == 2 and group[0] != group[1]]
        network, lanes = crossing(target, pairs)
        return _Share(Fraction(bool(lanes)), Fraction(network), tuple(sorted(lanes.items())))
    spans = {span(target, group) for group in groups if len(group) > 1}
    shares = [_group_share(row.kind, lying) for lying in spans]
    if not shares:
        return _Share(Fraction(), Fraction(), ())
    return _Share(
        max(share.link for share in shares),
        max(share.network for share in shares),
        max((share.lanes for share in shares), key=lambda lanes: sum(links for _, links in lanes)),
    )


def _group_share(kind: str, lying: Span) -> _Share:
    """The parts of S (n - 1) / n; a multiple of it (all-reduce) has the same parts."""
    chip = lying.cores
    part = chip * lying.chips
    n = part * lying.parts
    if kind == "collective-broadcast":
        return _Share(Fraction(lying.chips > 1), Fraction(lying.parts > 1), lying.lanes)
    if kind in _SPREAD:
        return _Share((part - chip) / (n - 1), (n - part) / (n - 1), lying.lanes)
    whole = n / (n - 1)
    return _Share(whole * (lying.chips - 1) / part, whole * (lying.parts - 1) / n, lying.lanes)


def _together(demands: dict[tuple[tuple[str, int], ...], Fraction], link: float) -> float:
    """The least time in which links shared by several collectives can carry all of them.

    For every set of dimensions: what has to travel inside it, over the links it has. Their maximum is the least
    makespan of divisible loads (Hall's condition).
    """
    widest: dict[str, int] = {}
    for lanes in demands:
        for name, links in lanes:
            widest[name] = max(widest.get(name, 0), links)
    best = 0.0
    for size in range(1, len(widest) + 1):
        for chosen in combinations(sorted(widest), size):
            inside = sum((v for lanes, v in demands.items() if {n for n, _ in lanes} <= set(chosen)), Fraction())
            best = max(best, float(inside) / (link * sum(widest[name] for name in chosen)))
    return best
