import numpy as np
import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.hlo_tools.mesh_axes import axes_of, axes_of_pairs, likely_sizes
from contract_lint.hlo_tools.replica_groups import Groups
from hypothesis import given
from hypothesis import strategies as st

MESH = MeshFact(axes={"data": 2, "fsdp": 4})


@pytest.mark.parametrize(
    ("groups", "axes"),
    [
        (((0, 1, 2, 3), (4, 5, 6, 7)), ("fsdp",)),
        (((3, 1, 2, 0), (6, 5, 4, 7)), ("fsdp",)),
        (((0, 4), (1, 5), (2, 6), (3, 7)), ("data",)),
        (((0, 1, 2, 3, 4, 5, 6, 7),), ("data", "fsdp")),
        ((), ("data", "fsdp")),
        (((0, 2), (1, 3), (4, 6), (5, 7)), ("fsdp:(1)2",)),
        (((0, 1), (2, 3), (4, 5), (6, 7)), ("fsdp:(2)2",)),
        (((0, 2, 4, 6), (1, 3, 5, 7)), ("data", "fsdp:(1)2")),
        (tuple((i,) for i in range(8)), ()),
        (((0, 1), (2, 4), (3, 5), (6, 7)), "irregular"),
        (((0, 1, 2), (3, 4, 5), (6, 7)), "irregular"),
        (((0, 3), (1, 2), (4, 7), (5, 6)), "irregular"),
        (((0, 1), (2, 3)), "irregular"),
        (((0, 8), (1, 9)), None),
    ],
)
def test_axes_of_groups(groups: tuple[tuple[int, ...], ...], axes: object) -> None:
    assert axes_of(groups, MESH) == axes


@given(st.data())
def test_any_product_of_axes_is_found_again(data: st.DataObject) -> None:
    """Groups made by numpy over some axes, in any order inside and outside, name exactly those axes."""
    sizes = data.draw(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=4))
    names = [f"ax{i}" for i in range(len(sizes))]
    picked = [i for i in range(len(sizes)) if data.draw(st.booleans())]
    outside = [i for i in range(len(sizes)) if i not in picked]
    grid = np.arange(int(np.prod(sizes))).reshape(sizes).transpose(outside + picked)
    rows = grid.reshape(-1, int(np.prod([sizes[i] for i in picked]))).tolist()
    rows = [tuple(data.draw(st.permutations(row))) for row in data.draw(st.permutations(rows))]
    mesh = MeshFact(axes=dict(zip(names, sizes, strict=True)))
    assert axes_of(tuple(rows), mesh) == tuple(names[i] for i in picked if sizes[i] > 1)


@pytest.mark.parametrize(
    ("pairs", "axes"),
    [
        (((0, 1), (1, 2), (2, 3), (3, 0)), ("fsdp",)),
        (((0, 4), (4, 0)), ("data",)),
        (((1, 4), (4, 1)), ("data", "fsdp")),
        (((0, 1), (2, 6)), ("data", "fsdp")),
        (((0, 0), (1, 1)), ()),
        (((0, 9),), None),
    ],
)
def test_axes_of_a_permutation(pairs: tuple[tuple[int, ...], ...], axes: object) -> None:
    assert axes_of_pairs(pairs, MESH) == axes


def spaced(stride: int, size: int, devices: int) -> Groups:
    """Groups of every `stride`-th device."""
    firsts = [first for first in range(devices) if first // stride % size == 0]
    return tuple(tuple(first + stride * at for at in range(size)) for first in firsts)


@pytest.mark.parametrize(
    ("groups", "devices", "sizes"),
    [
        ([spaced(4, 2, 8)], 8, (2, 4)),
        ([spaced(1, 8, 64)], 64, (8, 8)),
        ([spaced(1, 4, 32), spaced(4, 2, 32)], 32, (4, 2, 4)),
        ([((0, 1, 4, 5), (2, 3, 6, 7))], 8, (2, 2, 2)),
        ([((0, 3), (1, 2))], 4, (4,)),
        ([spaced(2, 3, 12), spaced(4, 3, 12)], 12, (12,)),
        ([], 8, (8,)),
        ([], 1, (1,)),
    ],
)
def test_sizes_of_axes_that_groups_suggest(groups: list[Groups], devices: int, sizes: tuple[int, ...]) -> None:
    """Each cut divides the next, or all devices are one axis."""
    assert likely_sizes(groups, devices) == sizes
