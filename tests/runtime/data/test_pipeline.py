"""What a grain pipeline is in words: the same for the same, another for another seed, size, batch or mixture."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
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


def chain(seed: int = 2, weights: tuple[float, float] = (0.5, 0.5)) -> Any:
    """Stages that are iterated over one in another, as those behind a mixture of runs of text are."""
    parts = [dataset(seed=each).to_iter_dataset() for each in (1, 2)]
    mixed = grain.IterDataset.mix(parts, weights=list(weights)).map(str).filter(bool)
    return grain.experimental.WindowShuffleIterDataset(mixed, window_size=10, seed=seed).batch(2, batch_fn=list)


class Counting(grain.MapDataset):
    """A dataset of a project, which counts what it was asked for."""

    def __init__(self, parent: Any, times: int = 2) -> None:
        super().__init__(parent)
        self._keep(times)
        self._asked, self._last = 0, [0]

    def _keep(self, times: int) -> None:
        self._times = times

    def __len__(self) -> int:
        return len(self._parent)

    def __getitem__(self, index: int) -> int:
        self._asked += 1
        self._last[0] = index
        return self._times * self._parent[index]


def counting(times: int = 2) -> Any:
    return Counting(grain.MapDataset.range(100), times).to_iter_dataset().batch(4)


class Sampler:
    """A sampler without a word of its own."""

    def __init__(self, records: int = 20) -> None:
        self._records = records

    def __getitem__(self, index: int) -> Any:
        if index >= self._records:
            raise IndexError
        return SimpleNamespace(index=index, record_key=index, rng=None)


def test_stages_from_the_batch_to_the_sources() -> None:
    lines = described(dataset())
    assert [line.strip().partition("(")[0] for line in lines] == [
        *("Batch", "Repeat", "Shuffle", "Mixed", "Range", "Source")
    ]
    assert "seed=3" in lines[2] and "proportions=" in lines[3] and "stop=100" in lines[4] and "40 records" in lines[5]
    assert described(dataset()) == lines


def sampled(records: int = 20) -> Any:
    return grain.DataLoader(
        data_source=range(records), sampler=Sampler(records), shard_options=grain.sharding.NoSharding()
    )


@pytest.mark.parametrize("made", [dataset, chain, counting, loader, sampled])
def test_it_says_the_same_wherever_it_stands(made: Callable[..., Any]) -> None:
    """Fresh, iterated over, and of the iterator alone; each opened anew as another process would."""
    used = made()
    iterator: Any = iter(used)
    for _ in range(5):
        next(iterator)
    assert described(made()) == described(used) == described(iterator)
    assert "Iterator" not in str(described(iterator)) and " at 0x" not in str(described(used))


@pytest.mark.parametrize(
    ("made", "changed"), [(chain, {"seed": 3}), (chain, {"weights": (0.4, 0.6)}), (counting, {"times": 3})]
)
def test_a_change_is_seen_in_the_iterator_too(made: Callable[..., Any], changed: dict[str, Any]) -> None:
    assert described(iter(made(**changed))) != described(iter(made()))


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
