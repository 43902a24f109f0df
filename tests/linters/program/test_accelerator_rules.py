"""Rules on what only an accelerator's program shows, each on a small bad program and its good twin."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

from contract_lint.contracts.finding import Finding
from contract_lint.contracts.load import load_contract
from contract_lint.contracts.made_from import made_from
from contract_lint.hlo_tools.capture import read_capture
from contract_lint.linters.judge import judge

CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "m:build" } }
targets: ["TARGET"]
mesh: { axes: { data: 2, fsdp: 4 } }
batch: { size: 16, axes: [data, fsdp] }
"""
LAYOUT = "entry_computation_layout={(f32[4,8]{1,0}, s32[2,4]{1,0})->(f32[4,8]{1,0})}, "
PLAIN = f"""HloModule m, input_output_alias={{ {{0}}: (0, {{}}, may-alias) }}, {LAYOUT}num_partitions=8

%add (a: f32[], b: f32[]) -> f32[] {{
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}}

ENTRY main (w: f32[4,8], x: s32[2,4]) -> (f32[4,8]) {{
  %w = f32[4,8]{{1,0}} parameter(0)
  %x = s32[2,4]{{1,0}} parameter(1)
  ROOT %y = (f32[4,8]{{1,0}}) tuple(%w)
}}
"""
SOURCE = 'metadata={op_name="jit(f)/f" source_file="train.py" source_line=LINE}'
TPU, SLICES, CUDA = "tpu:v5e:2x4", "tpu:v5e:2x2:slices=2", "cuda:h100:1x8"


def with_instruction(text: str, line: int = 7) -> str:
    """The program with one more instruction, of a line of train.py."""
    return PLAIN.replace("  ROOT %y", f"  {text}, {SOURCE.replace('LINE', str(line))}\n  ROOT %y")


def leaf(argument: str, path: str, shape: list[int], dtype: str, spec: list[list[str]], **more: Any) -> dict[str, Any]:
    return {"argument": argument, "path": path, "shape": shape, "dtype": dtype, "spec": spec} | more


def facts(path: str) -> dict[str, Any]:
    split = [["data"], []]
    state = leaf("state", path, [8, 8], "float32", split, local_shape=[4, 8], bytes=128, parameter=0)
    batch = leaf("batch", "x", [16, 4], "int32", [["data", "fsdp"], []], local_shape=[2, 4], bytes=32, parameter=1)
    frame = {"path": "train.py", "line": 9, "function": "layer"}
    loops = [{"primitive": "scan", "length": 2, "depth": 0}]
    return {
        "step": "train",
        "entry": "m:build",
        "made_from": made_from("m:build", {}, {}, None),
        "argument_names": ["state", "batch"],
        "donate": ["state"],
        "carry": {"0": "state"},
        "arguments": [state | {"donated": True, "aliased": True}, batch],
        "outputs": [leaf("", f"0/{path}", [8, 8], "float32", split, local_shape=[4, 8], bytes=128)],
        "jaxpr": {
            "equations": 12,
            "loops": loops,
            "remats": [{"policy": "offload", "loop_depth": 1, "frames": [frame]}],
        },
        "memory": {"argument_bytes": 160, "output_bytes": 136, "alias_bytes": 128, "temp_bytes": 64, "code_bytes": 0},
    }


