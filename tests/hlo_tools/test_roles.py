from contract_lint.contracts.manifest import Leaf, StepFacts
from contract_lint.hlo_tools.roles import classify

F32, I32 = "float32", "int32"


def roles(*rows: tuple[str, tuple[int, ...], str], donate: tuple[str, ...] = (), **facts: object) -> dict[str, str]:
    """`argument/path` -> class. Rows are (argument/path, shape, dtype)."""
    leaves = []
    for name, shape, dtype in rows:
        argument, _, path = name.partition("/")
        leaves.append(Leaf(argument=argument, path=path, shape=list(shape), dtype=dtype, donated=argument in donate))
    made = StepFacts(step="train", entry="m:build", arguments=leaves, donate=list(donate), **facts)
    return {name: kind for (name, _, _), kind in zip(rows, classify(made), strict=True)}


def test_the_reference_trainer() -> None:
    found = roles(
        ("state/params/layers/attn/wq", (4, 8, 8), F32),
        ("state/params/final_norm/scale", (8,), F32),
        ("state/opt_state/1/0/count", (), I32),
        ("state/opt_state/1/0/mu/layers/attn/wq", (4, 8, 8), F32),
        ("state/opt_state/1/0/nu/final_norm/scale", (8,), F32),
        ("state/step", (), I32),
        ("batch/tokens", (16, 8), I32),
        ("batch/loss_mask", (16, 8), F32),
        donate=("state",),
    )
    assert list(found.values()) == [
        *("parameter", "parameter", "counter", "optimizer_slot", "optimizer_slot", "counter", "batch", "batch")
    ]


def test_a_step_that_forgot_to_donate_is_classed_the_same() -> None:
    found = roles(("state/params/w", (8, 8), F32), ("state/opt_state/0/mu/w", (8, 8), F32), ("batch/x", (4, 8), F32))
    assert list(found.values()) == ["parameter", "optimizer_slot", "batch"]


def test_parameters_moments_and_batch_as_three_arguments() -> None:
    found = roles(
        ("params/w", (8, 8), F32),
        ("opt/0/trace/w", (8, 8), F32),
        ("x", (4, 8), F32),
        ("y", (4,), I32),
        donate=("params", "opt"),
    )
    assert list(found.values()) == ["parameter", "optimizer_slot", "batch", "batch"]


def test_a_copy_of_named_parameters_under_another_root_is_a_slot() -> None:
    found = roles(
        ("state/params/a/w", (8, 8), F32),
        ("state/params/a/b", (8,), F32),
        ("state/polyak/a/w", (8, 8), F32),
        ("state/batch_stats/a/mean", (8,), F32),
        ("state/polyak/a/b", (4,), F32),
        donate=("state",),
    )
    assert found["state/polyak/a/w"] == "optimizer_slot"
    assert found["state/polyak/a/b"] == "other"
    assert found["state/batch_stats/a/mean"] == "other"


def test_factored_slots_of_another_shape_are_slots_by_name() -> None:
    found = roles(
        ("state/params/w", (8, 4), F32),
        ("state/opt_state/0/v_row/w", (8,), F32),
        ("state/opt_state/0/v_col/w", (4,), F32),
        donate=("state",),
    )
    assert list(found.values()) == ["parameter", "optimizer_slot", "optimizer_slot"]


def test_a_plain_dict_without_names_that_tell() -> None:
    weights = (("s/w", (8, 8), F32), ("s/b", (8,), F32))
    assert set(roles(*weights, donate=("s",)).values()) == {"parameter"}
    found = roles(*weights, ("s/m/w", (8, 8), F32), ("s/m/b", (8,), F32), donate=("s",))
    assert found == {"s/w": "parameter", "s/b": "parameter", "s/m/w": "optimizer_slot", "s/m/b": "optimizer_slot"}
    found = roles(("s/p/w", (8, 8), F32), ("s/q/w", (8, 8), F32), donate=("s",))
    assert found == {"s/p/w": "parameter", "s/q/w": "optimizer_slot"}


def test_equal_layers_are_not_each_others_slots() -> None:
    layers = [(f"s/layer_{i}/{leaf}", (8, 8), F32) for i in range(3) for leaf in ("wq", "wk")]
    assert set(roles(*layers, donate=("s",)).values()) == {"parameter"}
    blocks = [("s/attn/w", (8, 8), F32), ("s/mlp/w", (8, 8), F32), ("s/out", (8, 3), F32)]
    assert set(roles(*blocks, donate=("s",)).values()) == {"parameter"}


def test_an_optimizer_that_holds_the_model() -> None:
    found = roles(
        ("optimizer/model/w", (8, 8), F32),
        ("optimizer/opt_state/0/mu/w", (8, 8), F32),
        ("optimizer/step", (), "uint32"),
        donate=("optimizer",),
    )
    assert list(found.values()) == ["parameter", "optimizer_slot", "counter"]


def test_keys_and_counters() -> None:
    found = roles(
        ("state/params/w", (8, 8), F32),
        ("state/dropout_rng", (2,), "uint32"),
        ("state/key", (), "key<fry>"),
        ("state/done", (), "bool"),
        ("state/scale", (), F32),
        donate=("state",),
    )
    assert list(found.values()) == ["parameter", "rng", "rng", "counter", "other"]


def test_an_evaluation_step_without_donation() -> None:
    found = roles(("weights/w", (8, 8), F32), ("tokens", (4, 8), I32))
    assert list(found.values()) == ["parameter", "batch"]
    found = roles(("theta/w", (8, 8), F32), ("tokens", (4, 8), I32))
    assert list(found.values()) == ["parameter", "batch"]
    assert list(roles(("x", (4, 8), I32), ("y", (4, 8), F32)).values()) == ["batch", "batch"]


def test_carried_arguments_are_state() -> None:
    found = roles(("theta/w", (8, 8), F32), ("z/x", (4, 8), F32), carry={"0": "theta"})
    assert list(found.values()) == ["parameter", "batch"]


def test_names_of_batch_fields_do_not_make_parameters() -> None:
    found = roles(("state/params/w", (8, 8), F32), ("batch/weights", (4, 8), F32), donate=("state",))
    assert found["batch/weights"] == "batch"


def test_single_arrays_of_a_state_are_known_by_their_names() -> None:
    found = roles(("state/mu", (8, 8), F32), ("state/params", (8, 8), F32), ("x", (4, 8), F32))
    assert found == {"state/mu": "optimizer_slot", "state/params": "parameter", "x": "batch"}
    assert roles(("batch/mu", (8, 8), F32), ("w/kernel", (8, 3), F32), donate=("w",))["batch/mu"] == "batch"
