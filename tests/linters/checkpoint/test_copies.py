"""What a copy leaves where it is killed is named, and nothing that Orbax itself writes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from contract_lint.linters.checkpoint.copies import is_left
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint

LEFT = (
    # rsync: the name without a dot of its own, and what mkstemp draws.
    *(".0.0.Xa81Kd", ".zarray.qW3rTy", "._METADATA.abcdE1", ".model.safetensors.000000"),
    # gsutil and gcloud, aws, rclone, azcopy, Hugging Face, WinSCP, aria2
    *("0.0_.gstmp", "manifest.ocdbt_.gstmp", "model.safetensors.6eF5b5da", "1.2.6eF5b5da", "0.0.1a2b3c4d.partial"),
    *(".azDownload-6f2c1b0a-0.0", "model.safetensors.incomplete", "0.0.filepart", "0.0.aria2", "0.0.part"),
    # cp --backup, editors, NFS, TensorStore
    *("_METADATA~", "_METADATA.~1~", "0.0.tmp", ".nfs00000000012a4f8c00000001", "0.0.__lock"),
)
KEPT = (
    *("_METADATA", "_CHECKPOINT_METADATA", "_sharding", "_strings.json", "commit_success.txt", "process_0", "metadata"),
    *("manifest.ocdbt", "5f9fc7da23e28d36948b61be90cddbcd", ".zarray", ".zattrs", ".zgroup", "zarr.json", "0", "0.0"),
    *("0.10000000", "12.3.12345678", "c", "checkpoint", "model-00001-of-00002.safetensors", "config.json", "README.md"),
    *(
        "model.safetensors.index.json",
        ".gitattributes",
        ".hidden.folder",
        "process_0-of-1.json",
        "train.state.00001000",
    ),
    *("tokenizer.defaced", "0.partially", "tmp", "partial", ".tmpfiles", "events.out.tfevents.1700000000.host"),
)


@pytest.mark.parametrize("name", LEFT)
def test_a_name_that_is_left(name: str) -> None:
    assert is_left(name)


@pytest.mark.parametrize("name", KEPT)
def test_a_name_that_is_kept(name: str) -> None:
    assert not is_left(name)


def test_nothing_that_orbax_writes_is_left(made: Path) -> None:
    files = [path for path in made.rglob("*") if path.is_file()]
    assert len(files) > 500 and [path for path in files if is_left(path.name)] == []


@pytest.mark.parametrize(
    "place", ["state/.{}.Xa81Kd", "state/params.embed/.{}.Xa81Kd", "data/.{}.Xa81Kd", "rng/jax_random_key/{}.partial"]
)
def test_a_copy_that_was_killed(made: Path, tmp_path: Path, place: str) -> None:
    """Beside the whole file, and instead of it: then what lacks is told too."""
    shutil.copytree(made / "items", tmp_path / "items")
    folder = tmp_path / "items/1" / place.rpartition("/")[0]
    whole = next(path for path in sorted(folder.iterdir()) if path.is_file() and path.name != "commit_success.txt")
    left = tmp_path / "items/1" / place.format(whole.name.removeprefix("."))
    left.write_bytes(whole.read_bytes()[:1])
    (found,) = judge_checkpoint(CheckpointEvidence(read_checkpoint(tmp_path / "items")))
    assert (found.code, found.severity) == ("CKP602", "warning")
    assert f"(first: {left.relative_to(tmp_path / 'items').as_posix()})" in found.message
    whole.unlink()
    codes = {each.code for each in judge_checkpoint(CheckpointEvidence(read_checkpoint(tmp_path / "items")))}
    assert "CKP602" in codes and (len(codes) > 1 or whole.name in ("_METADATA",)), codes


@pytest.mark.parametrize("folder", [".~tmp~", ".rsync-partial"])
def test_a_folder_that_a_copy_keeps_is_named_once(made: Path, tmp_path: Path, folder: str) -> None:
    shutil.copytree(made / "items/1", tmp_path / "1")
    (tmp_path / "1/state" / folder).mkdir()
    for name in ("0.0", "_METADATA"):
        (tmp_path / "1/state" / folder / name).write_text("x")
    (found,) = judge_checkpoint(CheckpointEvidence(read_checkpoint(tmp_path / "1")))
    assert found.code == "CKP602" and f"1 temporary name of a save or a copy is left (first: state/{folder})" in (
        found.message
    )
