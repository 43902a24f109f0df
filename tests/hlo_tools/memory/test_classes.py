"""The class of every buffer of programs that were planted so that it is known."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from contract_lint.hlo_tools.memory import Buffer, MemoryLedger, memory
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.proto import parse_proto
from contract_lint.runtime.targets.readiness import readiness

CHILD = Path(__file__).parent / "classes_child.py"
RIGHT = 0.95
"""The least part of the peak that has to have its class."""
ENVIRONMENT = {
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-8",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_LOG_DIR": "disabled",
    "CUDA_VISIBLE_DEVICES": "",
}
STATE = {(6, 384, 1536), (6, 1536, 384)}
WEIGHTS = {(384, 1536), (1536, 384), (1, 384, 1536), (1, 1536, 384)}
"""One layer's: a slice of the parameters, or their gradients."""
TEMPORARY = {"activation_temporary", "layout_copy"}


def dims_of(buffer: Buffer) -> tuple[int, ...]:
    inside = buffer.shape.partition("[")[2].partition("]")[0]
    return tuple(int(size) for size in inside.split(",") if size)


def is_argument(buffer: Buffer) -> bool:
    return buffer.name.startswith("param") and buffer.source is None and buffer.first == 0


def of_step(buffer: Buffer) -> set[str]:
    """What a buffer of a training step is: only its slots are bfloat16, and on a TPU what it saves and multiplies."""
    dims, half = dims_of(buffer), buffer.shape.startswith("bf16")
    if is_argument(buffer):
        return {"optimizer_slot" if half else "parameter"} if dims in STATE else {"input"}
    if dims in STATE:
        return {"output", "activation_temporary"} if half else {"output", "gradient"}
    if len(dims) == 3 and dims[0] == 6:
        return {"activation_saved"}
    return TEMPORARY | ({"gradient"} if dims in WEIGHTS else set())


def by_shape(arguments: str, **classes: set[str]) -> Callable[[Buffer], set[str]]:
    """Dimensions, written `d1000x640`, -> classes; what has none of these is temporary, arguments are `arguments`."""
    known = {tuple(map(int, name.lstrip("d").split("x"))): found for name, found in classes.items()}

    def truth(buffer: Buffer) -> set[str]:
        return {arguments} if is_argument(buffer) else known.get(dims_of(buffer), TEMPORARY)

    return truth


def of_sort(buffer: Buffer) -> set[str]:
    """The whole of a float array is gathered; indices are sorted with it, in the result's memory or beside it."""
    if is_argument(buffer):
        return {"argument"}
    return {"output", "activation_temporary"} if buffer.shape.startswith("s32[") else {"collective"}


def of_inference(buffer: Buffer) -> set[str]:
    if is_argument(buffer):
        return {"input" if buffer.scope == "tokens" else "parameter"}
    return {"output"} if dims_of(buffer) == (512, 320) else TEMPORARY


