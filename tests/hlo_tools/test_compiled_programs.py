"""Ten programs compiled for eight CPU devices: what we read from their dumps against what XLA says of them."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
from contract_lint.contracts.manifest import Leaf, StepFacts
from contract_lint.hlo_tools.heap import replay, schedule_positions
from contract_lint.hlo_tools.memory import Buffer, MemoryLedger, memory
from contract_lint.hlo_tools.module import Computation, HloModule, Instruction, parse_hlo
from contract_lint.hlo_tools.proto import HloProto, parse_proto
from contract_lint.hlo_tools.proto_module import ProtoModule
from contract_lint.hlo_tools.roles import classify

CHILD = Path(__file__).parent / "programs_child.py"
PROGRAMS = (
    *("momentum", "not_donated", "no_remat", "adam_microbatched", "known_peak"),
    *("branches", "gathered", "table", "while_loop", "bf16"),
)
LAYERS, WIDTH, ROWS, INPUT = 4, 256, 32, 64
PARAMETER_BYTES = (LAYERS * WIDTH * WIDTH + INPUT * WIDTH) * 4 // 4

# What the two spellings do not share: texts print them, no ledger reads them.
UNREAD = {"window", "is_stable", "type", "order", "metadata", "offset_dims", "collapsed_slice_dims"}
UNREAD |= {"backend_config"}  # compared as a value: versions differ in the order of its keys
UNREAD |= {"start_index_map", "index_vector_dim", "indices_are_sorted", "operand_precision", "layout"}


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    command = [sys.executable, str(CHILD), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def said(dumps: Path) -> dict:
    return json.loads((dumps / "programs.json").read_text())


def proto_of(dumps: Path, name: str) -> HloProto:
    (path,) = (dumps / name).glob("*cpu_after_optimizations.hlo.pb")
    return parse_proto(path.read_bytes())


def ledger_of(dumps: Path, name: str) -> MemoryLedger:
    return memory(proto_of(dumps, name))


@pytest.mark.parametrize("name", PROGRAMS)
def test_sums_are_those_of_memory_analysis(dumps: Path, said: dict, name: str) -> None:
    ledger = ledger_of(dumps, name)
    assert {key: getattr(ledger, key) for key in said[name]} == said[name]
    sums = said[name]
    unaliased = sums["output_bytes"] - sums["alias_bytes"]
    assert ledger.need_bytes == sums["argument_bytes"] + unaliased + sums["temp_bytes"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_alone_gives_the_peak(dumps: Path, name: str) -> None:
    """The peak within 2 % of what XLA's heap simulator traced; temporaries up to the order of tables of pointers."""
    (path,) = (dumps / name).glob("*cpu_after_optimizations.txt")
    found, traced = memory(None, parse_hlo(path.read_bytes())), ledger_of(dumps, name)
    assert found.method == "liveness" and traced.method == "heap-trace"
    assert found.argument_bytes == traced.argument_bytes
    assert abs(found.peak_bytes - traced.peak_bytes) <= traced.peak_bytes / 50
    assert abs(found.temp_bytes - traced.temp_bytes) < 128
    known = found.peak_bytes - found.by_class.get("unknown", 0)
    assert known >= 0.95 * found.peak_bytes


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_buffers_and_the_timeline_explain_the_peak(dumps: Path, name: str) -> None:
    ledger = ledger_of(dumps, name)
    assert ledger.method == "heap-trace"
    assert sum(buffer.bytes for buffer in ledger.buffers) == ledger.peak_bytes
    assert sum(ledger.by_class.values()) == ledger.peak_bytes
    assert sum(size for _, size in ledger.by_scope) == sum(size for _, size in ledger.by_source) == ledger.peak_bytes
    assert max(live for _, live in ledger.timeline) == ledger.peak_bytes
    assert [index for index, _ in ledger.timeline] == sorted({index for index, _ in ledger.timeline})
    assert all(b.first <= (ledger.peak_index or 0) <= b.last for b in ledger.buffers)


