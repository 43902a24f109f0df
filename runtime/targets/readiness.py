"""Whether this Python can compile for a platform, read off the installed metadata. Never imports jax."""

from __future__ import annotations

import importlib.metadata
import platform as host
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from ...contracts.errors import ContractLintError
from .damage import INNOCENT, damage

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:\[[^]]*\])?\s*\(?([^;()]*)\)?\s*(?:;(.*))?$")
_CLAUSE = re.compile(r"(==|!=|<=|>=|~=|<|>)\s*([0-9][0-9A-Za-z.]*?)(\.\*)?$")
_PLUGINS = ("jax-cuda12-plugin", "jax-cuda13-plugin")
"""Distributions that bring the CUDA compiler, each with a `-pjrt` beside it."""

Version = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Readiness:
    """What one platform needs here. `missing` is None where nothing is; `versions` are those that were found."""

    platform: str
    versions: dict[str, str]
    missing: str | None = None
    help: str | None = None

    @property
    def ready(self) -> bool:
        return self.missing is None

    def require(self) -> None:
        """Raises ContractLintError with what is missing and how to get it."""
        if self.missing is not None:
            raise ContractLintError(self.missing, help=self.help)


def installed(distribution: str) -> str | None:
    """The installed version of a distribution."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def readiness(platform: str) -> Readiness:
    """Whether this machine and this Python can compile for `cpu`, `tpu` or `cuda`."""
    found = {name: version for name in ("jax", "jaxlib") if (version := installed(name)) is not None}
    if platform == "tpu":
        return _tpu(found)
    if platform == "cuda":
        return _cuda(found)
    return _without_jax(platform, found) or _jaxlib(platform, found)


def asked_for(platform: str, found: Readiness) -> dict[str, str]:
    """The versions jax's own metadata asks for, by distribution; empty without jax."""
    names: list[tuple[str, str | None]] = [("jaxlib", None)]
    if platform == "tpu":
        names.append(("libtpu", "tpu"))
    elif platform == "cuda":
        plugin = next((name for name in _PLUGINS if name in found.versions), _PLUGINS[0])
        names.append((plugin, _local_extra(plugin)))
    pins = {name: pinned(name, extra) for name, extra in names}
    return {name: pin for name, pin in pins.items() if pin is not None}


def _tpu(found: dict[str, str]) -> Readiness:
    if (host.system(), host.machine()) not in (("Linux", "x86_64"), ("Linux", "AMD64")):
        return _elsewhere("tpu", found, "libtpu, the compiler for TPU targets, exists for x86-64 Linux only")
    if (lacking := _without_jax("tpu", found)) is not None:
        return lacking
    if not (pair := _jaxlib("tpu", found)).ready:
        return pair
    libtpu = installed("libtpu")
    if libtpu is None:
        return Readiness(
            "tpu",
            found,
            "TPU targets need libtpu, which is not installed here",
            f"pip install 'jax-contract-lint[tpu]', or 'jax[tpu]=={found['jax']}' beside your jax",
        )
    found = found | {"libtpu": libtpu}
    pin = pinned("libtpu", "tpu")
    return _whole(_pair("tpu", found, "libtpu", pin, f"pip install 'jax[tpu]=={found['jax']}'"), "libtpu")


def _cuda(found: dict[str, str]) -> Readiness:
    if host.system() != "Linux":
        return _elsewhere("cuda", found, "the CUDA plugin of jax exists for Linux only")
    if (lacking := _without_jax("cuda", found)) is not None:
        return lacking
    if not (pair := _jaxlib("cuda", found)).ready:
        return pair
    plugin = next((name for name in _PLUGINS if installed(name) is not None), None)
    if plugin is None:
        return Readiness(
            "cuda",
            found,
            "CUDA targets need jax's CUDA plugin, which is not installed here (no card and no driver are needed)",
            f"pip install 'jax-contract-lint[cuda]', or 'jax[cuda12-local]=={found['jax']}' beside your jax",
        )
    extra = _local_extra(plugin)
    advice = f"pip install 'jax[{extra}]=={found['jax']}'"
    compiler = _compiler_of(plugin)
    for name in (plugin, compiler):
        version = installed(name)
        if version is None:
            return Readiness("cuda", found, f"CUDA targets need {name}, which is not installed here", advice)
        found = found | {name: version}
    pin = pinned(plugin, extra)
    first = _pair("cuda", found, plugin, pin, advice)
    second = first if not first.ready else _pair("cuda", found, compiler, pin, advice)
    return _whole(second, plugin, compiler)


