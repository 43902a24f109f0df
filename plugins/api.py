"""What `import contract_lint as cl` offers: the main job as functions."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..contracts.load import LoadedContract
    from ..contracts.manifest import MeshFact
    from ..hlo_tools.collectives import CollectiveLedger
    from ..hlo_tools.diff import Diff
    from ..hlo_tools.memory import MemoryLedger
    from ..hlo_tools.module import HloModule
    from ..hlo_tools.proto import HloProto
    from .pipeline.report import Report

Name = str | PathLike[str]


def load_contract(path: Name) -> LoadedContract:
    """A contract with everything that is wrong in it. Raises ContractLintError where there is no such file."""
    from ..contracts.load import load_contract as load

    return load(Path(path))


def capture(contract: Name, target: str | None = None, out: Name | None = None, **options: Any) -> list[Path]:
    """Capture a contract's steps, for `target` or for all targets it names; the folder of each target's capture.

    Options are those of `plugins.pipeline.capture.capture_each`: run, semantics, steps, cache, python, timeout, effort,
    cache_dir.
    """
    from .pipeline.capture import capture as make

    return make(contract, targets=() if target is None else (target,), out=out, **options)


def verify(contract: Name, capture: Name | None = None, targets: Sequence[str] = (), **options: Any) -> Report:
    """Judge a contract, from `capture` where one is given (then jax is not needed); the report.

    Options are those of `plugins.pipeline.verify.verify`: run, semantics, steps, cache, python, timeout, effort,
    cache_dir, select, ignore, fail_on.
    """
    from .pipeline.verify import verify as judge

    return judge(contract, targets=targets, capture_dir=capture, **options)


def check_source(
    paths: Sequence[Name] | Name = ".",
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    certain: bool = False,
    preview: bool = False,
    jobs: int = 0,
    cache: bool = True,
) -> Report:
    """Check the Python source at `paths`, by the settings of the project they are in; the report.

    Nothing is imported, run or fixed. Raises ContractLintError for a path or rule that does not exist, and for settings
    that cannot be read.
    """
    from .pipeline.check import check_with
    from .pipeline.settings import Settings, cascade
    from .pipeline.sweep import Sweep

    named = [Path(path) for path in ([paths] if isinstance(paths, (str, PathLike)) else paths)]

    def options(settings: Settings) -> Settings:
        return settings.with_options(tuple(select), tuple(ignore), certain=certain, preview=preview)

    settings_of = cascade(Path.cwd(), options)
    settings = settings_of(str(Path.cwd() / "pyproject.toml"))
    return check_with(named, settings, settings_of, Sweep(jobs=jobs, cache=cache), contracts=False)[0]


def diff(a: Name, b: Name, **options: Any) -> Diff:
    """What program B does otherwise than A: files of HLO text or proto, or folders of captures.

    Options are those of `plugins.pipeline.diff.diff_of`: step, stage, mesh.
    """
    from .pipeline.diff import diff_of

    return diff_of(str(a), str(b), **options).diff


def collectives(module: HloModule, mesh: MeshFact | None = None) -> CollectiveLedger:
    """Every collective a module runs; `axes` are known where a mesh is given or the module names its own."""
    from ..hlo_tools.collectives import collectives as ledger

    return ledger(module, mesh)


def memory(program: HloModule | HloProto | bytes) -> MemoryLedger:
    """The memory ledger of a compiled program: an HloProto, or its bytes (an XLA dump, `*after_optimizations.hlo.pb`).

    Raises ContractLintError for a program without buffer assignment, which an HloModule or a dump as text never has.
    """
    from ..hlo_tools.memory import memory as ledger
    from ..hlo_tools.module import HloModule
    from ..hlo_tools.proto import parse_proto

    if isinstance(program, HloModule):
        return ledger(None, program)
    return ledger(parse_proto(program) if isinstance(program, bytes) else program)