SENT = {"collective"}
TRUTH: dict[str, Callable[[Buffer], set[str]]] = {
    "saved": of_step,
    "remat": of_step,
    "unnamed": of_step,
    "exchanged": by_shape("argument", d1032x520=SENT, d640x129=SENT, d5120x129=SENT),
    "ordered": of_sort,
    "looked_up": by_shape("input", d1000x640={"constant"}, d64x640={"output"}),
    "narrow": by_shape("argument", d1048576={"output"}),
    "turned": by_shape("argument", d8x40x56x56={"output"}, d3x3x24x40={"layout_copy"}, d40x3x3x24={"layout_copy"}),
    "applied": of_inference,
}
ON = {
    "cpu": tuple(TRUTH),
    "tpu": ("saved", "ordered", "looked_up", "narrow"),
    "cuda": ("saved", "narrow", "turned"),
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a platform's programs, compiled when it is asked for first."""
    done: dict[str, Path] = {}

    def folder(platform: str) -> Path:
        if platform not in done:
            if platform != "cpu" and not (found := readiness(platform)).ready:
                pytest.skip(f"{platform}: {found.missing}")
            made = tmp_path_factory.mktemp(platform)
            command = [sys.executable, str(CHILD), platform, str(made)]
            run = subprocess.run(command, capture_output=True, text=True, env=os.environ | ENVIRONMENT, check=False)
            assert run.returncode == 0, run.stderr[-3000:]
            done[platform] = made
        return done[platform]

    return folder


def ledgers(folder: Path) -> dict[str, MemoryLedger]:
    """From the proto, and from the text alone."""
    (proto,) = (path for path in folder.iterdir() if path.name.endswith("after_optimizations.hlo.pb"))
    text = proto.with_name(proto.name.removesuffix(".hlo.pb") + ".txt").read_bytes()
    data = proto.read_bytes()
    return {"proto": memory(parse_proto(data), parse_hlo(data)), "text": memory(None, parse_hlo(text))}


def wrong(ledger: MemoryLedger, truth: Callable[[Buffer], set[str]]) -> list[Buffer]:
    return [buffer for buffer in ledger.buffers if buffer.class_ not in truth(buffer)]


@pytest.mark.slow
@pytest.mark.parametrize(("platform", "name"), [(platform, name) for platform, names in ON.items() for name in names])
def test_class_of_what_was_planted(compiled: Callable[[str], Path], platform: str, name: str) -> None:
    for source, ledger in ledgers(compiled(platform) / name).items():
        missed = wrong(ledger, TRUTH[name])
        right = ledger.peak_bytes - sum(buffer.bytes for buffer in missed)
        print(f"{name} on {platform} by {source}: {right / ledger.peak_bytes:.2%} of {ledger.peak_bytes:,} bytes")
        assert right >= RIGHT * ledger.peak_bytes, [(b.name, b.shape, b.bytes, b.class_) for b in missed]
        assert ledger.by_class.get("unknown", 0) <= (1 - RIGHT) * ledger.peak_bytes
        results = sum(buffer.bytes for buffer in ledger.buffers if buffer.class_ == "output")
        assert results == ledger.output_bytes - ledger.alias_bytes


@pytest.mark.slow
def test_padding_of_tiles_is_a_class_of_its_own(compiled: Callable[[str], Path]) -> None:
    """f32[1048576,4] in tiles of 8 x 128 takes 32 times its elements."""
    for ledger in ledgers(compiled("tpu") / "narrow").values():
        padded = 1048576 * 128 * 4 - 1048576 * 4 * 4
        assert padded <= ledger.by_class["padding"] <= padded + 4096


HEADER = "HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[512,512]{1,0})->f32[512,512]{1,0}}\n\n"
SCRATCH = """ENTRY %main (x: f32[512,512]) -> f32[512,512] {
  %x = f32[512,512]{1,0} parameter(0), metadata={op_name="x"}
  %gemm = (f32[512,512]{1,0}, s8[4194304]{0}) custom-call(%x, %x), custom_call_target="__cublas$gemm",
    metadata={op_name="jit(f)/dot_general"}
  %product = f32[512,512]{1,0} get-tuple-element(%gemm), index=0
  ROOT %sin = f32[512,512]{1,0} sine(%product), metadata={op_name="jit(f)/sin"}
}
"""
KERNEL = SCRATCH.replace("__cublas$gemm", "tpu_custom_call")
TWO_RESULTS = SCRATCH.replace("s8[4194304]", "s8[2048,2048]").replace("{0}) custom", "{1,0}) custom")
TURNED = """ENTRY %main (x: f32[512,512]) -> f32[512,512] {
  %x = f32[512,512]{1,0} parameter(0), metadata={op_name="x"}
  %sin = f32[512,512]{1,0} sine(%x), metadata={op_name="jit(f)/sin"}
  %copy = f32[512,512]{0,1} copy(%sin)
  ROOT %call = f32[512,512]{1,0} custom-call(%copy), custom_call_target="eigh", metadata={op_name="jit(f)/eigh"}
}
"""
KEPT_APART = TURNED.replace("{0,1} copy", "{1,0} copy")


def classes(text: str) -> dict[str, str]:
    return {buffer.name: buffer.class_ for buffer in memory(None, parse_hlo(HEADER + text)).buffers}


@pytest.mark.parametrize("text", [SCRATCH, KERNEL])
def test_workspace_of_a_kernel(text: str) -> None:
    assert classes(text)["gemm{1}"] == "kernel_scratch"


def test_an_array_of_bytes_that_a_kernel_returns_is_no_workspace() -> None:
    assert classes(TWO_RESULTS)["gemm{1}"] == "activation_temporary"


def test_a_copy_is_one_of_the_layout_only_where_that_changes() -> None:
    assert classes(TURNED)["copy"] == "layout_copy"
    assert classes(KEPT_APART)["copy"] == "activation_temporary"


GATHERED = """ENTRY %main (w: f32[64,512], x: f32[96,512]) -> f32[64,512] {
  %w = f32[64,512]{1,0} parameter(0), metadata={op_name="params['w']"}
  %x = f32[96,512]{1,0} parameter(1), metadata={op_name="x"}
  %all = f32[512,512]{1,0} all-gather(%w), replica_groups={}, dimensions={0}
  %y = f32[96,512]{1,0} dot(%x, %all), lhs_contracting_dims={1}, rhs_contracting_dims={0},
    metadata={op_name="jit(f)/jvp()/dot_general"}
  %dy = f32[96,512]{1,0} sine(%y), metadata={op_name="jit(f)/transpose(jvp())/mul"}
  %dw = f32[512,512]{1,0} dot(%y, %dy), lhs_contracting_dims={0}, rhs_contracting_dims={0},
    metadata={op_name="jit(f)/transpose(jvp())/dot_general"}
  ROOT %sum = f32[64,512]{1,0} reduce-scatter(%dw), replica_groups={}, dimensions={0}, to_apply=%add
}
"""
KEPT_SPLIT = GATHERED.replace("all-gather(%w), replica_groups={}, dimensions={0}", "constant({...})")


def test_a_gradient_that_waits_to_be_summed_over_devices_is_as_large_as_the_gathered_parameter() -> None:
    assert classes(GATHERED)["dw"] == "gradient"
    assert classes(KEPT_SPLIT)["dw"] == "activation_temporary"


PLACED = KEPT_SPLIT.replace("parameter(0),", "parameter(0), sharding={devices=[8,1]<=[8]},")


def test_a_placement_tells_how_large_a_parameter_is_over_all_devices() -> None:
    """No gather of `w` in this program: the product is worked out from parts."""
    assert classes(PLACED)["dw"] == "gradient"


@pytest.mark.parametrize(("placement", "shrunk"), [("[4,1,2]", {"w"}), ("[1,1,8]", {"w", "dw"})])
def test_splitting_parameters_further_leaves_gradients_that_wait_to_be_summed(placement: str, shrunk: set[str]) -> None:
    """What is one device's part before it is summed becomes smaller with the parameter's; the whole does not."""
    rows = 512 // int(placement[1])
    text = KEPT_SPLIT.replace(
        "[64,512]{1,0} parameter(0),",
        f"[{rows},512]{{1,0}} parameter(0), sharding={{devices={placement}<=[8] last_tile_dim_replicate}},",
    )
    header = HEADER.replace("jit_f,", "jit_f, num_partitions=8,")
    (shard,) = (a for a in memory(None, parse_hlo(header + text)).actions if a.kind == "shard")
    assert set(shard.buffers) == shrunk