def cuda_compiler() -> str:
    """The distribution that brings the CUDA compiler itself."""
    plugin = next((name for name in _PLUGINS if installed(name) is not None), _PLUGINS[0])
    return _compiler_of(plugin)


def _compiler_of(plugin: str) -> str:
    return plugin.replace("-plugin", "-pjrt")


def _local_extra(plugin: str) -> str:
    """The extra of jax that brings a CUDA plugin without NVIDIA's own libraries, which compiling does not need."""
    return plugin.removeprefix("jax-").removesuffix("-plugin") + "-local"


def _without_jax(platform: str, found: dict[str, str]) -> Readiness | None:
    if "jax" in found and "jaxlib" in found:
        return None
    extra = "jax" if platform == "cpu" else platform
    return Readiness(
        platform,
        found,
        f"{platform} targets need jax, which is not installed here",
        f"pip install 'jax-contract-lint[{extra}]', or name the interpreter of your project with --python",
    )


def _jaxlib(platform: str, found: dict[str, str]) -> Readiness:
    """jax and jaxlib: with another pair the import of jax already fails, or, worse, it does not."""
    return _pair(platform, found, "jaxlib", pinned("jaxlib", None), f"pip install 'jax=={found['jax']}'")


def _elsewhere(platform: str, found: dict[str, str], reason: str) -> Readiness:
    here = f"{host.system() or 'this system'} on {host.machine() or 'an unknown machine'}"
    return Readiness(
        platform,
        found,
        f"{reason}; this is {here}",
        "capture on such a machine (a CI runner will do) and judge here with --capture; cpu targets work everywhere",
    )


def _whole(found: Readiness, *distributions: str) -> Readiness:
    """The same, unless it is ready and the files of a distribution are damaged."""
    wrong = damage(distributions) if found.ready else None
    return found if wrong is None else replace(found, missing=wrong[0], help=f"{wrong[1]}: {INNOCENT}")


def _pair(platform: str, found: dict[str, str], name: str, pin: str | None, advice: str) -> Readiness:
    """Whether an installed version is the one that jax's own metadata asks for; without a pin there is no saying."""
    version = found[name]
    if pin is None or satisfies(version, pin):
        return Readiness(platform, found)
    return Readiness(
        platform,
        found,
        f"jax {found['jax']} is made for {name} {pin.removeprefix('==')}, but {version} is installed: "
        "this pair of versions is not supported",
        f"{advice}: {INNOCENT}",
    )


def pinned(distribution: str, extra: str | None) -> str | None:
    """What jax's metadata requires of a distribution under an extra, or always: `==0.0.42.*`; None where it says
    nothing."""
    try:
        requirements = importlib.metadata.requires("jax") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for requirement in requirements:
        match = _REQUIREMENT.match(requirement.strip())
        if match is None or _plain(match[1]) != _plain(distribution):
            continue
        marker = match[3] or ""
        wanted = "extra" not in marker if extra is None else _extra(extra).search(marker) is not None
        if wanted and match[2].strip():
            return match[2].strip()
    return None


def _extra(name: str) -> re.Pattern[str]:
    return re.compile(rf"""extra\s*==\s*["']{re.escape(name)}["']""")


def satisfies(version: str, specifier: str) -> bool:
    """Whether a version fits a specifier of clauses joined by commas; a clause of another form is taken as met."""
    own = _numbers(version)
    for clause in specifier.split(","):
        match = _CLAUSE.match(clause.strip())
        if match is None:
            continue
        other = _numbers(match[2])
        width = len(other) if match[3] else max(len(own), len(other))
        mine = (own + (0,) * width)[:width]
        theirs = (other + (0,) * width)[:width]
        met = {
            "==": mine == theirs,
            "!=": mine != theirs,
            "<=": mine <= theirs,
            ">=": mine >= theirs,
            "<": mine < theirs,
            ">": mine > theirs,
            "~=": mine >= theirs and mine[: len(other) - 1] == theirs[: len(other) - 1],
        }[match[1]]
        if not met:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    """The release numbers of a version: `0.0.42.1` -> (0, 0, 42, 1), `0.10.2.dev3` -> (0, 10, 2)."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