@pytest.mark.parametrize("name", PROGRAMS)
def test_buffers_live_at_the_peak_have_addresses_that_do_not_overlap(dumps: Path, name: str) -> None:
    """XLA gave each buffer an address: two that are live together share no byte, so the replay counts none too many."""
    proto = proto_of(dumps, name)
    assert proto.assignment is not None
    standing = {b for a in proto.assignment.allocations if not a.is_temp for b, _, _ in a.assigned}
    places = {
        b: (a.index, offset, offset + size)
        for a in proto.assignment.allocations
        if a.is_temp
        for b, offset, size in a.assigned
    }
    for done in replay(proto.assignment, schedule_positions(proto.module), standing).get(0, []):
        ranges = sorted(places[span.buffer_id] for span in done.live)
        assert all(before[0] != after[0] or before[2] <= after[1] for before, after in pairwise(ranges))
        packed = sum(a.size for a in proto.assignment.allocations if a.is_temp)
        assert packed * 0.8 <= done.peak_bytes <= packed


def test_a_peak_that_can_be_counted_by_hand(dumps: Path) -> None:
    """x, sin(x) and cos(sin(x)) are 2 MiB shards of f32[2048,2048]; the product needs the last one whole, 16 MiB."""
    ledger = ledger_of(dumps, "known_peak")
    shard, whole = 2048 * 2048 * 4 // 8, 2048 * 2048 * 4
    assert ledger.peak_bytes == ledger.need_bytes == 3 * shard + whole + 4
    assert ledger.by_class["collective"] == whole
    assert ledger.buffers[0].bytes == whole
    assert ledger.buffers[0].source is not None
    assert ledger.buffers[0].source.split("/")[-1].startswith("programs_child.py:")


XPROF = """
import json, os, shutil, sys
from xprof.convert import raw_to_tool_data
run = os.path.join(sys.argv[2], "plugins", "profile", "run")
os.makedirs(run)
shutil.copy(sys.argv[1], os.path.join(run, "m.hlo_proto.pb"))
open(os.path.join(run, "x.xplane.pb"), "w").close()
options = {"module_name": "m", "memory_space": "0"}
found, _ = raw_to_tool_data.xspace_to_tool_data([os.path.join(run, "x.xplane.pb")], "memory_viewer", options)
print(json.loads(found)["peakHeapMib"])
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_peak_is_that_of_the_memory_viewer_of_xprof(dumps: Path, name: str, tmp_path: Path) -> None:
    if find_spec("xprof") is None:
        pytest.skip("xprof is not installed: pip install xprof==2.24.2")
    (dump,) = (dumps / name).glob("*cpu_after_optimizations.hlo.pb")
    command = [sys.executable, "-c", XPROF, str(dump), str(tmp_path / "log")]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True).stdout
    assert ledger_of(dumps, name).peak_bytes == round(float(shown.split()[-1]) * 2**20)


@pytest.mark.parametrize(("name", "slots"), [("momentum", 1), ("not_donated", 1), ("adam_microbatched", 2)])
def test_state_is_counted_by_class_without_a_capture(dumps: Path, name: str, slots: int) -> None:
    ledger = ledger_of(dumps, name)
    assert ledger.by_class["parameter"] == PARAMETER_BYTES
    assert ledger.by_class["optimizer_slot"] == slots * PARAMETER_BYTES
    assert ledger.state_bytes == (1 + slots) * PARAMETER_BYTES + 4
    assert ledger.by_class.get("unknown", 0) <= 0.05 * ledger.peak_bytes


PASSING = {"activation_temporary", "collective", "layout_copy"}
"""What a value of one layer may be: made, gathered, or brought into another order."""
STATE = {(LAYERS, INPUT, WIDTH), (INPUT, WIDTH // 4)}
"""One device's shapes of the two parameters, and so of their slots and gradients."""


