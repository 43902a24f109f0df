"""The shape of a capture: what `runtime/` writes and `hlo_tools/` reads back. One capture holds one target.

    DIR/manifest.json            written last; a folder without it is not a capture
    DIR/<step>/facts.json        StepFacts: arguments, outputs, jaxpr facts, warnings, error
    DIR/<step>/jaxpr.txt.gz      the traced program
    DIR/<step>/stablehlo.mlir.gz the lowered program, with locations
    DIR/<step>/partitioned.hlo.txt.gz   after SPMD partitioning
    DIR/<step>/optimized.hlo.txt.gz     what runs
    DIR/<step>/optimized.hlo.pb.gz      HloProto of the same, with BufferAssignment and heap traces; alone, without the
                                        text, where it did not fit the device
    DIR/<step>/stderr.txt        what compiler and user code wrote to file descriptor 2
    DIR/<step>/run.json          RunFacts, where the step was executed
    DIR/<step>/semantics.json    SemanticsFacts (`semantics`), where its meaning was probed

The manifest names every other file with its sha256.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MANIFEST = "manifest.json"
"""The file of a capture that lists all others."""
CAPTURE_SCHEMA = 1

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
"""A size, a number or a place: never negative, and what XLA itself can hold."""
Size = Annotated[int, Field(gt=-(1 << 63), lt=1 << 63)]
"""A dimension of an argument as it was asked for: JAX compiles a batch of -8 without a word, and a rule tells."""
Positive = Annotated[int, Field(ge=1, lt=1 << 63)]

Phase = Literal["build", "trace", "lower", "compile", "read", "run"]


class Fact(BaseModel):
    """A part of a capture. Keys of a later minor version are kept out of the way, never an error.

    A number that is none (NaN, infinity) is written as Python's JSON spells it: as null it could not be read again.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, ser_json_inf_nan="constants")


class Frame(Fact):
    """One Python frame. `path` is relative to the project root where the file lies below it."""

    path: str
    line: Count
    column: Count | None = None
    function: str = ""


class MeshFact(Fact):
    """The mesh the step was compiled for. Partition i of the program is `device_ids[i]`, in mesh order."""

    axes: dict[str, Positive]
    dcn: dict[str, Positive] = {}
    device_ids: list[Count] = []
    axis_types: list[str] = []


class Provenance(Fact):
    """Where a capture comes from: enough to make it again."""

    tool: str
    python: str
    jax: str | None = None
    jaxlib: str | None = None
    libtpu: str | None = None
    flax: str | None = None
    optax: str | None = None
    commit: str | None = None
    dirty: bool | None = None
    contract_digest: str
    source_digest: str | None = None
    target: str
    effort: str = "full"
    xla_flags: list[str] = []


class Manifest(Fact):
    """A capture's table of contents: `files` gives the sha256 of every file beside it."""

    schema_version: Positive
    provenance: Provenance
    devices: Positive
    device_kind: str
    mesh: MeshFact | None
    steps: list[str]
    files: dict[str, str]


class Leaf(Fact):
    """One array that enters or leaves the step.

    `argument` is the name of the top-level argument (outputs: "" ), `path` the pytree path below it joined
    with `/` (`params/layers/attn/wq`, `opt_state/1/0/mu/layers/attn/wq`). `spec` has, for each dimension, the
    mesh axes it is split over; None where the placement was left to the compiler. `local_shape` and
    `bytes` are per device; `spec`, `local_shape` and `bytes` describe what the *compiled* program uses.
    `asked` is the placement the step's abstract argument carried. `parameter` is the flat parameter number in the
    compiled program, None where the compiler dropped an unused argument. `aliased` says that the program reuses the
    buffer for an output; `host` that the compiled program keeps the array in pinned host memory.
    """

    argument: str
    path: str
    shape: list[Size]
    dtype: str
    weak_type: bool = False
    asked: list[list[str]] | None = None
    spec: list[list[str]] | None = None
    local_shape: list[Size] | None = None
    bytes: Size | None = None
    donated: bool = False
    aliased: bool = False
    parameter: Count | None = None
    host: bool = False


class CallbackFact(Fact):
    """A host callback, infeed or outfeed in the jaxpr."""

    primitive: str
    loop_depth: Count = 0
    frames: list[Frame] = []


class ConstantFact(Fact):
    """An array closed over by the traced function; `frames` is its first use."""

    shape: list[Count]
    dtype: str
    bytes: Count
    frames: list[Frame] = []


class LoopFact(Fact):
    """A scan or while; `length` is None where it is not static."""

    primitive: str
    length: Count | None
    depth: Count
    frames: list[Frame] = []


class RepeatFact(Fact):
    """`copies` equal blocks of `equations` equations that stand unrolled in one jaxpr; frames of the first."""

    copies: Count
    equations: Count
    frames: list[Frame] = []


class DotFact(Fact):
    """Matrix products by dtype; frames of the first."""

    lhs: str
    rhs: str
    out: str
    count: Count
    frames: list[Frame] = []


