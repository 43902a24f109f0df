"""Planted faults of packing and shifting, as data: what is changed in the reference trainer, and what must be said.

`probe`: the batch is right and the step is wrong, so that only running it shows the fault.
"""

from __future__ import annotations

from dataclasses import dataclass

Edit = tuple[str, str, str]


@dataclass(frozen=True)
class PackingFault:
    """`edits`: (file, old, new); `old` occurs exactly once. `says`: words of the finding's message."""

    name: str
    edits: tuple[Edit, ...]
    code: str
    says: str
    probe: bool = False

    def __str__(self) -> str:
        return self.name


DATA, STEP, LOSS, ATTENTION = "data.py", "step.py", "loss.py", "layers/attention.py"
TARGETS = '        row["targets"][start : stop - 1] = text[1:]\n'
MASK = '        row["loss_mask"][start : stop - 1] = 1\n'
POSITIONS = '        row["positions"][start:stop] = np.arange(len(text))\n'
SEGMENTS = '        row["segment_ids"][start:stop] = number\n'
END = "        start = stop\n    return row"

FAULTS = (
    PackingFault(
        "positions-not-restarted",
        ((DATA, POSITIONS, '        row["positions"][start:stop] = np.arange(start, stop)\n'),),
        code="DAT604",
        says="positions run through the whole row",
    ),
    PackingFault(
        "positions-from-one",
        ((DATA, POSITIONS, '        row["positions"][start:stop] = 1 + np.arange(len(text))\n'),),
        code="DAT604",
        says="have another position than in their document",
    ),
    PackingFault(
        "targets-shifted-twice",
        ((DATA, TARGETS, '        row["targets"][start : stop - 2] = text[2:]\n'),),
        code="DAT606",
        says="promised is the next token",
    ),
    PackingFault(
        "targets-not-shifted",
        ((DATA, TARGETS, '        row["targets"][start:stop] = text\n'),),
        code="DAT606",
        says="are the same token, promised is the next token",
    ),
    PackingFault(
        "padding-counted",
        ((DATA, END, '        start = stop\n    row["loss_mask"][start:] = 1\n    return row'),),
        code="DAT608",
        says="are padding",
    ),
    PackingFault(
        "next-document-counted",
        (
            (
                DATA,
                END,
                "        start = stop\n"
                '    row["targets"] = np.roll(row["tokens"], -1)\n'
                '    row["loss_mask"][:-1] = row["segment_ids"][1:] != 0\n'
                "    return row",
            ),
        ),
        code="DAT609",
        says="count the first token of the next one",
    ),
    PackingFault(
        "nothing-counted",
        ((DATA, MASK, '        row["loss_mask"][start : stop - 1] = 0\n'),),
        code="DAT610",
        says="no target of the batch counts in the loss",
    ),
    PackingFault(
        "segment-ids-ignored-in-attention",
        ((ATTENTION, "    if packing is not None:\n", "    if False:\n"),),
        code="DAT621",
        says="of other documents",
        probe=True,
    ),
    PackingFault(
        "earlier-documents-seen",
        (
            (
                ATTENTION,
                "(segments_BS[:, :, None] == segments_BS[:, None, :])",
                "(segments_BS[:, :, None] >= segments_BS[:, None, :])",
            ),
        ),
        code="DAT621",
        says="of other documents",
        probe=True,
    ),
    PackingFault(
        "queries-see-what-follows",
        ((ATTENTION, "jnp.tril(jnp.ones((sequence, sequence), bool))", "jnp.ones((sequence, sequence), bool)"),),
        code="DAT622",
        says="which stands before it",
        probe=True,
    ),
    PackingFault(
        "targets-shifted-in-the-model",
        ((STEP, 'batch["targets"])', 'jnp.roll(batch["targets"], -1, axis=1))'),),
        code="DAT627",
        says="the step shifts them by 1, and `shift: batch` promises that it takes targets as they come",
        probe=True,
    ),
    PackingFault(
        "positions-ignored-in-attention",
        ((ATTENTION, "packing.positions_BS if packing is not None else None", "None"),),
        code="DAT623",
        says="positions, and nothing it returns depends on it",
        probe=True,
    ),
    PackingFault(
        "padding-in-the-denominator",
        ((LOSS, "jnp.sum(loss_mask_BS.astype(dtype))", "jnp.sum(jnp.ones_like(loss_mask_BS, dtype))"),),
        code="DAT624",
        says="is the size of the batch",
        probe=True,
    ),
)