def truth(buffer: Buffer) -> set[str]:
    """The classes a buffer of the training steps can have, by where it stands and the shape it was planted with."""
    dims = tuple(int(size) for size in buffer.shape.partition("[")[2].partition("]")[0].split(",") if size)
    if "/params/" in f"/{buffer.scope}/" and buffer.source is None and buffer.first == 0:
        return {"parameter"}
    if {"mu", "nu"} & set(buffer.scope.split("/")):
        return {"optimizer_slot"}
    if buffer.class_ == "output":
        return {"output"} if dims in STATE or buffer.bytes < 100 else set()
    if dims in STATE:
        return {"gradient"}
    if dims == (LAYERS, ROWS, INPUT):
        return {"activation_saved"}
    return {"input"} if buffer.scope in ("b", "batch") else PASSING


@pytest.mark.parametrize("name", ["momentum", "not_donated", "no_remat", "adam_microbatched"])
def test_every_buffer_that_was_planted_has_its_class(dumps: Path, name: str) -> None:
    """All but scalars and constants, and together at least 95 % of the peak."""
    ledger = ledger_of(dumps, name)
    large = [buffer for buffer in ledger.buffers if buffer.bytes >= 1024]
    wrong = [(b.name, b.shape, b.class_) for b in large if b.class_ not in truth(b)]
    assert wrong == []
    assert sum(buffer.bytes for buffer in large) >= 0.95 * ledger.peak_bytes
    assert ledger.by_class.get("unknown", 0) <= 0.05 * ledger.peak_bytes


def test_what_recomputing_frees(dumps: Path) -> None:
    """Within 20 % of what it freed when it was done."""
    ledger = ledger_of(dumps, "no_remat")
    (action,) = (each for each in ledger.actions if each.kind == "recompute")
    freed = ledger.peak_bytes - ledger_of(dumps, "momentum").peak_bytes
    assert abs(action.frees_bytes - freed) <= 0.2 * freed


def test_what_donating_frees(dumps: Path) -> None:
    """In a small step too: what the results' memory was used for before has to live elsewhere, and they do not."""
    ledger = ledger_of(dumps, "not_donated")
    (action,) = (each for each in ledger.actions if each.kind == "donate")
    freed = ledger.peak_bytes - ledger_of(dumps, "momentum").peak_bytes
    assert abs(action.frees_bytes - freed) <= 0.2 * freed


def test_what_remat_saves_and_what_it_does_not(dumps: Path) -> None:
    """With remat one activation for each layer is saved, f32[4,32,64]; without it the peak is higher."""
    remat, plain = ledger_of(dumps, "momentum"), ledger_of(dumps, "no_remat")
    saved = [buffer for buffer in remat.buffers if buffer.class_ == "activation_saved"]
    assert [(buffer.shape, buffer.bytes) for buffer in saved] == [("f32[4,32,64]{2,1,0}", LAYERS * ROWS * 64 * 4)]
    assert plain.peak_bytes > remat.peak_bytes


def test_gradients_are_known_by_shape_and_place(dumps: Path) -> None:
    """The accumulators of both parameters stand through the loop over microbatches."""
    ledger = ledger_of(dumps, "adam_microbatched")
    gradients = sorted((b.bytes for b in ledger.buffers if b.class_ == "gradient"), reverse=True)
    assert sum(gradients) >= PARAMETER_BYTES
    assert gradients[0] == LAYERS * WIDTH * WIDTH


def test_an_output_that_shares_nothing_is_counted_once_more(dumps: Path) -> None:
    donated, kept = ledger_of(dumps, "momentum"), ledger_of(dumps, "not_donated")
    assert kept.by_class["output"] - donated.by_class["output"] == donated.alias_bytes
    assert kept.alias_bytes == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_and_proto_give_the_same_module(dumps: Path, name: str) -> None:
    compared = 0
    for proto in sorted((dumps / name).glob("*.hlo.pb")):
        text = proto.with_name(proto.name.removesuffix(".hlo.pb") + ".txt")
        compared += _assert_same(parse_hlo(text.read_text()), parse_hlo(proto.read_bytes()))
    assert compared > 10


def spelled(instruction: Instruction, text: Computation) -> str:
    """The name in a text: newer ones write element 1 of x as `x#1` where it is used, and no line of its own."""
    if instruction.opcode != "get-tuple-element" or text.find(instruction.name) is not None:
        return instruction.name
    return f"{spelled(instruction.operands[0], text)}#{instruction.tuple_index}"


