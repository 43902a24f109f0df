"""A run did not leave the observations that it promised beside its checkpoints.

## What it does
Holds the folder that `checkpoint.observations` names to its schema and cadence, up to the newest committed step:
`config.json`, a line of `metrics.jsonl` with the promised fields for each step, statistics of the promised trees, key
batches.

## Why is this bad?
Two runs that were not observed alike cannot be compared; what nobody wrote down at step 2000 cannot be looked up when
the loss goes up at step 2100.

## Example
```yaml
checkpoint: { observations: { metrics: { fields: [loss, grad_norm] } } }  # lines hold loss
```

## Use instead
```yaml
checkpoint: { observations: { metrics: { fields: [loss] } } }
```

## References
- https://github.com/NVIDIA/Megatron-LM/tree/main/tests/functional_tests
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model.checkpoint import ObservationsSection
from ....contracts.observations import CONFIG, METRICS, batch_file, statistics_file
from ...cut import shown
from ...rule import Rule
from ..evidence import CheckpointEvidence, counted
from ..observations import Observations

_KEY = "checkpoint.observations"


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    seen, section, latest = evidence.observations, evidence.section.observations, evidence.checkpoint.latest
    if seen is None or section is None:
        return
    if seen.folder is None:
        yield _finding(evidence, f"the run has no folder {seen.place}", "folder", "", _KEY, "a folder", "none")
        return
    last = latest.number if latest is not None and latest.number is not None else 0
    if seen.config is None:
        yield _finding(evidence, f"{CONFIG} is not there", CONFIG, seen.file(CONFIG), _KEY, CONFIG, "no such file")
    yield from _lines(evidence, section, seen, last)
    yield from _files(evidence, section, seen, last)


def _lines(
    evidence: CheckpointEvidence, section: ObservationsSection, seen: Observations, last: int
) -> Iterable[Finding]:
    file, key = seen.file(METRICS), f"{_KEY}.metrics"
    wanted = range(section.metrics.every, last + 1, section.metrics.every)
    there = {line.step for line in seen.lines}
    if missing := [step for step in wanted if step not in there]:
        said = f"{counted(len(missing), 'step')} of {len(wanted):,} {'has' if len(missing) == 1 else 'have'} no line in"
        yield _finding(
            evidence,
            f"{said} {METRICS} (first: step {missing[0]:,})",
            "lines",
            file,
            f"{key}.every",
            f"{len(wanted):,} steps",
            f"{len(wanted) - len(missing):,}",
            shown([*(f"line {line:,} is no JSON object with a step" for line in seen.torn), *map(_step, missing)]),
        )
    for field in section.metrics.fields:
        without = [line for line in seen.lines if not _number(line.values.get(field))]
        if without:
            yield _finding(
                evidence,
                f"`{field}` is no number in {counted(len(without), 'line')} of {METRICS} (first: line "
                f"{without[0].number:,}, step {without[0].step:,})",
                f"field {field}",
                file,
                f"{key}.fields",
                field,
                ", ".join(without[0].values) or "nothing",
            )


def _files(
    evidence: CheckpointEvidence, section: ObservationsSection, seen: Observations, last: int
) -> Iterable[Finding]:
    for kind, asked, named in (
        ("statistics", section.statistics, statistics_file),
        ("batch", section.batches, batch_file),
    ):
        if asked is None:
            continue
        wanted = range(asked.every, last + 1, asked.every)
        if missing := [step for step in wanted if (kind, step) not in (seen.files or {})]:
            what = (
                f"{counted(len(missing), 'file')} of {len(wanted):,} {'is' if len(missing) == 1 else 'are'} not there"
            )
            yield _finding(
                evidence,
                f"{what} (first: {named(missing[0])})",
                kind,
                seen.file(named(missing[0])),
                f"{_KEY}.{'statistics' if kind == 'statistics' else 'batches'}.every",
                f"{len(wanted):,} files",
                f"{len(wanted) - len(missing):,}",
                shown([named(step) for step in missing]),
            )
    for (kind, step), item in sorted((seen.files or {}).items()):
        name = statistics_file(step) if kind == "statistics" else batch_file(step)
        for hole in item.holes[:1]:
            said = f"{name} is cut: {hole.leaf}: {hole.what}"
            yield _finding(evidence, said, f"cut {name}", seen.file(name), _KEY, "a whole file", hole.kind)
        for tree in section.statistics.of if kind == "statistics" and section.statistics is not None else ():
            if not any(path == tree or path.startswith(f"{tree}/") for path in item.leaves):
                key = f"{_KEY}.statistics.of"
                tops = sorted({path.partition("/")[0] for path in item.leaves})
                said = f"{name} has no array of `{tree}`"
                yield _finding(evidence, said, f"tree {tree}", seen.file(name), key, tree, ", ".join(tops) or "nothing")


def _finding(
    evidence: CheckpointEvidence,
    message: str,
    subject: str,
    file: str,
    key: str,
    expected: str,
    found: str,
    more: tuple[str, ...] = (),
) -> Finding:
    return evidence.finding(
        RULE,
        message,
        subject=subject,
        beside=file,
        key=key,
        expected=expected,
        found=found,
        evidence=more,
        help="have the run write it (`contract-lint train --checkpoints` does), or promise what it leaves",
    )


def _step(step: int) -> str:
    return f"step {step:,}"


def _number(value: object) -> bool:
    """Numbers, and the words that stand for those that JSON has none for."""
    return value in ("nan", "inf", "-inf") or (isinstance(value, (int, float)) and not isinstance(value, bool))


RULE = Rule(
    code="CKP614",
    name="observation-missing",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
