"""The batches of a run, on the devices, and where in its data the run stands: one progress record at any time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import jax

from ...contracts.progress import IDENTITY
from ..data.position import data_position
from .data import Batch, Language
from .step import TrainStep

SOURCE = "synthetic"


class Drawn:
    """An iterator over the unpacked batches of the language; the cursor is the number of the next one."""

    def __init__(self, language: Language, batch: int, sequence: int) -> None:
        self.language, self.size, self.sequence, self._next = language, batch, sequence, 0

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        values = self.language.batch(self._next, self.size, self.sequence)
        self._next += 1
        return values

    def get_state(self) -> dict[str, int]:
        return {"next_index": self._next}

    def set_state(self, state: Mapping[str, int]) -> None:
        self._next = state["next_index"]

    def __repr__(self) -> str:
        return f"Drawn({self.language}, batch={self.size}, sequence={self.sequence})"


class Feed:
    """Packed batches are read through grain, others drawn by their number."""

    def __init__(self, step: TrainStep) -> None:
        self._step = step
        cfg = step.cfg
        if cfg.packed:
            from .reader import reader

            self._loader = reader(cfg, jax.process_index(), jax.process_count())
        else:
            self._loader = Drawn(step.language, cfg.batch, cfg.sequence)
        self._iterator: Any = iter(self._loader)

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        values = next(self._iterator)
        if not self._step.cfg.packed:
            return self._step.on_devices(values)
        return {
            name: jax.make_array_from_process_local_data(self._step.args[1][name].sharding, value)
            for name, value in values.items()
        }

    def position(self, steps: int) -> dict[str, Any]:
        """The progress record behind `steps` finished steps."""
        cfg = self._step.cfg
        tokens = steps * cfg.batch * cfg.sequence
        language = {"language": SOURCE, "vocab": cfg.vocab, "seed": cfg.seed}
        record = data_position(
            self._iterator,
            self._loader,
            step=steps,
            tokens=tokens,
            sources={SOURCE: {"records": steps * cfg.batch, "tokens": tokens, "epoch": 0}},
            dataset=_digest(language | {"sequence": cfg.sequence, "packed": cfg.packed}),
            tokenizer=_digest({"vocab": cfg.vocab}),
            mixture={SOURCE: 1.0},
            seed=cfg.seed,
            batch=cfg.batch,
            shards=jax.process_count(),
        )
        return record if cfg.packed else record | {"sampler": [repr(self._loader)]}

    def resume(self, record: Mapping[str, Any]) -> None:
        """Stand where a record says. Raises ValueError, with both values, where it is a place in other data."""
        here = self.position(0)
        # What a pipeline is in words follows from the others as a rule, and is the longest.
        for field in sorted(IDENTITY, key=lambda name: name == "sampler"):
            if record.get(field) != here[field]:
                said = f"`{field}` of the data was {_shown(record.get(field))} when it was saved, now it is "
                raise ValueError(f"{said}{_shown(here[field])}: the cursor is no place in it")
        self._iterator.set_state(record["cursor"])


def _digest(value: Any) -> str:
    return "sha256:" + hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