def _assert_same(text: HloModule, proto: HloModule) -> int:
    assert isinstance(proto, ProtoModule)
    assert text.entry.name == proto.entry.name
    assert text.num_partitions == proto.num_partitions == 8
    assert text.is_scheduled == proto.is_scheduled
    assert text.attributes.get("input_output_alias") == proto.attributes.get("input_output_alias")
    assert {c.name for c in text.computations} == {c.name for c in proto.computations}
    count = 0
    for computation in text.computations:
        other = proto.find(computation.name)
        assert other is not None
        written = [i for i in other if "#" not in spelled(i, computation)]
        assert [i.name for i in computation] == [i.name for i in written]
        assert computation.root.name == other.root.name
        assert computation.opcodes() == [i.opcode for i in written]
        for ours, theirs in zip(computation, written, strict=True):
            count += 1
            where = f"{computation.name}/{ours.name}"
            assert ours.shape.text == theirs.shape.text, where
            assert [o.name for o in ours.operands] == [spelled(o, computation) for o in theirs.operands], where
            # An element that nobody uses is not written at all.
            users = {name for o in theirs.users if "#" not in (name := spelled(o, computation)) or o.users}
            assert {o.name for o in ours.users} == users, where
            assert [c.name for c in ours.called] == [c.name for c in theirs.called], where
            assert ours.op_name == theirs.op_name, where
            assert ours.frames == theirs.frames, where
            assert ours.source == theirs.source, where
            assert ours.channel_id == theirs.channel_id, where
            assert ours.parameter_number == theirs.parameter_number, where
            assert ours.tuple_index == theirs.tuple_index, where
            assert ours.backend_config == theirs.backend_config, where
            assert ours.frontend_attributes == theirs.frontend_attributes, where
            if "{" not in ours.operand_text and "#" not in ours.operand_text:
                assert ours.operand_text.replace("%", "") == theirs.operand_text.replace("%", ""), where
            for key in ours.attributes.keys() - UNREAD:
                text = re.sub(r"(/\*index=\d+\*/|\s)+", " ", ours.attributes[key])
                assert text == theirs.attributes.get(key), f"{where} {key}"
            assert not theirs.attributes.keys() - ours.attributes.keys(), where
    return count


def facts_of(rows: list[dict]) -> StepFacts:
    return StepFacts(step="train", entry="m:build", arguments=[Leaf(**row) for row in rows])


def test_roles_of_a_flax_model_and_optimizer(said: dict) -> None:
    facts = facts_of(said["nnx leaves"])
    found = {f"{leaf.argument}/{leaf.path}": kind for leaf, kind in zip(facts.arguments, classify(facts), strict=True)}
    assert found == {
        "model/bias/value": "parameter",
        "model/kernel/value": "parameter",
        "optimizer/opt_state/0/count/value": "counter",
        "optimizer/opt_state/0/mu/bias/value": "optimizer_slot",
        "optimizer/opt_state/0/mu/kernel/value": "optimizer_slot",
        "optimizer/opt_state/0/nu/bias/value": "optimizer_slot",
        "optimizer/opt_state/0/nu/kernel/value": "optimizer_slot",
        "optimizer/step/value": "counter",
        "batch/x": "batch",
    }


def test_roles_of_an_optax_chain_in_one_state(said: dict) -> None:
    facts = facts_of(said["optax leaves"])
    found = {f"{leaf.argument}/{leaf.path}": kind for leaf, kind in zip(facts.arguments, classify(facts), strict=True)}
    assert found.pop("state/key") == "rng"
    assert found.pop("state/opt/1/count") == "counter"
    assert found.pop("batch/x") == "batch"
    assert {path for path, kind in found.items() if kind == "parameter"} == {
        "state/params/dense/bias",
        "state/params/dense/kernel",
    }
    assert sum(kind == "optimizer_slot" for kind in found.values()) == 6
    assert len(found) == 8
