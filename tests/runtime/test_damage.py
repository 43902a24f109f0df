"""A compiler whose files are cut, missing or of another machine is named with the command that puts it back."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest
from contract_lint.runtime.launch import run_child
from contract_lint.runtime.targets import readiness as module
from contract_lint.runtime.targets.damage import damage, not_loaded, unloadable

from .conftest import child_request

SIZE = 8_192


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder first on `sys.path` in which the distribution `fakelib` 1.2 is installed, whole."""
    (tmp_path / "fakelib").mkdir()
    (tmp_path / "fakelib/fakelib.so").write_bytes(b"\0" * SIZE)
    (tmp_path / "fakelib/__init__.py").write_text("changed = True\n")
    about = tmp_path / "fakelib-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: fakelib\nVersion: 1.2\n")
    (about / "RECORD").write_text(
        f"fakelib/__init__.py,sha256=x,3\nfakelib/fakelib.so,sha256=x,{SIZE}\nfakelib/made.so,,\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_what_is_as_it_was_installed_is_whole(site: Path) -> None:
    # Python files may be edited in place, and what was made at the installation has no size.
    assert damage(["fakelib", "no-such-distribution"]) is None
    (site / "fakelib-1.2.dist-info/RECORD").unlink()
    (site / "fakelib/fakelib.so").write_bytes(b"")
    assert damage(["fakelib"]) is None


@pytest.mark.parametrize(
    ("left", "said"), [(0, "holds 0 of 8,192 bytes"), (1_000, "holds 1,000 of 8,192 bytes"), (None, "is not there")]
)
def test_a_library_that_was_cut_is_named_with_what_to_reinstall(left: int | None, said: str, site: Path) -> None:
    library = site / "fakelib/fakelib.so"
    library.unlink()
    if left is not None:
        library.write_bytes(b"\0" * left)
    found = damage(["fakelib"])
    assert found is not None
    assert found[0] == f"fakelib 1.2 is damaged: its fakelib/fakelib.so {said}"
    assert found[1].startswith("pip install --force-reinstall") and "'fakelib==1.2'" in found[1]


@pytest.mark.parametrize("platform", ["tpu", "cuda"])
def test_readiness_tells_it_before_anything_is_loaded(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = module.Readiness(platform, {})
    monkeypatch.setattr(module, "damage", lambda names: (f"{names[0]} is damaged", "do this"))
    monkeypatch.setattr(module, "_pair", lambda *_: whole)
    monkeypatch.setattr(module, "installed", lambda _: "1")
    monkeypatch.setattr(module.host, "system", lambda: "Linux")
    monkeypatch.setattr(module.host, "machine", lambda: "x86_64")
    found = module.readiness(platform)
    assert not found.ready and "is damaged" in (found.missing or "")
    assert (found.help or "").startswith("do this: ")


def test_loading_is_told_from_refusing() -> None:
    assert not unloadable(ValueError("no such topology"))
    for error in (
        NotImplementedError("topology not implemented for cuda"),
        ValueError("INTERNAL: Failed to open /a/x.so: /a/x.so: file too short"),
    ):
        assert unloadable(error)
    failure = not_loaded("fakelib", ValueError("Failed to open /a/x.so: /a/x.so: file too short\nmore"))
    assert failure.message == "fakelib cannot be loaded: Failed to open /a/x.so: file too short"
    assert "again" in (failure.help or "")


@pytest.mark.skipif(not module.readiness("tpu").ready, reason="no libtpu")
def test_a_library_that_cannot_be_opened_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site/libtpu"
    package.mkdir(parents=True)
    real = importlib.metadata.distribution("libtpu").locate_file("libtpu/__init__.py")
    (package / "__init__.py").write_text(Path(str(real)).read_text())
    (package / "libtpu.so").write_bytes(b"")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    result = run_child(child_request(tmp_path / "capture", ["linear"], target="tpu:v5e:2x4"), timeout=120)
    assert result.failure is not None
    assert result.failure.message.startswith("libtpu cannot be loaded: ") and "file too short" in result.failure.message
    assert re.search(r"pip install --force-reinstall .*'libtpu==", result.failure.help or "")
