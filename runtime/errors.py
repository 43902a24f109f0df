"""Telling a JAX trace or sharding error inside the user's step (a finding) from any other exception (a failure)."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from types import TracebackType

from ..contracts.finding import Location
from ..contracts.manifest import Frame, Phase, StepError
from .described import needs_a_real_device, no_real_device
from .frames import FramePaths
from .request import StepFailure

_CONCRETIZATION = {
    "ConcretizationTypeError",
    "NonConcreteBooleanIndexError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
}
# (kind, exception type names or None for any, pattern of the message)
_SIGNS: tuple[tuple[str, frozenset[str] | None, re.Pattern[str]], ...] = (
    ("indivisible", frozenset({"IndivisibleError"}), re.compile("")),
    ("concretization", frozenset(_CONCRETIZATION), re.compile("")),
    (
        "out-of-memory",
        frozenset({"JaxRuntimeError", "XlaRuntimeError"}),
        re.compile("RESOURCE_EXHAUSTED|Ran out of memory"),
    ),
    (
        "unknown-axis",
        frozenset({"ValueError", "NameError", "KeyError", "TypeError"}),
        re.compile(
            r"(?i)resource axis:? .*not found in mesh|unbound axis name|axis name.*(?:not found|unbound)|"
            r"axis .*is not (?:found )?in (?:the )?(?:context )?mesh|not (?:found|present) in (?:the )?mesh"
        ),
    ),
    ("ambiguous-sharding", frozenset({"ShardingTypeError"}), re.compile("(?i)ambiguous")),
    ("sharding-mismatch", frozenset({"ShardingTypeError", "DuplicateSpecError"}), re.compile("")),
    (
        "indivisible",
        frozenset({"ValueError", "ShardingTypeError"}),
        re.compile(r"(?i)should be (?:evenly )?divisible by|is not (?:evenly )?divisible|not (?:evenly )?divisible by"),
    ),
    (
        "sharding-mismatch",
        frozenset({"ValueError"}),
        re.compile(
            r"(?i)incompatible devices for jitted|does not match the sharding|incompatible sharding|context mesh"
        ),
    ),
)
# The compiler found itself in a state it holds impossible: no program should bring it there.
_BROKEN_COMPILER = re.compile(r"RET_CHECK failure|Check failed:|No such compile option|Unimplemented HLO|proto_version")
_LIBRARY = re.compile(r"[/\\](?:jax|jaxlib|flax|optax|einops)[/\\]")
_JAX = re.compile(r"[/\\]jax(?:lib)?[/\\]")
# Making a mesh or a device list is no trace: it fails because the contract's mesh does not fit.
_DEVICES = re.compile(r"[/\\]jax[/\\](?:_src[/\\](?:mesh|mesh_utils|xla_bridge)|experimental[/\\]mesh_utils)\.py$")
_PARALLEL = re.compile(r"[/\\]jax[/\\]_src[/\\]lax[/\\]parallel\.py$")
MESSAGE_MAX = 4000
REPORT_MAX = 40_000
"""Longest message kept of a compiler that ran out of memory: it lists allocations."""
STACK_MAX = 12


def recognise(error: BaseException, paths: FramePaths, phase: Phase) -> StepError | None:
    """The error as data if it is a JAX trace, sharding or memory error raised through user code; else None.

    `frames` is empty where no user code was on the stack, as for the placement of an argument.
    """
    files = _files(error.__traceback__)
    kind = None if broken_compiler(error) or _on_described(error, files) else _kind(error, files, phase)
    if kind is None:
        return None
    message = _clean(_text(error), paths, REPORT_MAX if kind == "out-of-memory" else MESSAGE_MAX)
    axis = _refused_axis(error) if isinstance(error, AssertionError) and not message else None
    if axis is not None:
        kind, message = "unknown-axis", f"a collective over the axis {axis!r}, which the mesh around it does not have"
    return StepError(
        kind=kind,
        type=type(error).__name__,
        message=message or f"{type(error).__name__} without a message, inside JAX",
        phase=phase,
        frames=paths.of_traceback(error.__traceback__) or _from_chain(error, paths),
    )


def broken_compiler(error: BaseException) -> bool:
    """Whether an exception says that the compiler, or its pair with jaxlib, failed by itself."""
    runtime = any(cls.__name__ in ("JaxRuntimeError", "XlaRuntimeError") for cls in type(error).__mro__)
    return runtime and bool(_BROKEN_COMPILER.search(_text(error)))


def compiler_failure(error: BaseException, paths: FramePaths, target: str, versions: str) -> StepFailure:
    """Such an exception as a failure that blames neither the step nor the contract. `versions`: jax 0.10.2, ..."""
    text = _clean(_text(error).strip().partition("\n")[0], paths)
    return StepFailure(
        f"the compiler for {target} failed by itself with {versions}: {text}",
        help="this pair of versions is not supported for this program, whatever the step; "
        "`contract-lint targets` says which versions belong together",
    )


def _refused_axis(error: BaseException) -> str | None:
    """JAX merely asserts that the axis of a collective in `shard_map` exists: read it off the collective's frame."""
    tb = error.__traceback__
    while tb is not None:
        axis = tb.tb_frame.f_locals.get("axis_name")
        if _PARALLEL.search(tb.tb_frame.f_code.co_filename) and isinstance(axis, (str, tuple)):
            return axis if isinstance(axis, str) else ", ".join(map(str, axis))
        tb = tb.tb_next
    return None


