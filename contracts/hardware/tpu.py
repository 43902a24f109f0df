"""Cloud TPUs, as Google publishes them.

Bandwidth between chips is printed as bytes a second in both directions over all ports of a chip: one way of one link is
that over twice the number of ports (4 in a 2D torus, 6 in a 3D one). The network between slices is printed per chip, or
per pod.
"""

from __future__ import annotations

from .figure import GB, GIB, TERA, DeviceKind, Figure, Peak

_DOCS = "https://cloud.google.com/tpu/docs/"
_V2_V3 = "https://doi.org/10.1145/3360307"
"""Jouppi et al., A Domain-Specific Supercomputer for Training Deep Neural Networks: the page on v2 refers to it."""
_V4 = "https://arxiv.org/abs/2304.01433"


_REFUSAL = "out-of-memory message of libtpu 0.0.42.1"


def _given(gib: float) -> Figure:
    """What libtpu gives a program, as it says where it refuses one: `exceeds available HBM (15.75G)`."""
    return Figure(gib * GIB, _REFUSAL, "rounded as printed there; libtpu keeps the rest for itself")


def _bf16(tera: float, page: str) -> Peak:
    return Peak("bf16", Figure(tera * TERA, f"{_DOCS}{page}"))


def _ports(both_ways: float, ports: int, page: str) -> Figure:
    """One way of one link, from the gigabytes a second of all ports in both directions."""
    note = f"{both_ways:g} GB/s in both directions over {ports} ports"
    return Figure(both_ways * GB / ports / 2, f"{_DOCS}{page}", note)


def _network(gigabits: float, page: str, note: str = "") -> Figure:
    return Figure(gigabits * GB / 8, f"{_DOCS}{page}", note or f"{gigabits:g} Gbit/s per chip")


TPUS: tuple[DeviceKind, ...] = (
    DeviceKind(
        "tpu",
        "v2",
        8 * GIB,
        _V2_V3,
        given=_given(7.48),
        devices_per_chip=2,
        peaks=(Peak("bf16", Figure(46 * TERA, _V2_V3)),),
        hbm_rate=Figure(700 * GB, _V2_V3),
        link=Figure(62 * GB, _V2_V3, "496 Gbit/s per link"),
        ring=16,
    ),
    DeviceKind(
        "tpu",
        "v3",
        16 * GIB,
        f"{_DOCS}v3",
        given=_given(15.48),
        devices_per_chip=2,
        peaks=(_bf16(123, "v3"),),
        hbm_rate=Figure(900 * GB, f"{_DOCS}v3"),
        link=Figure(82 * GB, _V2_V3, "656 Gbit/s per link"),
        ring=32,
    ),
    DeviceKind(
        "tpu",
        "v4",
        32 * GIB,
        f"{_DOCS}v4",
        given=_given(30.75),
        peaks=(_bf16(275, "v4"), Peak("int8", Figure(275 * TERA, f"{_DOCS}v4"))),
        hbm_rate=Figure(1200 * GB, f"{_DOCS}v4"),
        link=Figure(50 * GB, _V4, "6 links of 50 GB/s"),
        ring=4,
    ),
    DeviceKind(
        "tpu",
        "v5e",
        16 * GIB,
        f"{_DOCS}v5e",
        given=_given(15.75),
        peaks=(_bf16(197, "v5e"), Peak("int8", Figure(393 * TERA, f"{_DOCS}v5e"))),
        hbm_rate=Figure(819 * GB, f"{_DOCS}v5e"),
        link=_ports(400, 4, "v5e"),
        network=_network(25, "v5e", "6.4 Tbit/s per pod of 256 chips"),
        ring=16,
    ),
    DeviceKind(
        "tpu",
        "v5p",
        95 * GIB,
        f"{_DOCS}v5p",
        given=_given(95.74),
        peaks=(_bf16(459, "v5p"), Peak("fp8", Figure(459 * TERA, f"{_DOCS}v5p"))),
        hbm_rate=Figure(2765 * GB, f"{_DOCS}v5p"),
        link=_ports(1200, 6, "v5p"),
        network=_network(50, "v5p"),
        ring=4,
    ),
    DeviceKind(
        "tpu",
        "v6e",
        32 * GIB,
        f"{_DOCS}v6e",
        given=_given(31.25),
        peaks=(
            _bf16(918, "v6e"),
            Peak("fp8", Figure(918 * TERA, f"{_DOCS}tpu7x")),
            Peak("int8", Figure(1836 * TERA, f"{_DOCS}v6e")),
        ),
        hbm_rate=Figure(1638 * GB, f"{_DOCS}v6e"),
        link=_ports(800, 4, "v6e"),
        network=_network(100, "v6e", "25.6 Tbit/s per pod of 256 chips"),
        ring=16,
    ),
    DeviceKind(
        "tpu",
        "7x",
        96 * GIB,
        f"{_DOCS}tpu7x",
        given=_given(94.75),
        devices_per_chip=2,
        peaks=(_bf16(2307, "tpu7x"), Peak("fp8", Figure(4614 * TERA, f"{_DOCS}tpu7x"))),
        hbm_rate=Figure(7380 * GB, f"{_DOCS}tpu7x"),
        link=_ports(1200, 6, "tpu7x"),
        network=_network(100, "tpu7x"),
        ring=4,
    ),
)
