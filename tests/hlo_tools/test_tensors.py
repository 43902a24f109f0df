import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.manifest import Leaf, MeshFact, StepFacts
from contract_lint.hlo_tools.tensors import tensors

MESH = MeshFact(axes={"data": 2, "fsdp": 4})


def leaf(path: str, **facts: object) -> Leaf:
    base = {"argument": "state", "path": path, "shape": [8, 6], "dtype": "float32", "donated": True}
    return Leaf.model_validate(base | facts)


def facts(*leaves: Leaf) -> StepFacts:
    return StepFacts(step="train", entry="m:build", arguments=list(leaves))


def test_rows_carry_placement_and_bytes() -> None:
    ledger = tensors(
        facts(
            leaf("params/w", spec=[["fsdp"], []], local_shape=[2, 6], bytes=48, aliased=True, parameter=0),
            leaf("mu/w", spec=[["data", "fsdp"], []], bytes=24),
            leaf("step", shape=[], dtype="int32", spec=[], local_shape=[], bytes=4),
            Leaf(argument="tokens", path="", shape=[16], dtype="int32", spec=[["data"]], local_shape=[8], bytes=32),
        ),
        MESH,
    )
    assert [(row.path, row.class_, row.local_shape) for row in ledger.rows] == [
        ("params/w", "parameter", (2, 6)),
        ("mu/w", "optimizer_slot", (1, 6)),
        ("step", "counter", ()),
        ("tokens", "batch", (8,)),
    ]
    assert ledger.totals() == {"parameter": 48, "optimizer_slot": 24, "counter": 4, "batch": 32}
    assert ledger.state_bytes == 76
    assert ledger.of("parameter")[0].spec == (("fsdp",), ())
    row = ledger.as_json()["tensors"][0]
    keys = {"path", "class", "global_shape", "local_shape", "dtype", "mesh", "spec", "bytes"}
    assert keys <= row.keys()
    assert (row["mesh"], row["spec"], row["class"]) == ({"data": 2, "fsdp": 4}, [["fsdp"], []], "parameter")


def test_what_the_compiler_dropped_or_placed_itself_is_null() -> None:
    (row,) = tensors(facts(leaf("params/w"))).rows
    assert (row.local_shape, row.spec, row.bytes, row.mesh, row.parameter) == (None,) * 5


def test_a_placement_of_another_rank_is_refused() -> None:
    with pytest.raises(ContractLintError, match="2 dimensions, its placement 3"):
        tensors(facts(leaf("params/w", spec=[[], [], []])))
