import numpy as np
import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.replica_groups import parse_groups, parse_mesh_groups
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("{{0,1},{2,3}}", ((0, 1), (2, 3))),
        ("{ {0, 1}, {2} }", ((0, 1), (2,))),
        ("{0,1}", ((0, 1),)),
        ("{{0,1},{1,0}}", ((0, 1), (1, 0))),
        ("{}", ()),
        ("", ()),
        ("[2,4]<=[8]", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("[4,2]<=[2,4]T(1,0)", ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("[4,2]<=[2,2,2]T(0,2,1)", ((0, 2), (1, 3), (4, 6), (5, 7))),
        ("mesh['axis_0'=2,'axis_1'=4] {'axis_0'}", ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("mesh['a'=2,'b'=4] {'b'}", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("mesh['a'=2,'b'=4] {'b','a'}", ((0, 4, 1, 5, 2, 6, 3, 7),)),
        (
            "mesh['axis_0'=2,'axis_1'=1,'axis_2'=4], device_ids=([4,2]T(1,0)) {'axis_2'}",
            ((0, 2, 4, 6), (1, 3, 5, 7)),
        ),
        (
            "mesh['axis_0'=2,'axis_1'=1,'axis_2'=4], device_ids=([4,2]T(1,0)) {'axis_0'}",
            ((0, 1), (2, 3), (4, 5), (6, 7)),
        ),
        ("mesh['a'=2,'b'=2], device_ids=(0,2,1,3) {'b'}", ((0, 2), (1, 3))),
        ("mesh['a'=8] {'a':(2)2}", ((0, 2), (1, 3), (4, 6), (5, 7))),
        ("mesh['a'=8] {'a':(1)2}", ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("mesh['a'=8] {'a':(4)2}", ((0, 1), (2, 3), (4, 5), (6, 7))),
        ("mesh['a'=2,'b'=2] {}", ((0,), (1,), (2,), (3,))),
        ("maximal_mesh[device_id=3]", ((3,),)),
    ],
)
def test_every_spelling(text: str, groups: tuple[tuple[int, ...], ...]) -> None:
    assert parse_groups(text) == groups


@given(st.data())
def test_iota_is_what_numpy_says(data: st.DataObject) -> None:
    dims = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    order = data.draw(st.permutations(range(len(dims))))
    total = int(np.prod(dims))
    size = data.draw(st.sampled_from([d for d in range(1, total + 1) if total % d == 0]))
    expected = np.arange(total).reshape(dims).transpose(order).reshape(total // size, size)
    text = f"[{total // size},{size}]<=[{','.join(map(str, dims))}]T({','.join(map(str, order))})"
    assert np.array_equal(np.array(parse_groups(text)), expected)


@given(st.data())
def test_mesh_axes_are_what_numpy_says(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    names = [f"ax{i}" for i in range(len(sizes))]
    spanned = data.draw(st.lists(st.sampled_from(range(len(sizes))), unique=True, max_size=len(sizes)))
    total = int(np.prod(sizes))
    ids = np.array(data.draw(st.permutations(range(total))))
    outside = [i for i in range(len(sizes)) if i not in spanned]
    grid = ids.reshape(sizes).transpose(outside + spanned)
    expected = grid.reshape(-1, int(np.prod([sizes[i] for i in spanned])))
    axes = ",".join(f"'{n}'={s}" for n, s in zip(names, sizes, strict=True))
    picked = ",".join(f"'{names[i]}'" for i in spanned)
    text = f"mesh[{axes}], device_ids=({','.join(map(str, ids))}) {{{picked}}}"
    assert np.array_equal(np.array(parse_groups(text)), expected)


def test_made_up_axis_names_are_no_names() -> None:
    made_up = parse_mesh_groups("mesh['axis_0'=2,'axis_1'=4] {'axis_0'}")
    named = parse_mesh_groups("mesh['data'=2,'model'=4] {'data'}")
    assert made_up is not None and not made_up.is_named
    assert named is not None and named.is_named and named.is_ordered
    assert parse_mesh_groups("{{0,1}}") is None


@pytest.mark.parametrize(
    "text",
    [
        "{{0,1}",
        "[2,4]<=[9]",
        "[2,4]<=[2,4]T(0,0)",
        "[2,4]<=[2,4]T(0,5)",
        "[0]<=[0]",
        "[99999999999,9]<=[99999999999,9]",
        "mesh['a'=2] {'b'}",
        "mesh['a'=6] {'a':(4)2}",
        "mesh['a'=8] {'a','a'}",
        "mesh['a'=4], device_ids=(0,1) {'a'}",
        "somewhere",
        "{{0,99999999999999999999999}}",
    ],
)
def test_impossible_groups_are_refused(text: str) -> None:
    with pytest.raises(ContractLintError):
        parse_groups(text)
