"""On which targets each planted fault exists, and why it does not exist on the others. Data only.

`TARGETS` are the places a fault is planted on: one that is executed, two of one slice or host, two of several. Every
kind of fault is in `ABSENT`; it exists wherever no reason stands there.
"""

from __future__ import annotations

TARGETS = {
    "cpu": "cpu:8",
    "tpu": "tpu:v5e:4x4",
    "slices": "tpu:v5e:2x2:slices=2",
    "cuda": "cuda:h100:1x8",
    "hosts": "cuda:h100:2x4",
}
"""Place -> target; of eight devices, for which the contracts are written, or of `TIMES` as many."""

TIMES: dict[str, int] = {"tpu": 2}
"""How many times eight devices a place has: the axis `data` and the batch grow with it, a device's share stays."""

DCN: dict[str, dict[str, int]] = {"slices": {"data": 2}, "hosts": {"data": 2}}
"""The mesh axis between slices or hosts, where there are several."""

COMPILED = ("tpu", "slices", "cuda", "hosts")
GPU = ("cuda", "hosts")
TPU = ("tpu", "slices")
ONE_PART = ("cpu", "tpu", "cuda")

NOT_RUN = "shows only in the executed loop; this target is compiled for, not run"
NO_TILES = "arrays are stored without tiles"
NO_NETWORK = "one host or slice: nothing lies between"
NOT_MOVED = "this compiler leaves a sum over devices in the loop that it stands in"
NO_PALLAS = "Pallas kernels are interpreted on CPU, no kernel is called"
ONE_MEMORY = "host and device share one memory: the compiler drops the moves"
NO_KINDS = "jax drops the memory kinds of arguments for a described GPU"
MERGED = "this compiler merges equal gathers before it partitions: the program asks for one, as promised"
NO_LIMIT = "a CPU has no published memory to run out of"


def _on(places: tuple[str, ...], reason: str) -> dict[str, str]:
    return dict.fromkeys(places, reason)


ABSENT: dict[str, dict[str, str]] = {
    "dropped-spec": {},
    "misspelt-axis": {},
    "microbatch-split": {},
    "not-donated": {},
    "debug-print": {},
    "io-callback": {},
    "static-scalar": {},
    "weak-then-strong": _on(COMPILED, NOT_RUN),
    "large-constant": {},
    "indivisible-batch": {},
    "replicated-slots": {},
    "gathering-constraint": {},
    "gathered-twice": _on(TPU, MERGED),
    "local-normaliser": _on(COMPILED, NOT_RUN),
    "missing-reduction": {},
    "unrolled-layers": {},
    "widened-gather": {},
    "sum-kept-in-loop": _on(("cpu", *GPU), NOT_MOVED),
    "offload-of-no-name": {"cpu": ONE_MEMORY},
    "slots-left-on-device": _on(GPU, NO_KINDS),
    "weights-over-dcn": _on(ONE_PART, NO_NETWORK),
    "padded-parameters": _on(("cpu", *GPU), NO_TILES),
    "kernel-slipped-in": {"cpu": NO_PALLAS},
    "saves-everything": {"cpu": NO_LIMIT},
}
"""Kind of fault -> place -> why it does not exist there."""

FIRST = {
    "widened-gather": "cpu",
    "sum-kept-in-loop": "tpu",
    "offload-of-no-name": "tpu",
    "slots-left-on-device": "tpu",
    "weights-over-dcn": "slices",
    "padded-parameters": "tpu",
    "kernel-slipped-in": "tpu",
    "saves-everything": "tpu",
}
"""The one place on which the default run plants a fault; all other pairs take `make test-all`."""