class RematFact(Fact):
    """A `jax.checkpoint` region."""

    policy: str | None
    loop_depth: Count
    frames: list[Frame] = []


class AxisUseFact(Fact):
    """A collective the user wrote (`psum`, `all_gather` in shard_map) or a reshard / sharding constraint."""

    primitive: str
    axes: list[str]
    shape: list[Count]
    dtype: str
    frames: list[Frame] = []


class JaxprFacts(Fact):
    """What the traced program holds, independent of any compiler."""

    equations: Count
    callbacks: list[CallbackFact] = []
    constants: list[ConstantFact] = []
    loops: list[LoopFact] = []
    repeats: list[RepeatFact] = []
    dots: list[DotFact] = []
    remats: list[RematFact] = []
    axis_uses: list[AxisUseFact] = []
    dynamic_shapes: list[Frame] = []


class StepError(Fact):
    """A recognised JAX error inside the user's step. `kind` is one of indivisible, unknown-axis, ambiguous-sharding,
    sharding-mismatch, concretization, out-of-memory, compiler-option, other-trace."""

    kind: str
    type: str
    message: str
    phase: Phase
    frames: list[Frame] = []


class CompilerWarning(Fact):
    """`kind` is one of involuntary-rematerialization, donation-unusable, other."""

    kind: str
    message: str
    frames: list[Frame] = []


class MemoryFacts(Fact):
    """`CompiledMemoryStats`, bytes per device; `code_bytes` is -1 where the backend does not count its code."""

    argument_bytes: Count
    output_bytes: Count
    alias_bytes: Count
    temp_bytes: Count
    code_bytes: Annotated[int, Field(ge=-1, lt=1 << 63)]


class SignatureFact(Fact):
    """One declared input signature and the digest of the program it traces to."""

    shapes: dict[str, list[Count]]
    program: str
    difference: str | None = None


class StepFacts(Fact):
    """Everything about one step except its program texts.

    `mesh` is the step's own; None in captures that only give that of their first step, in the manifest. `made_from` is
    the digest of what the contract said about how the step is built; None in captures that do not tell.
    """

    step: str
    entry: str
    entry_frame: Frame | None = None
    fn_frame: Frame | None = None
    mesh: MeshFact | None = None
    made_from: str | None = None
    argument_names: list[str] = []
    static: dict[str, str] = {}
    donate: list[str] = []
    carry: dict[str, str] = {}
    logical_axes: dict[str, list[str | None]] = {}
    arguments: list[Leaf] = []
    outputs: list[Leaf] = []
    jaxpr: JaxprFacts | None = None
    signatures: list[SignatureFact] = []
    memory: MemoryFacts | None = None
    warnings: list[CompilerWarning] = []
    error: StepError | None = None
    seconds: dict[str, float] = Field(
        default_factory=dict, description="Wall seconds by phase; never part of a finding."
    )


class CompileEvent(Fact):
    """One compile of the step while it ran; `reason` names the argument and both values where JAX says so."""

    index: Count
    reason: str
    argument: str | None = None
    frames: list[Frame] = []


class TransferEvent(Fact):
    """A device value that was read on the host (or a callback that ran) during the loop."""

    index: Count
    kind: str
    frames: list[Frame] = []


class Comparison(Fact):
    """Sharded against one device, norm-wise, for one value.

    `ratio` = norm2(sharded - reference) / bound; at most 1 is clean. `bound` and `floor` (the smallest relative
    error that could have been seen) are stated by the method that made them.
    """

    role: Literal["loss", "metric", "gradient", "first_moment"]
    path: str
    ratio: Annotated[float, Field(ge=0)] | None
    error: Annotated[float, Field(ge=0)] | None
    bound: Annotated[float, Field(ge=0)] | None
    floor: Annotated[float, Field(ge=0)] | None
    method: str
    sharded: float | None = Field(default=None, description="The value itself, for scalars.")
    reference: float | None = None


NOT_FINITE_EITHER = "it is not finite on one device either"
"""Why a value was not compared that is NaN or infinite on the mesh and on one device alike."""


class NotCompared(Fact):
    """What could not be judged, and why. The reason is a sentence; a stack or a listing may follow it."""

    what: str
    reason: str

    @property
    def sentence(self) -> str:
        """The reason in one line: its first, or what a Python traceback in it ends with."""
        lines = [line.strip() for line in self.reason.splitlines() if line.strip()]
        before, traceback, _ = self.reason.partition("Traceback (most recent call last)")
        if traceback:
            return f"{' '.join(before.split())} {lines[-1]}".strip()
        return lines[0].removesuffix(":") if lines else "no reason is given"


class RunFacts(Fact):
    """What happened while k steps ran on the target's devices.

    losses: those that are finite. not_finite: indices of the steps whose loss is not.
    """

    steps: Positive
    compiles: list[CompileEvent] = []
    transfers: list[TransferEvent] = []
    losses: list[float] = []
    not_finite: list[Count] = []
    comparisons: list[Comparison] = []
    not_compared: list[NotCompared] = []
    error: StepError | None = None
