"""Where every exception ends: as a sentence on standard error and an exit code, never as a bare traceback."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import sys
import warnings
from pathlib import Path

import click

from . import signals

USAGE, BUG = 2, 3
INTERRUPTED = 130
BROKEN_PIPE = 141
_NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO))
"""Errors of a disk or device, which no code of ours can avoid."""
LONGEST = 4_000
"""Characters of a message that are shown."""
LONGEST_WORD = 240
"""Characters of one word; a name of 20 MB must not hide what is said about it."""


def run(group: click.Group, argv: list[str] | None = None) -> int:
    """Run `group` and return the exit code: 0 clean, 1 findings, 2 wrong usage or unreadable input, 3 our own bug.

    130 follows an interrupt, 143 SIGTERM, 129 a terminal that was closed, 141 a reader that closed our output early, as
    a shell would say it.
    """
    _lenient_streams()
    warnings.showwarning = _warned
    arguments = sys.argv[1:] if argv is None else argv
    try:
        with signals.raising():
            result = group.main(args=arguments, prog_name="contract-lint", standalone_mode=False)
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except signals.Ended as end:
        _say(f"ended by {end.name}")
        return end.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        _usage(error)
        return USAGE
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _silence()
        return BROKEN_PIPE
    except OSError as error:
        if error.errno not in _NO_ROOM:
            return _failed(error, _debug(arguments))
        _silence()
        return _failed(_no_room(error), _debug(arguments))
    except Exception as error:
        return _failed(error, _debug(arguments))


def _silence() -> None:
    """The interpreter flushes standard output once more at exit; give it a place where that works."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _no_room(error: OSError) -> Exception:
    from ...contracts.errors import ContractLintError
    from ...contracts.finding import Location

    place = Location(os.fsdecode(error.filename)) if isinstance(error.filename, (str, bytes)) else None
    what = "cannot be written" if place else "the output or a temporary file cannot be written"
    return ContractLintError(
        f"{what}: {error.strerror}", place, "make room there; temporary files go where TMPDIR says"
    )


def _usage(error: click.ClickException) -> None:
    from .output import folded

    shown = io.StringIO()
    error.show(shown)
    _say(folded(shown.getvalue()).removesuffix("\n"))


def _failed(error: Exception, debug: bool) -> int:
    from ...contracts.errors import ContractLintError
    from ..report.printable import cut, many_lines
    from .output import folded

    if debug:
        import traceback

        traceback.print_exception(error)
    said = many_lines(cut(_short_words(str(error)), LONGEST))
    if isinstance(error, ContractLintError):
        _say(folded(f"error: {said}", "  "))
        return error.exit_code
    from ... import __version__

    text = (
        f"internal error: {type(error).__name__}: {said} ({_raised_at(error)})\n"
        f"This is a bug in contract-lint {__version__}, not in your code. Please report it with the command you ran, "
        "the contract, and the output of the same command with CONTRACT_LINT_DEBUG=1."
    )
    _say(folded(text))
    return BUG


def _warned(message: Warning | str, category: type[Warning], *place: object, **_: object) -> None:
    """One of ours is a sentence; another library's is its own affair, and shows where Python is asked to be strict."""
    from ...contracts.errors import ContractLintWarning
    from ..report.printable import cut, many_lines
    from .output import folded

    if issubclass(category, ContractLintWarning):
        _say(folded(f"note: {many_lines(cut(_short_words(str(message)), LONGEST))}", "  "))
    elif sys.warnoptions:
        _say(f"{category.__name__}: {message}")


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # standard error may be what is full or gone; the exit code says it too
        click.echo(text, err=True)


def _short_words(text: str) -> str:
    half = LONGEST_WORD // 3
    return re.sub(
        rf"\S{{{LONGEST_WORD},}}",
        lambda word: f"{word[0][:half]}...[{len(word[0]) - 2 * half:,} characters]...{word[0][-half:]}",
        text,
    )


def _raised_at(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "place unknown"
    path = Path(trace.tb_frame.f_code.co_filename)
    return f"{'/'.join(path.parts[-3:])}:{trace.tb_lineno}"


def _debug(arguments: list[str]) -> bool:
    return "--debug" in arguments or os.environ.get("CONTRACT_LINT_DEBUG", "") not in ("", "0")


def _lenient_streams() -> None:
    """A terminal that cannot show a character gets its escape, not an exception; a closed stream a place that works."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - it stays open
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
