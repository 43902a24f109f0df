"""What a resume needs and a saved step does not hold: a restore of such a step is a warm start."""

from __future__ import annotations

from .evidence import CheckpointEvidence


def missing_for_resume(evidence: CheckpointEvidence, state: bool = True) -> list[str]:
    """Parts in words: with `state` the entries of `checkpoint.state` that are not there, then slots that do not cover
    all parameters, then, where neither is promised, every optimizer state."""
    missing = [name for name, path in evidence.section.state.items() if state and not evidence.holds(path)]
    trained = sum(not evidence.is_frozen(path) for path in evidence.parameters)
    for row in evidence.coverage.slots:
        without = [path for path in row.of("missing") if path in evidence.parameters]
        if without:
            missing.append(f"optimizer slot {row.name} ({len(without):,} of {trained:,} parameters)")
    known = evidence.contract is not None and evidence.contract.optimizer is not None
    if not known and evidence.root is not None and not _other_arrays(evidence):
        missing.append("optimizer state")
    return missing


def _other_arrays(evidence: CheckpointEvidence) -> bool:
    """Whether arrays are saved beside the parameters that could be an optimizer's: some have a shape of theirs."""
    start = f"{evidence.root}/" if evidence.root else ""
    shapes = {leaf.shape for leaf in evidence.parameters.values()}
    return any(not path.startswith(start) and leaf.shape in shapes for path, leaf in evidence.checkpoint.arrays.items())
