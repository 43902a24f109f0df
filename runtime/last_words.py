"""What a child said before it died, without what compilers say on every machine, and how it ended."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from pathlib import Path

SHOWN = 12
"""Lines that are shown."""
_LONGEST = 300
_NOISE = re.compile(
    r"""^I\d{4}\s[\d:.]+\s+\d+\s[\w./-]+:\d+\]  # an information line of absl, as XLA, libtpu and CUDA write them
    |All\ log\ messages\ before\ absl::InitializeLog
    |Logging\ before\ InitGoogle
    |cudart_stub\.cc|Could\ not\ find\ cuda\ drivers|failed\ call\ to\ cuInit|cuda_(?:diagnostics|executor)\.cc
    |Unable\ to\ register\ cu(?:DNN|BLAS|FFT)|[Cc]omputation.placer\ already\ registered
    |^Extension\ modules:\ |Failed\ to\ find\ host\ bounds|could\ not\ determine\ TPU
    """,
    re.X,
)
_FULL = "No space left on device"
MAKE_ROOM = "make room where captures are kept (--cache-dir names another place) and where TMPDIR points"
_LOADING = " in load_pjrt_plugin_dynamically"
_CRASH = "(most recent call first)"
# Frames below the user's: what called it is the same for everybody.
_MACHINERY = re.compile(rf'^\s*File "(?:<frozen |{re.escape(str(Path(__file__).parent))}/(?!trainer/))')


def last_words(text: str) -> list[str]:
    """The lines that matter: the end of what was said, or a crash with its stack and what was said just before."""
    lines = [line for line in text.splitlines() if line.strip() and not _NOISE.search(line)]
    crash = next((at for at, line in enumerate(lines) if _CRASH in line), None)
    if crash is None:
        shown = lines[-SHOWN:]
    else:
        # The innermost call comes first.
        shown = [line for line in lines[max(0, crash - 3) :] if not _MACHINERY.match(line)][:SHOWN]
    return [line[:_LONGEST] for line in shown]


def ended(code: int) -> str:
    """How a process with this exit status ended: a sentence without its subject."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def while_loading(lines: Sequence[str]) -> bool:
    """Whether a crash came while the library of a compiler was loaded: its stack then is jax's own."""
    return any(_LOADING in line for line in lines)


def advice(code: int, lines: Sequence[str]) -> str | None:
    """What to do about it, where that can be told."""
    if lines and "No module named" in lines[-1]:
        return "is contract_lint installed in that Python, with its extra [jax]?"
    if while_loading(lines):
        return (
            "the library of the compiler is damaged: install it again with `pip install --force-reinstall`, libtpu for "
            "TPU targets, jax-cuda12-pjrt for CUDA; your step has nothing to do with this"
        )
    if any(_FULL in line for line in lines):
        return MAKE_ROOM
    if code == -signal.SIGKILL:
        return (
            "mostly the system has run out of memory (its log says so): free some, raise the limit of the container, "
            "or capture one --target at a time"
        )
    return None