def _kind(error: BaseException, files: Sequence[str], phase: Phase) -> str | None:
    names = {cls.__name__ for cls in type(error).__mro__}
    in_jax = bool(files) and bool(_JAX.search(files[-1]))
    if in_jax and _DEVICES.search(files[-1]):
        return None
    text = _text(error)
    for kind, types, pattern in _SIGNS:
        if (
            (types is None or names & types)
            and pattern.search(text)
            and (in_jax or type(error).__module__.startswith("jax"))
        ):
            return kind
    if phase == "build":
        return "other-trace" if in_jax and names & {"TypeError", "ValueError", "IndexError"} else None
    return "other-trace" if files and _LIBRARY.search(files[-1]) and isinstance(error, Exception) else None


def failure(error: BaseException, paths: FramePaths, doing: str, key: tuple[str, ...] = ()) -> StepFailure:
    """Any other exception in user code: one paragraph with the user's own frames only."""
    if isinstance(error, StepFailure):
        return error
    if isinstance(error, SyntaxError) and error.filename:
        place = Location(paths.printed(error.filename), error.lineno, error.offset)
        return StepFailure(f"{doing} failed: {type(error).__name__}: {error.msg}", place, key=key)
    frames = paths.of_traceback(error.__traceback__)
    if _on_described(error, _files(error.__traceback__)):
        return no_real_device(doing, frames, key)
    lines = [f"{doing} failed: {describe(error, paths)}"]
    lines += _stack(frames)
    place = Location(frames[0].path, frames[0].line, frames[0].column) if frames else None
    return StepFailure("\n".join(lines), place, key=key)


def _on_described(error: BaseException, files: Sequence[str]) -> bool:
    return bool(files) and bool(_JAX.search(files[-1])) and needs_a_real_device(error, _text(error))


def describe(error: BaseException, paths: FramePaths) -> str:
    """`Type: message`, the way Python ends a traceback, without machine paths."""
    return _clean("".join(traceback.format_exception_only(error)).strip(), paths)


def _text(error: BaseException) -> str:
    """The message of an exception that may be unable to give one."""
    try:
        return str(error)
    except Exception as second:
        return f"its message cannot be read: {type(second).__name__}"


def _stack(frames: Sequence[Frame]) -> list[str]:
    """A line for each of the first frames; a call that repeats itself is shown once."""
    lines: list[str] = []
    for frame in frames:
        line = f"    {frame.path}:{frame.line} in {frame.function}"
        if not lines or lines[-1] != line:
            lines.append(line)
    return lines[:STACK_MAX]


def _files(tb: TracebackType | None) -> list[str]:
    files: list[str] = []
    while tb is not None:
        files.append(tb.tb_frame.f_code.co_filename)
        tb = tb.tb_next
    return files


def _from_chain(error: BaseException, paths: FramePaths) -> list[Frame]:
    """The user's frames of the exception this one was raised from."""
    seen: set[int] = set()
    cause = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        frames = paths.of_traceback(cause.__traceback__)
        if frames:
            return frames
        cause = cause.__cause__ or cause.__context__
    return []


_FILTERED = re.compile(r"\n-{5,}\n(?:For simplicity, JAX has removed|The stack trace below excludes).*", re.S)
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_ABSOLUTE = re.compile(r"(?<![\w./-])/(?:[\w.@+-]+/)+[\w.@+-]+")


def _clean(text: str, paths: FramePaths, longest: int = MESSAGE_MAX) -> str:
    """A message that is the same on every machine: no addresses, no home folders, no endless tail."""
    text = _FILTERED.sub("", text)
    text = _ABSOLUTE.sub(lambda match: paths.printed(match[0]), text)
    text = _ADDRESS.sub("0x...", text).strip()
    return text if len(text) <= longest else text[:longest] + " ..."
