"""What a grain pipeline is in words: the same for the same, another for another seed, size, batch or mixture."""

from __future__ import annotations

from typing import Any

import pytest

grain = pytest.importorskip("grain")

from contract_lint.runtime.data.pipeline import described  # noqa: E402


def dataset(seed: int = 3, records: int = 100, batch: int = 4, weights: tuple[float, float] = (0.7, 0.3)) -> Any:
    mixed = grain.MapDataset.mix(
        [grain.MapDataset.range(records), grain.MapDataset.source(["a", "b"] * 20)], weights=list(weights)
    )
    return mixed.shuffle(seed=seed).repeat().batch(batch)


def loader(seed: int = 1, batch: int = 2) -> Any:
    sampler = grain.samplers.IndexSampler(20, grain.sharding.NoSharding(), shuffle=True, seed=seed, num_epochs=1)
    return grain.DataLoader(data_source=range(20), sampler=sampler, operations=[grain.transforms.Batch(batch)])


def test_stages_from_the_batch_to_the_sources() -> None:
    lines = described(dataset())
    assert [line.strip().partition("(")[0] for line in lines] == [
        *("Batch", "Repeat", "Shuffle", "Mixed", "Range", "Source")
    ]
    assert "seed=3" in lines[2] and "proportions=" in lines[3] and "stop=100" in lines[4] and "40 records" in lines[5]
    assert described(dataset()) == lines


def test_reading_ahead_is_no_other_pipeline() -> None:
    iterated = dataset()
    iter(iterated)
    assert described(dataset().to_iter_dataset()) == described(dataset())


@pytest.mark.parametrize("changed", [{"seed": 4}, {"records": 101}, {"batch": 8}, {"weights": (0.6, 0.4)}])
def test_a_change_is_seen(changed: dict[str, Any]) -> None:
    assert described(dataset(**changed)) != described(dataset())


@pytest.mark.parametrize("changed", [{"seed": 4}, {"batch": 4}])
def test_a_change_of_a_loader_is_seen(changed: dict[str, Any]) -> None:
    assert described(loader()) == described(loader())
    assert described(loader(**changed)) != described(loader())
