"""What a training run observed is bound by its record: files of single steps, and the lines that it ended with."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.observations import CONFIG, METRICS, batch_file, statistics_file
from contract_lint.contracts.record import StepRange
from contract_lint.contracts.record_file import parse_record
from contract_lint.plugins.pipeline.record.automatic import Where, begun, record_training
from contract_lint.plugins.pipeline.record.place import find
from contract_lint.plugins.pipeline.record.verify import verify_record
from safetensors.numpy import save_file

CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "contract_lint.runtime.trainer:build" } }
targets: [cpu:2]
mesh: { axes: { fsdp: 2 } }
checkpoint: { observations: { place: seen, statistics: { every: 1 }, batches: { every: 1 } } }
"""
LINE = '{{"step": {}, "loss": 2.5}}\n'


def ran(project: Path, first: int, last: int) -> Path:
    """A run over these steps, as the trainer leaves it, and its record."""
    import numpy as np

    start = begun(str(project / "c.contract.yaml"))
    seen = project / "run/seen"
    seen.mkdir(parents=True, exist_ok=True)
    (project / f"run/{last}").mkdir()
    save_file({"w": np.zeros(2, np.float32)}, project / f"run/{last}/a.safetensors")
    (seen / CONFIG).write_text(f'{{"until": {last}}}')
    with (seen / METRICS).open("a") as lines:
        lines.writelines(LINE.format(step) for step in range(first, last + 1))
    for step in range(first, last + 1):
        for name in (batch_file(step), statistics_file(step)):
            (seen / name).write_bytes(name.encode())
    (told,) = record_training(
        start, None, {}, Where(), steps=StepRange(first=first, last=last), checkpoints=str(project / "run")
    )
    return find(told.split()[1])


def changed(record: Path) -> list[tuple[str, str | None]]:
    found = verify_record(str(record)).findings
    return [(each.subject, each.found) for each in found if each.code == "EXP602"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "c.contract.yaml").write_text(CONTRACT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_run_binds_its_own_and_a_later_one_goes_on(project: Path) -> None:
    first = ran(project, 1, 2)
    bound = {file.path: file.grows for file in parse_record(first.read_bytes(), "r").files}
    assert {path: grows for path, grows in bound.items() if path.startswith("run/seen/")} == {
        f"run/seen/{name}": name == METRICS
        for name in (*map(batch_file, (1, 2)), *map(statistics_file, (1, 2)), METRICS)
    }
    assert changed(first) == []
    second = ran(project, 3, 4)
    assert changed(first) == [] and changed(second) == []
    assert parse_record(second.read_bytes(), "r").steps == StepRange(first=3, last=4)
    (project / "run/seen" / batch_file(3)).write_bytes(b"another")
    assert changed(first) == [] and [subject for subject, _ in changed(second)] == [f"run/seen/{batch_file(3)}"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (LINE.format(2), f"{len(LINE.format(2)):,} B"),  # the first line is gone
        (LINE.format(1) + LINE.format(3) * 2, None),  # another one, and one more
        ("", "0 B"),
    ],
)
def test_lines_that_were_changed_are_a_finding(project: Path, text: str, found: str | None) -> None:
    record = ran(project, 1, 2)
    (project / "run/seen" / METRICS).write_text(text)
    ((subject, told),) = changed(record)
    assert subject == f"run/seen/{METRICS}" and (found is None or told == found)


def test_a_file_that_grows_is_written_as_such_and_nothing_else(project: Path) -> None:
    text = ran(project, 1, 2).read_text()
    assert text.count('"grows":true') == 1
    for other in ("false", "1", "null"):
        with pytest.raises(Exception, match="annotation"):
            parse_record(text.replace('"grows":true', f'"grows":{other}').encode(), "r")