def found(
    folder: Path,
    contract: str,
    program: str = PLAIN,
    optimized: str | None = None,
    target: str = TPU,
    effort: str = "full",
    path: str = "params/w",
) -> list[Finding]:
    """Findings on a capture of one step of `program`, after partitioning and (if it is another) when optimised."""
    content = {
        "train/facts.json": json.dumps(facts(path)).encode(),
        "train/partitioned.hlo.txt.gz": gzip.compress(program.encode()),
        "train/optimized.hlo.txt.gz": gzip.compress((optimized or program).encode()),
    }
    for name, data in content.items():
        (folder / "c" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "c" / name).write_bytes(data)
    mesh: dict[str, Any] = {"axes": {"data": 2, "fsdp": 4}, "device_ids": list(range(8))}
    text = CONTRACT.replace("TARGET", target) + contract
    if target == SLICES:
        mesh |= {"dcn": {"data": 2}, "device_ids": [100000 * (1 + i // 4) + i % 4 for i in range(8)]}
        text = text.replace("fsdp: 4 }", "fsdp: 4 }, dcn: { data: 2 }", 1)
    provenance = {"tool": "0", "python": "3", "contract_digest": "d", "target": target, "effort": effort}
    manifest = {
        "schema_version": 1,
        "provenance": provenance,
        "devices": 8,
        "device_kind": "any",
        "mesh": mesh,
        "steps": ["train"],
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in content.items()},
    }
    (folder / "c" / "manifest.json").write_text(json.dumps(manifest))
    (folder / "train.contract.yaml").write_text(text)
    loaded = load_contract(folder / "train.contract.yaml", folder)
    assert loaded.contract is not None, loaded.findings
    return [each for each in judge(loaded, [read_capture(folder / "c")]) if each.code != "JIT210"]


def one(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding


def test_a_kernel_is_named_at_its_line(tmp_path: Path) -> None:
    call = with_instruction('%k = f32[4,8]{1,0} custom-call(%w), custom_call_target="tpu_custom_call"')
    finding = one(found(tmp_path, "graph: { kernels: forbid }\n", call))
    assert (finding.code, finding.key, finding.found) == ("JIT211", "graph.kernels", "tpu_custom_call")
    assert finding.location is not None and (finding.location.path, finding.location.line) == ("train.py", 7)
    assert found(tmp_path, "graph: { kernels: [tpu_custom_call] }\n", call) == []
    assert found(tmp_path, "graph: { kernels: allow }\n", call) == []
    assert one(found(tmp_path, "graph: { kernels: [other] }\n", call)).expected == "other"


def test_what_jax_calls_by_itself_is_no_kernel(tmp_path: Path) -> None:
    for name in ("Sharding", "TopK", "MoveToHost", "lapack_spotrf_ffi", "__cublas$gemm", "xla_ffi_python_cpu_callback"):
        call = with_instruction(f'%k = f32[4,8]{{1,0}} custom-call(%w), custom_call_target="{name}"')
        assert found(tmp_path, "graph: { kernels: forbid }\n", call) == [], name


def test_padding_of_parameters(tmp_path: Path) -> None:
    """f32[4,8] takes a whole tile of 8 x 128: 4,096 bytes for 128."""
    tiled = PLAIN.replace("%w = f32[4,8]{1,0}", "%w = f32[4,8]{1,0:T(8,128)}")
    finding = one(found(tmp_path, "memory: { padding_max: 25% }\n", tiled))
    assert (finding.code, finding.key, finding.found) == ("MEM210", "memory.padding_max", "3100%")
    assert finding.evidence == ("params/w: f32[4,8]{1,0:T(8,128)} takes 4.00 KiB for 128 B",)
    assert found(tmp_path, "memory: { padding_max: 31.0 }\n", tiled) == []
    assert found(tmp_path, "memory: { padding_max: 0% }\n") == []
    assert found(tmp_path, "memory: {}\n", tiled) == []


def test_parameters_and_slots_kept_on_the_host(tmp_path: Path) -> None:
    for path, what in (("params/w", "parameter"), ("opt_state/mu/w", "optimizer_slot")):
        contract = f"memory: {{ offload: [{what}] }}\n"
        finding = one(found(tmp_path, contract, path=path))
        assert (finding.code, finding.key, finding.severity) == ("MEM209", "memory.offload[0]", "error")
        on_host = PLAIN.replace("{(f32[4,8]{1,0},", "{(f32[4,8]{1,0:S(5)},")
        assert found(tmp_path, contract, on_host, path=path) == []
    described = one(found(tmp_path, "memory: { offload: [parameter] }\n", target=CUDA))
    assert (described.severity, described.confidence) == ("warning", "likely")


def test_activations_kept_on_the_host(tmp_path: Path) -> None:
    contract = "memory: { offload: [activations] }\n"
    finding = one(found(tmp_path, contract))
    assert (finding.code, finding.key) == ("MEM209", "memory.offload[0]")
    assert finding.location is not None and (finding.location.path, finding.location.line) == ("train.py", 9)
    moved = with_instruction("%s = f32[4,8]{1,0:S(5)} dynamic-update-slice(%w, %w)")
    assert found(tmp_path, contract, moved) == []
    assert found(tmp_path, contract, target="cpu:8") == []


def gather(axis: str, dtype: str = "f32") -> str:
    """An all-gather of the parameter: over `data`, which lies between slices, or over `fsdp`, which does not."""
    groups = "{{0,4},{1,5},{2,6},{3,7}}" if axis == "data" else "{{0,1,2,3},{4,5,6,7}}"
    size = 2 if axis == "data" else 4
    return with_instruction(
        f"%v = {dtype}[4,8]{{1,0}} convert(%w)\n  %g = {dtype}[{4 * size},8]{{1,0}} all-gather(%v), channel_id=1, "
        f"replica_groups={groups}, use_global_device_ids=true, dimensions={{0}}"
    )


def test_bytes_between_slices(tmp_path: Path) -> None:
    """8 x 8 f32 over two slices: each device sends half of it, 128 bytes."""
    contract = "collectives: {{ expect: [{{ kind: all-gather, axes: {}, count: 1 }}], dcn_max: {} }}\n"
    finding = one(found(tmp_path, contract.format("data", "127B"), gather("data"), target=SLICES))
    assert (finding.code, finding.key, finding.found) == ("SHD216", "collectives.dcn_max", "128 bytes")
    assert finding.location is not None and (finding.location.path, finding.location.line) == ("train.py", 7)
    assert found(tmp_path, contract.format("data", "128B"), gather("data"), target=SLICES) == []
    assert found(tmp_path, contract.format("fsdp", "0B"), gather("fsdp"), target=SLICES) == []
    assert found(tmp_path, contract.format("data", "0B"), gather("data"), target=TPU) == []


def test_the_dtype_on_the_wire(tmp_path: Path) -> None:
    contract = "collectives: { expect: [{ kind: all-gather, axes: fsdp, count: 1, dtype: bfloat16 }] }\n"
    finding = one(found(tmp_path, contract, gather("fsdp")))
    assert (finding.code, finding.key) == ("NUM203", "collectives.expect[0].dtype")
    assert (finding.expected, finding.found) == ("bf16", "f32")
    assert finding.location is not None and (finding.location.path, finding.location.line) == ("train.py", 7)
    assert found(tmp_path, contract, gather("fsdp", "bf16")) == []
    unplanned = contract.replace("count: 1", "count: 2")
    assert [each.code for each in found(tmp_path, unplanned, gather("fsdp"))] == ["SHD205"]


def test_the_totals_of_an_unplanned_line_are_those_of_its_rows(tmp_path: Path) -> None:
    """Two gathers of fsdp on two lines; one is promised, and the other is at fault."""
    small = with_instruction(
        "%h = f32[4,4]{1,0} all-gather(%p), channel_id=2, replica_groups={{0,1,2,3},{4,5,6,7}}, "
        "use_global_device_ids=true, dimensions={0}",
        line=5,
    ).split("%y = ")[0]
    lines = [line for line in small.splitlines() if "%h = " in line]
    piece = "  %p = f32[1,4]{1,0} slice(%w), slice={[0:1], [0:4]}\n"
    program = gather("fsdp").replace("  ROOT %y", f"{piece}{lines[0]}\n  ROOT %y")
    contract = "collectives: { expect: [{ kind: all-gather, axes: fsdp, count: 1, elements: 16 }] }\n"
    finding = one(found(tmp_path, contract, program))
    assert finding.code == "SHD204" and ": 1 execution, 128 elements," in finding.message
    assert finding.found == "1 execution, 128 elements here; 2 executions, 144 elements in all"
    assert finding.expected == "1 execution, 16 elements"
    bare = found(tmp_path, "collectives: { expect: [] }\n", program)
    assert [(each.expected, each.found) for each in bare] == [
        ("none", "1 execution, 16 elements"),
        ("none", "1 execution, 128 elements"),
    ]


def test_two_lines_of_one_function_are_two_findings(tmp_path: Path) -> None:
    """Of one function, kind and axes: both are told, on every target the same, and a shifted file changes neither."""
    program = gather("fsdp")
    call = next(line for line in program.splitlines() if "%g = " in line).replace("%g =", "%h =")
    call = call.replace("(%v)", "(%n)")
    other = "  %n = f32[4,8]{1,0} negate(%v)\n"
    both = program.replace("  ROOT %y", f"{other}{call.replace('source_line=7', 'source_line=9')}\n  ROOT %y")
    contract = "collectives: { expect: [] }\n"
    first, second = found(tmp_path, contract, both)
    assert first.location is not None and second.location is not None
    assert [(each.code, each.subject) for each in (first, second)] == [("SHD204", first.subject)] * 2
    assert (first.location.line, second.location.line) == (7, 9) and first.fingerprint != second.fingerprint
    shifted = found(tmp_path, contract, both.replace("source_line=7", "source_line=5"))
    assert [each.fingerprint for each in shifted] == [first.fingerprint, second.fingerprint]
    assert one(found(tmp_path, contract, program)).fingerprint == first.fingerprint


def test_what_no_rewrite_explains_is_told_for_each_side(tmp_path: Path) -> None:
    """Executions and elements agree, the dtype does not, and nothing shows that it may differ."""
    contract = "collectives: { expect: [{ kind: all-gather, axes: fsdp, count: 1 }] }\n"
    asked, runs = (
        gather("fsdp", dtype).replace("  ROOT %y", f"  %n = {dtype}[16,8]{{1,0}} negate(%g)\n  ROOT %y")
        for dtype in ("f32", "bf16")
    )
    finding = one(found(tmp_path, contract, asked, runs))
    assert (finding.code, finding.found) == ("SHD211", "a remainder of 256 elements")
    assert finding.message == (
        "all-gather over fsdp: 1 execution (128 elements, f32) of the partitioned program and "
        "1 execution (128 elements, bf16) of the optimised one are left over, and no known rewrite explains them"
    )
    assert finding.help is not None and "--stage partitioned`" in finding.help
    assert f"contract-lint capture {finding.location.path} --target" in finding.help  # type: ignore[union-attr]


def accumulating(between: str, inside: bool) -> str:
    """Two microbatches; the sum over devices stands in the loop or behind it, `between` it and the accumulator."""
    over_all = "channel_id=1, replica_groups={{0,1,2,3,4,5,6,7}}, use_global_device_ids=true, to_apply=%add"

    def total(operand: str) -> str:
        return f"f32[2048]{{0}} all-reduce(%{operand}), {over_all}, {SOURCE.replace('LINE', '5')}"

    reduced = f"  %s = {total('g') if inside else 'f32[2048]{0} copy(%g)'}\n"
    after = f"%r = {'f32[2048]{0} copy(%t)' if inside else total('t')}"
    body = f"""%body (p: (s32[], f32[2048])) -> (s32[], f32[2048]) {{
  %p = (s32[], f32[2048]{{0}}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %g = f32[2048]{{0}} get-tuple-element(%p), index=1
  %one = s32[] constant(1)
  %n = s32[] add(%i, %one)
{reduced}  %m = f32[2048]{{0}} {between}(%s), {SOURCE.replace("LINE", "6")}
  %u = f32[2048]{{0}} add(%g, %m), {SOURCE.replace("LINE", "8")}
  ROOT %o = (s32[], f32[2048]{{0}}) tuple(%n, %u)
}}

%more (q: (s32[], f32[2048])) -> pred[] {{
  %q = (s32[], f32[2048]{{0}}) parameter(0)
  %j = s32[] get-tuple-element(%q), index=0
  %two = s32[] constant(2)
  ROOT %less = pred[] compare(%j, %two), direction=LT
}}

ENTRY"""
    loop = f"""  %zero = s32[] constant(0)
  %f = f32[] constant(0)
  %z = f32[2048]{{0}} broadcast(%f), dimensions={{}}
  %c = (s32[], f32[2048]{{0}}) tuple(%zero, %z)
  %loop = (s32[], f32[2048]{{0}}) while(%c), condition=%more, body=%body
  %t = f32[2048]{{0}} get-tuple-element(%loop), index=1
  {after}
  ROOT %y"""
    return PLAIN.replace("ENTRY", body).replace("  ROOT %y", loop)


def test_a_sum_that_is_kept_in_the_loop(tmp_path: Path) -> None:
    contract = (
        "accumulation: { microbatches: 2, reduce: once }\n"
        "collectives: { expect: [{ kind: all-reduce, axes: [data, fsdp], count: 2, elements: 4096 }] }\n"
    )
    bad, good = accumulating("sine", inside=True), accumulating("copy", inside=False)
    finding = one(found(tmp_path, contract, bad))
    assert (finding.code, finding.key, finding.severity) == ("SHD215", "accumulation.reduce", "error")
    assert finding.location is not None and (finding.location.path, finding.location.line) == ("train.py", 6)
    assert found(tmp_path, contract, accumulating("copy", inside=True), good) == []
    fast = one(found(tmp_path, contract, bad, effort="fast"))
    assert (fast.severity, fast.confidence, fast.help) == ("warning", "likely", "verify with --effort full")
    assert found(tmp_path, contract, bad, target=CUDA) == []
    assert found(tmp_path, contract.replace("once", "free"), bad) == []
