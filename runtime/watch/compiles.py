"""Compiles as JAX reports them: one event for each executable, with the cache's own explanation where it gives one."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import jax

_EVENT = "/jax/core/compile/backend_compile_duration"
# The tracing cache explains its misses on the first logger (at WARNING, under jax_explain_cache_misses); the second
# says, at DEBUG, which types and shardings are lowered. Levels and records are put back and held back respectively.
_LOGGERS = ("jax._src.interpreters.partial_eval", "jax._src.interpreters.pxla")
_MISS = re.compile(r"TRACING CACHE MISS at (?P<where>.*?) ?\(.*?\):\s*(?P<text>.*)", re.DOTALL)
_LOWERED = re.compile(
    r"Compiling (?P<name>\S.*?) with global shapes and types (?P<types>.*)\. Argument mapping: (?P<mapping>.*)\.\Z",
    re.DOTALL,
)
_DIFFERENT = re.compile(r"^\* at (?P<path>[^,\n]+), now (?P<now>.*?) and before (?P<before>.*?)$", re.MULTILINE)
_LINK = re.compile(r"https?://\S+")
_DEFINED = re.compile(r"^for (?P<name>.+?) defined at ", re.MULTILINE)


FIRST = "first call"
ANEW = "the function is defined anew for each call, so its cache entry is never found"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a program was compiled, as far as JAX says: `argument` is the path it names."""

    reason: str
    argument: str | None = None


@dataclass(slots=True)
class _Pending(threading.local):
    """What the log has said on this thread since the last compile."""

    misses: list[tuple[str | None, Explanation]] = field(default_factory=list)
    lowered: dict[str, tuple[str, str]] = field(default_factory=dict)


def program_name(fun_name: str) -> str:
    """`step` of `jit(step)`."""
    match = re.fullmatch(r"[a-z]+\((.*)\)", fun_name)
    return match.group(1) if match else fun_name


def explain_miss(message: str) -> tuple[str | None, Explanation] | None:
    """A `TRACING CACHE MISS` log message as (function name or None, explanation); None for another message."""
    match = _MISS.match(message)
    if match is None:
        return None
    text = _LINK.sub("", match.group("text"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    text = "\n".join(lines)
    defined = _DEFINED.search(text)
    name = defined.group("name") if defined else None
    changes = list(_DIFFERENT.finditer(text))
    if changes:
        parts = [(m["path"].strip(), m["before"].strip(), m["now"].strip()) for m in changes]
        reason = "; ".join(f"{path}: {before} before, {now} now" for path, before, now in parts)
        path = parts[0][0]
        return name, Explanation(reason, None if path.startswith("input path") else path)
    if "never seen function" in text:
        again = "re-defined repeatedly" in text.replace("\n", " ")
        first = next((line for line in lines if " id=" in line), "")
        name = first.split(" id=")[0] or name
        return name, Explanation(ANEW if again else FIRST)
    return name, Explanation(" ".join(lines[-2:])[:400] or "the cache gives no reason")


class CompileListener:
    """Calls `report(program name, explanation)` for every executable XLA builds while installed."""

    def __init__(self, report: Callable[[str, Explanation], None]) -> None:
        self._report = report
        self._pending = _Pending()
        self._last: dict[str, tuple[str, str]] = {}
        self._restore: list[Callable[[], None]] = []

    def install(self) -> None:
        jax.monitoring.register_event_duration_secs_listener(self._on_duration)
        self._restore.append(self._forget)
        # A plain attribute read: the option is not part of the trace context, so no cache is invalidated by setting it.
        explained = bool(jax.config.jax_explain_cache_misses)  # pyright: ignore[reportAttributeAccessIssue]
        jax.config.update("jax_explain_cache_misses", True)
        self._restore.append(lambda: jax.config.update("jax_explain_cache_misses", explained))
        for name in _LOGGERS:
            self._listen(logging.getLogger(name), explained)

    def remove(self) -> None:
        while self._restore:
            self._restore.pop()()

    def _forget(self) -> None:
        # `jax.monitoring.clear_event_listeners` in a test would have dropped ours already.
        from jax._src import monitoring

        if self._on_duration in monitoring.get_event_duration_listeners():
            jax.monitoring.unregister_event_duration_listener(self._on_duration)

    def _listen(self, logger: logging.Logger, explained: bool) -> None:
        level, effective = logger.level, logger.getEffectiveLevel()

        def collect(record: logging.LogRecord) -> bool:
            message = record.getMessage()
            ours = self._on_message(message)
            if message.startswith("TRACING CACHE MISS") and ours:
                return explained
            return record.levelno >= effective

        logger.addFilter(collect)
        logger.setLevel(logging.DEBUG)
        self._restore.append(lambda: logger.setLevel(level))
        self._restore.append(lambda: logger.removeFilter(collect))

    def _on_message(self, message: str) -> bool:
        miss = explain_miss(message)
        if miss is not None:
            self._pending.misses.append(miss)
            return True
        match = _LOWERED.match(message)
        if match is not None:
            self._pending.lowered[program_name(match["name"])] = (match["types"], match["mapping"])
        return match is not None

    def _on_duration(self, event: str, duration_secs: float, **tags: str | int) -> None:
        if event != _EVENT:
            return
        name = program_name(str(tags.get("fun_name", "")))
        misses, self._pending.misses = self._pending.misses, []
        now = self._pending.lowered.pop(name, None)
        before = self._last.get(name)
        if now is not None:
            self._last[name] = now
        for fun, explanation in misses:
            if fun is None or fun == name:
                self._report(name, explanation)
                return
        self._report(name, _relowered(before, now))


def _relowered(before: tuple[str, str] | None, now: tuple[str, str] | None) -> Explanation:
    """A compile without a tracing miss: the types were known, so placement or commitment changed."""
    if before is None or now is None:
        return Explanation(FIRST)
    if before[1] != now[1]:
        return Explanation(f"placement of the arguments: {before[1]} before, {now[1]} now"[:600])
    return Explanation("compiled again for the same types and placements (another jit wrapper, or a cleared cache)")
