import os
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.manifest import Leaf, MemoryFacts, StepFacts
from contract_lint.hlo_tools.arguments import argument_path
from contract_lint.hlo_tools.assignment import Allocation, BufferAssignment, HeapEvent, HeapTrace, LogicalBuffer
from contract_lint.hlo_tools.heap import Replay, replay
from contract_lint.hlo_tools.memory import memory
from contract_lint.hlo_tools.proto import parse_proto

GIB = 2**30


def assigned(sizes: dict[int, int], *events: tuple) -> BufferAssignment:
    """Buffers by id and size; events are (kind, buffer) or ("share", buffer, canonical), at `i0`, `i1`, ..."""
    made = [
        HeapEvent(event[0], event[1], event[2] if len(event) > 2 else 0, "main", f"i{at}")
        for at, event in enumerate(events)
    ]
    buffers = {number: LogicalBuffer(id=number, size=size) for number, size in sizes.items()}
    return BufferAssignment(buffers, [], [HeapTrace(made, True)], {})


def replayed(sizes: dict[int, int], *events: tuple, exclude: tuple[int, ...] = ()) -> Replay:
    positions = {("main", f"i{at}"): at for at in range(len(events))}
    ((done,),) = replay(assigned(sizes, *events), positions, exclude).values()
    return done


def test_the_peak_is_the_largest_sum_of_live_buffers() -> None:
    done = replayed(
        {1: 10, 2: 20, 3: 5}, ("alloc", 1), ("alloc", 2), ("free", 1), ("alloc", 3), ("free", 2), ("free", 3)
    )
    assert (done.peak_bytes, done.peak_index, done.peak_instruction) == (30, 1, "i1")
    assert [(span.buffer_id, span.first) for span in done.live] == [(1, 0), (2, 1)]
    assert done.timeline == [(0, 10), (1, 30), (3, 25)]


def test_a_shared_buffer_counts_once_until_the_last_is_freed() -> None:
    done = replayed(
        {1: 10, 2: 10, 3: 7}, ("alloc", 1), ("share", 2, 1), ("free", 1), ("alloc", 3), ("free", 2), ("free", 3)
    )
    assert done.peak_bytes == 17
    assert [span.buffer_id for span in done.live] == [1, 3]


def test_sharing_revives_a_freed_buffer() -> None:
    done = replayed(
        {1: 10, 2: 10, 3: 7}, ("alloc", 1), ("free", 1), ("share", 2, 1), ("alloc", 3), ("free", 2), ("free", 3)
    )
    assert done.peak_bytes == 17
    assert [(span.buffer_id, span.first) for span in done.live] == [(1, 0), (3, 3)]


def test_a_chain_of_shares_leads_to_one_buffer() -> None:
    done = replayed(
        {1: 10, 2: 10, 3: 10, 4: 1},
        ("alloc", 1),
        ("share", 2, 1),
        ("share", 3, 2),
        ("free", 1),
        ("free", 2),
        ("alloc", 4),
    )
    assert done.peak_bytes == 11


def test_buffers_that_are_counted_elsewhere_are_left_out() -> None:
    done = replayed({1: 10, 2: 20}, ("alloc", 1), ("alloc", 2), exclude=(1,))
    assert done.peak_bytes == 20


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([("free", 1)], "frees buffer 1, which is not live"),
        ([("alloc", 1), ("alloc", 1)], "allocates buffer 1 twice"),
        ([("alloc", 9)], "buffer 9, which is not assigned"),
        ([("share", 1, 9)], "buffer 9, which is not assigned"),
    ],
)
def test_a_trace_that_contradicts_itself_is_refused(events: list[tuple], words: str) -> None:
    with pytest.raises(ContractLintError, match=words):
        replay(assigned({1: 10}, *events), {})


def test_temporary_means_what_xla_means() -> None:
    assert Allocation(size=4).is_temp
    for flag in ("is_entry_parameter", "maybe_live_out", "is_thread_local", "is_constant"):
        assert not Allocation(**{flag: True}).is_temp


def test_without_a_proto_the_compilers_sums_are_used() -> None:
    sums = MemoryFacts(argument_bytes=100, output_bytes=60, alias_bytes=50, temp_bytes=30, code_bytes=7)
    leaf = Leaf(argument="state", path="params/w", shape=[25], dtype="float32", bytes=100, donated=True)
    ledger = memory(None, facts=StepFacts(step="train", entry="m:b", arguments=[leaf], memory=sums))
    assert (ledger.method, ledger.module) == ("compiled-stats", "train")
    assert (ledger.need_bytes, ledger.peak_bytes, ledger.state_bytes) == (147, 140, 100)
    assert ledger.buffers == []


def test_without_any_figure_the_error_says_what_to_dump() -> None:
    with pytest.raises(ContractLintError) as caught:
        memory(None, facts=StepFacts(step="train", entry="m:b"))
    assert "xla_dump_hlo_as_proto" in (caught.value.help or "")


@pytest.mark.parametrize(
    ("op_name", "argument", "path"),
    [
        ("state['params']['layers']['wq']", "state", "params/layers/wq"),
        ("state[\\'mu\\'][\\'w\\']", "state", "mu/w"),
        ("opt[1][0].mu['layers']['w1']", "opt", "1/0/mu/layers/w1"),
        ("model.kernel.value", "model", "kernel"),
        ("batch", "batch", ""),
        ("jit(step)/mul", "jit(step)/mul", ""),
        ("", "", ""),
    ],
)
def test_names_of_entry_parameters(op_name: str, argument: str, path: str) -> None:
    assert argument_path(op_name) == (argument, path)


def test_a_failed_tpu_compile_is_explained_from_its_dump() -> None:
    """bf16[327680,327680] is 200 GiB, u8 of the same shape 100 GiB; VMEM (3,932,160 B) does not count as HBM."""
    corpus = os.environ.get("CONTRACT_LINT_CORPUS")
    if not corpus:
        pytest.skip("CONTRACT_LINT_CORPUS is not set: the dump of a failed TPU compile is not at hand")
    ledger = memory(parse_proto((Path(corpus) / "cases/hlo/11_oom_e1000_hlo_proto.pb").read_bytes()))
    assert ledger.peak_bytes == ledger.need_bytes == 322_122_547_200 == 300 * GIB
    assert [(b.bytes, b.shape.split("{")[0]) for b in ledger.buffers] == [
        (327_680**2 * 2, "bf16[327680,327680]"),
        (327_680**2, "u8[327680,327680]"),
    ]
    assert [(b.source or "").rsplit(":", 1)[1] for b in ledger.buffers] == ["10", "9"]
    assert {space.name: space.peak_bytes for space in ledger.spaces} == {"device": 300 * GIB, "vmem": 3_932_160}
    assert [buffer.bytes - buffer.unpadded_bytes for buffer in ledger.buffers] == [0, 0]
