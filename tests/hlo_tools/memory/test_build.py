"""What the ledger makes of an assignment that leaves something open."""

from __future__ import annotations

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.as_proto import TextModule
from contract_lint.hlo_tools.assignment import Allocation, BufferAssignment, HeapEvent, HeapTrace, LogicalBuffer
from contract_lint.hlo_tools.memory import MemoryLedger, memory
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.proto import HloProto

TEXT = """HloModule jit_f, is_scheduled=true

ENTRY %main (x: f32[256]) -> f32[] {
  %x = f32[256]{0} parameter(0), metadata={op_name="x"}
  %saved = f32[256]{0} sine(%x), metadata={op_name="jit(f)/jvp()/sin"}
  %gate = f32[128]{0} slice(%x), slice={[0:128]}, metadata={op_name="jit(f)/jvp()/slice"}
  %view = (f32[256]{0}) tuple(%saved)
  %back = f32[256]{0} get-tuple-element(%view), index=0
  %half = f32[128]{0} slice(%back), slice={[128:256]}, metadata={op_name="jit(f)/transpose(jvp())/slice"}
  ROOT %sum = f32[] custom-call(%half, %gate), custom_call_target="dot",
    metadata={op_name="jit(f)/transpose(jvp())/dot"}
}
"""


def ledger(
    sizes: dict[str, int], temporary: Allocation | None, trace: HeapTrace | None = None, **held_in: str
) -> MemoryLedger:
    """The ledger of TEXT with these buffers, numbered from 1; `held_in` are other places of a buffer."""
    module = TextModule(parse_hlo(TEXT))
    assert module.entry is not None
    ids = {made.name: made.id for made in module.entry.instructions}
    numbers = {name: number for number, name in enumerate(sizes, 1)}
    buffers = {n: LogicalBuffer(n, sizes[name], ids[name], name) for name, n in numbers.items()}
    aliases = {numbers[name]: [(ids[other], other, ())] for name, other in held_in.items()}
    argument = Allocation(0, 1024, is_entry_parameter=True)
    allocations = [argument] if temporary is None else [argument, temporary]
    made = BufferAssignment(buffers, allocations, [] if trace is None else [trace], aliases)
    return memory(HloProto(module, made))


def test_a_heap_without_a_trace_is_split_by_its_places() -> None:
    """`half` shares its place with `saved`, and 128 bytes between the places hold nothing."""
    heap = Allocation(1, 1664, assigned=[(1, 0, 1024), (2, 1152, 512), (3, 512, 512)])
    found = ledger({"saved": 1024, "gate": 512, "half": 512}, heap)
    assert found.method == "buffer-assignment"
    assert found.peak_bytes == 1024 + 1664 == sum(buffer.bytes for buffer in found.buffers)
    rows = [(b.name, b.bytes, b.unpadded_bytes, b.class_) for b in found.buffers]
    assert rows == [
        ("saved", 1152, 1024, "activation_saved"),
        ("x", 1024, 1024, "input"),
        ("gate", 512, 512, "activation_saved"),
    ]


def test_a_value_lives_until_its_last_use_also_where_the_heap_has_no_more_events() -> None:
    """Nothing takes memory after `gate`, so the trace has no later moment, yet the backward pass reads both."""
    events = [("alloc", 1, "saved"), ("alloc", 2, "gate"), ("free", 1, "saved"), ("free", 2, "gate")]
    trace = HeapTrace([HeapEvent(kind, number, 0, "main", name) for kind, number, name in events], True)
    heap = Allocation(1, 1536, assigned=[(1, 0, 1024), (2, 1024, 512)])
    found = ledger({"saved": 1024, "gate": 512}, heap, trace, saved="back")
    spans = {b.name: (b.first, b.last, b.class_) for b in found.buffers if b.name != "x"}
    assert spans == {"saved": (1, 5, "activation_saved"), "gate": (2, 6, "activation_saved")}


@pytest.mark.parametrize("size", ["9" * 19, "9" * 18 + ",16"])
def test_an_argument_larger_than_any_array_is_refused(size: str) -> None:
    text = f"HloModule m, is_scheduled=true\nENTRY %e (x: f32[{size}]) -> f32[{size}] {{\n"
    text += f"  ROOT %x = f32[{size}] parameter(0), metadata={{op_name=\"state['w']\"}}\n}}\n"
    with pytest.raises(ContractLintError, match=r"argument 0 \(state/w\) of .* is more than XLA can count"):
        memory(None, parse_hlo(text))
