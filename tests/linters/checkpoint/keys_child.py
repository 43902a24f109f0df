"""Random keys that Orbax saves, and whether it restores each after one of its files is gone: no code of ours."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
import orbax.checkpoint as ocp

OUT = Path(sys.argv[1]).resolve()
KINDS = {
    "jax": (ocp.JaxRandomKeyCheckpointHandler, ocp.args.JaxRandomKeyRestore()),
    "numpy": (ocp.NumpyRandomKeyCheckpointHandler, ocp.args.NumpyRandomKeyRestore()),
}


def restores(folder: Path, kind: str) -> bool:
    handler, arguments = KINDS[kind]
    try:
        with ocp.CheckpointManager(folder, item_names=(kind,), item_handlers={kind: handler()}) as manager:
            manager.restore(1, args=ocp.args.Composite(**{kind: arguments}))
    except Exception:
        return False
    return True


with ocp.CheckpointManager(
    OUT / "keys", item_names=tuple(KINDS), item_handlers={kind: handler() for kind, (handler, _) in KINDS.items()}
) as made:
    parts = ocp.args.Composite(
        jax=ocp.args.JaxRandomKeySave(jax.random.split(jax.random.key(0), 3)),
        numpy=ocp.args.NumpyRandomKeySave(np.random.RandomState(0).get_state()),
    )
    made.save(1, args=parts)
lost: dict[str, bool] = {}
for kind in KINDS:
    assert restores(OUT / "keys", kind)
    for path in sorted((OUT / "keys/1" / kind).rglob("*")):
        shutil.copytree(OUT / "keys", OUT / "damaged")
        gone = OUT / "damaged" / path.relative_to(OUT / "keys")
        (shutil.rmtree if gone.is_dir() else Path.unlink)(gone)
        lost[path.relative_to(OUT / "keys").as_posix()] = restores(OUT / "damaged", kind)
        shutil.rmtree(OUT / "damaged")
(OUT / "lost.json").write_text(json.dumps(lost))
