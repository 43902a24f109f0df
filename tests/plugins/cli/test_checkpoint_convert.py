"""`checkpoint convert`: there and back bit for bit, every array named, nothing replaced, nothing left half done."""

from __future__ import annotations

import hashlib
import json
import os
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.plugins.pipeline.convert import convert as convert_module
from contract_lint.plugins.pipeline.convert import orbax
from contract_lint.plugins.pipeline.convert.mapping import mapped

pytest.importorskip("tensorstore", reason="arrays in chunks are read by TensorStore")

Run = Callable[..., "subprocess.CompletedProcess[str]"]
ARRAYS: dict[str, tuple[str, list[int]]] = {
    "a": ("F64", [5, 3]),
    "b.c": ("C64", [3]),
    "b.i": ("I64", [2, 2, 2]),
    "b.w": ("F32", [7, 4]),
    "b.j": ("I32", []),
    "d.0": ("BF16", [9]),
    "d.1": ("F16", [4, 1]),
    "e.f": ("F8_E4M3", [6]),
    "e.g": ("F8_E5M2", [3, 5]),
    "h": ("U8", [11]),
    "i": ("BOOL", [4]),
    "z": ("U8", [0, 3]),
}
BITS = {"F64": 64, "C64": 64, "I64": 64, "F32": 32, "I32": 32, "BF16": 16, "F16": 16, "F4": 4}


def saved(path: Path, arrays: dict[str, tuple[str, list[int]]]) -> Path:
    """A file with random bits in it: NaN with payloads, infinities and subnormal numbers among them."""
    header, data = {}, b""
    for name, (dtype, shape) in sorted(arrays.items(), key=lambda each: (-BITS.get(each[1][0], 8), each[0])):
        more = random.Random(name).randbytes(prod(shape) * BITS.get(dtype, 8) // 8)
        more = bytes(each & 1 for each in more) if dtype == "BOOL" else more
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(more)]}
        data += more
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


@pytest.mark.parametrize("chunk", [64 * 1024**2, 32, 1])
def test_there_and_back_is_the_same_to_the_bit(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(orbax, "CHUNK", chunk)
    first = saved(tmp_path / "a.safetensors", ARRAYS)
    for source, out in (("a.safetensors", "tree"), ("tree", "b.safetensors")):
        done = cli("checkpoint", "convert", source, out)
        assert done.returncode == 0 and f"{out}: 12 arrays" in done.stdout, done.stderr
    assert (tmp_path / "b.safetensors").read_bytes() == first.read_bytes()
    assert len([*(tmp_path / "tree/b.w").iterdir()]) - 1 == (1 if chunk > 112 else 4 if chunk == 32 else 7)
    assert cli("checkpoint", "check", "tree").returncode == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.safetensors", "b.safetensors", "tree"]


def test_orbax_restores_what_was_written_and_what_it_saved_is_read(cli: Run, tmp_path: Path) -> None:
    pytest.importorskip("orbax.checkpoint")
    saved(tmp_path / "a.safetensors", {"w.x": ("F32", [4, 2]), "w.y": ("BF16", [3])})
    assert cli("checkpoint", "convert", "a.safetensors", "tree").returncode == 0
    code = """
import os, sys
os.environ["JAX_PLATFORMS"] = "cpu"
import orbax.checkpoint as ocp
import jax.numpy as jnp
from safetensors.flax import save_file
tree = ocp.PyTreeCheckpointer().restore(os.path.abspath("tree"))
save_file({f"w.{name}": jnp.asarray(value) for name, value in tree["w"].items()}, "c.safetensors")
state = {"w": {name: jnp.asarray(value) for name, value in tree["w"].items()}}
ocp.Checkpointer(ocp.PyTreeCheckpointHandler(use_ocdbt=True)).save(os.path.abspath("ocdbt"), state)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "the same values" in cli("checkpoint", "diff", "a.safetensors", "c.safetensors").stdout
    assert cli("checkpoint", "convert", "ocdbt", "b.safetensors").returncode == 0
    assert (tmp_path / "b.safetensors").read_bytes() == (tmp_path / "a.safetensors").read_bytes()


MAPPING = """\
rules:
  - { from: "model/layers/*/q/*", to: "params/layers_*/attn/*", transpose: none }
  - { from: "model/**", to: "params/rest/**" }
  - { from: "opt/**", drop: true }
"""
NAMED = {name: ("F32", [2]) for name in ("model.layers.0.q.w", "model.layers.1.q.w", "model.embed", "opt.mu")}


def test_a_mapping_names_every_array(cli: Run, tmp_path: Path) -> None:
    saved(tmp_path / "a.safetensors", NAMED)
    (tmp_path / "m.yaml").write_text(MAPPING)
    done = cli("checkpoint", "convert", "a.safetensors", "tree", "--mapping", "m.yaml")
    assert done.returncode == 0 and "3 arrays" in done.stdout and "1 left out by the mapping" in done.stdout
    names = {each.name for each in (tmp_path / "tree").iterdir() if each.is_dir()}
    assert names == {"params.layers_0.attn.w", "params.layers_1.attn.w", "params.rest.embed"}
    (tmp_path / "n.yaml").write_text(MAPPING.replace('  - { from: "opt/**", drop: true }\n', ""))
    done = cli("checkpoint", "convert", "tree", "b.safetensors", "--mapping", "n.yaml", "--reverse")
    assert done.returncode == 0, done.stderr
    back = saved(tmp_path / "expected.safetensors", {name: NAMED[name] for name in NAMED if name != "opt.mu"})
    assert (tmp_path / "b.safetensors").read_bytes() == back.read_bytes()


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ('- { from: "model/**", to: "p/**" }', "1 array no rule names: opt/mu"),
        ('- { from: "**", to: "p/**" }\n  - { from: "x", to: "y" }', "m.yaml:3:5: no array of a.safetensors fits `x`"),
        ('- { from: "**", to: "p/**" }\n  - { from: "x", to: "y" }', "take the rule out"),
        ('- { from: "**", to: "p/**" }\n  - { from: "opt/mu", to: "y" }', "rules before it take all that it fits"),
        (
            '- { from: "model/layer/*/q/w", to: "y/*" }\n  - { from: "**", drop: true }',
            "did you mean `model/layers/*/q/w`?",
        ),
        ('- { from: "model/*/*/q/w", to: "p/*" }\n', "m.yaml:2:5: `p/*` has other stars than"),
        ('- { from: "**/**", to: "**/../**" }', "which leads out of the folder"),
        (
            '- { from: "model/layers/*/q/w", drop: true }\n  - { from: "opt/mu", to: "m" }'
            '\n  - { from: "model/embed", to: "m" }',
            "would both be called m",
        ),
        ('- { from: "opt/mu", to: "m" }\n  - { from: "model/**", to: "m/**" }', "m is an array, and m/"),
        ('- { from: "a", to: "b", transpose: [1, 0] }', "m.yaml:2:38: `transpose` may only be `none`"),
        ('- { from: "a", to: "b", drop: true }', "either `to` or `drop: true`"),
        ('- { form: "a", to: "b" }', "unknown key `form`"),
        ("- 3", "a mapping with from, to, drop, transpose is expected here"),
        ("{}", "`rules` is no list of rules"),
        ("- !!python/object:os.system {}", "m.yaml:2:"),
    ],
)
def test_a_mapping_that_leaves_something_open_is_refused(cli: Run, tmp_path: Path, rules: str, said: str) -> None:
    saved(tmp_path / "a.safetensors", NAMED)
    (tmp_path / "m.yaml").write_text(f"rules:\n  {rules}\n")
    done = cli("checkpoint", "convert", "a.safetensors", "tree", "--mapping", "m.yaml")
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.safetensors", "m.yaml"]


def test_nothing_is_replaced_and_nothing_left_half_done(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = saved(tmp_path / "a.safetensors", NAMED)
    (tmp_path / "there").mkdir()
    (tmp_path / "link.safetensors").symlink_to("nowhere")
    for out in ("there", "link.safetensors", "a.safetensors"):
        done = cli("checkpoint", "convert", "a.safetensors", out)
        assert done.returncode == 2 and f"{out}: is there already" in done.stderr
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for out in ("file/out", "file/out.safetensors", "loop/out", "loop/out.safetensors"):
        done = cli("checkpoint", "convert", "a.safetensors", out)
        assert (done.returncode, f"{out}: cannot be written" in done.stderr) == (2, True), done.stderr
    (tmp_path / "file").unlink()
    (tmp_path / "loop").unlink()
    done = cli("checkpoint", "convert", "a.safetensors", "no/where")
    assert done.returncode == 2 and "no/where: cannot be written" in done.stderr
    saved(tmp_path / "four.safetensors", {"x": ("F4", [2])})
    for out in ("tree", "b.safetensors"):
        done = cli("checkpoint", "convert", "four.safetensors", out)
        assert done.returncode == 2 and "x is float4_e2m1fn" in done.stderr, done.stderr
    whole = first.read_bytes()
    first.write_bytes(whole[:-1])
    done = cli("checkpoint", "convert", "a.safetensors", "tree")
    assert done.returncode == 2 and "is not whole" in done.stderr
    first.write_bytes(whole)

    def flipped(folder: Path, *given: Any) -> None:
        orbax.write_orbax(folder, *given)
        path = folder / "opt.mu/0"
        path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])

    monkeypatch.setattr(convert_module, "write_orbax", flipped)
    done = cli("checkpoint", "convert", "a.safetensors", "tree")
    assert done.returncode == 2 and "opt/mu has other bytes when it is read again" in done.stderr
    names = ["a.safetensors", "four.safetensors", "link.safetensors", "there"]
    assert sorted(os.listdir(tmp_path)) == names


def test_what_a_file_says_of_itself_is_left_out_and_said(cli: Run, tmp_path: Path) -> None:
    text = b'{"__metadata__":{"format":"pt","step":"3"},"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(4))
    for out in ("tree", "b.safetensors"):
        done = cli("checkpoint", "convert", "a.safetensors", out)
        assert done.returncode == 0 and "what the file says of itself left out (format, step)" in done.stdout
    (tmp_path / "m.yaml").write_text('rules: [{ from: x, to: "__metadata__" }]')
    done = cli("checkpoint", "convert", "a.safetensors", "c.safetensors", "--mapping", "m.yaml")
    assert done.returncode == 2 and "`__metadata__` is what .safetensors calls its own notes" in done.stderr
    text = b'{"__metadata__":{"step":3}}'
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)
    assert '`__metadata__` is {"step": 3}, not' in cli("checkpoint", "check", "a.safetensors").stderr


def test_names_that_would_not_come_back_are_refused(cli: Run, tmp_path: Path) -> None:
    saved(tmp_path / "a.safetensors", {"a/b.c": ("F32", [2]), "a/d": ("F32", [1])})
    assert cli("checkpoint", "convert", "a.safetensors", "tree").returncode == 0
    done = cli("checkpoint", "convert", "tree", "b.safetensors")
    assert done.returncode == 2 and "`a/b.c` has a `.` in it" in done.stderr
    assert cli("checkpoint", "convert", "tree", "b.safetensors", "--separator", "/").returncode == 0
    assert (tmp_path / "b.safetensors").read_bytes() == (tmp_path / "a.safetensors").read_bytes()


def test_what_lies_beside_the_trees_of_an_item_is_named(cli: Run, tmp_path: Path) -> None:
    """A random key: its array has a name, what is said of it has none."""
    saved(tmp_path / "a.safetensors", {"w": ("F32", [2])})
    assert cli("checkpoint", "convert", "a.safetensors", "step/rng/jax_random_key").returncode == 2
    (tmp_path / "step/rng/jax_random_key_metadata").mkdir(parents=True)
    (tmp_path / "step/commit_success.txt").touch()
    (tmp_path / "step/rng/jax_random_key_metadata/metadata").write_text('{"typed": true}')
    assert cli("checkpoint", "convert", "a.safetensors", "step/rng/jax_random_key").returncode == 0
    done = cli("checkpoint", "convert", "step", "b.safetensors")
    told = " ".join(done.stdout.split())
    assert done.returncode == 0 and "left out what is no array (rng/jax_random_key_metadata)" in told, done.stderr
    (tmp_path / "m.yaml").write_text('rules: [{ from: "*/*_metadata", drop: true }, { from: "rng/**", to: "**" }]')
    done = cli("checkpoint", "convert", "step", "c.safetensors", "--mapping", "m.yaml")
    assert done.returncode == 0 and "1 array" in done.stdout, done.stderr
    (tmp_path / "m.yaml").write_text('rules: [{ from: "*/*_metadata", to: "x/*/*" }, { from: "rng/**", to: "**" }]')
    done = cli("checkpoint", "convert", "step", "d.safetensors", "--mapping", "m.yaml")
    assert done.returncode == 2 and "no array of step fits `*/*_metadata`" in done.stderr, done.stderr


def test_one_array_without_a_name(cli: Run, tmp_path: Path) -> None:
    saved(tmp_path / "a.safetensors", {"w": ("F32", [2])})
    assert cli("checkpoint", "convert", "a.safetensors", "step").returncode == 0
    for path in (tmp_path / "step/w").iterdir():
        path.rename(tmp_path / "step" / path.name)
    entry = {"key_metadata": [], "value_metadata": {"value_type": "np.ndarray", "skip_deserialize": False}}
    (tmp_path / "step/_METADATA").write_text(json.dumps({"tree_metadata": {"()": entry}}))
    assert cli("checkpoint", "check", "step").returncode == 0
    done = cli("checkpoint", "convert", "step", "b.safetensors")
    assert done.returncode == 2 and "is one array that has no name" in done.stderr, done.stderr


def test_the_name_of_the_one_item_may_be_left_out_and_what_to_drop_is_told_whole(cli: Run, tmp_path: Path) -> None:
    saved(tmp_path / "a.safetensors", {"params.w": ("F32", [4, 2]), "params.v": ("BF16", [3])})
    assert cli("checkpoint", "convert", "a.safetensors", "step/state").returncode == 2
    (tmp_path / "step").mkdir()
    assert cli("checkpoint", "convert", "a.safetensors", "step/state").returncode == 0
    for name in ("data", "more"):
        (tmp_path / "step" / name).mkdir()
        (tmp_path / "step" / name / "metadata").write_text("{}")
    handlers = {name: "orbax.checkpoint.JsonCheckpointHandler" for name in ("data", "more")}
    (tmp_path / "step/_CHECKPOINT_METADATA").write_text(json.dumps({"item_handlers": handlers}))
    done = cli("checkpoint", "convert", "step", "c.safetensors")
    told = " ".join(done.stdout.split())
    assert done.returncode == 0 and "2 arrays" in told and "left out what is no array (data, more)" in told, done.stderr
    (tmp_path / "m.yaml").write_text('rules: [{ from: "params/w", to: w }]')
    done = cli("checkpoint", "convert", "step", "d.safetensors", "--mapping", "m.yaml")
    assert done.returncode == 2 and "1 array no rule names: state/params/v\n" in done.stderr, done.stderr
    # Arrays that nothing here reads are no such thing.
    (tmp_path / "step/data/metadata").rename(tmp_path / "step/data/a.npz")
    (tmp_path / "step/_CHECKPOINT_METADATA").write_text(json.dumps({"item_handlers": handlers | {"data": "my.Own"}}))
    done = cli("checkpoint", "convert", "step", "d.safetensors")
    told = " ".join(done.stderr.split())
    assert done.returncode == 2 and "no array that can be read is in data" in told, told
    assert '{ from: "data", drop: true }' in told and "more" not in told
    for source in ("params/**", "state/params/**"):
        rules = f'- {{ from: "{source}", to: "params/**" }}\n  - {{ from: "*", drop: true }}\n'
        (tmp_path / "m.yaml").write_text(f"rules:\n  {rules}")
        done = cli("checkpoint", "convert", "step", "b.safetensors", "--mapping", "m.yaml")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "b.safetensors").read_bytes() == (tmp_path / "a.safetensors").read_bytes()
        (tmp_path / "b.safetensors").unlink()


def test_digests_of_one_file(cli: Run, tmp_path: Path) -> None:
    file = saved(tmp_path / "a.safetensors", {"w": ("F32", [4, 2])})
    assert cli("checkpoint", "digests", "a.safetensors", "--output", "d.json").returncode == 0
    listed = json.loads((tmp_path / "d.json").read_text())["files"]
    expected = f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
    assert [(each["path"], each["sha256"]) for each in listed] == [("a.safetensors", expected)]
    done = cli("checkpoint", "check", "a.safetensors", "--digests", "d.json")
    assert done.returncode == 0 and "contents as in d.json" in " ".join(done.stdout.split())
    file.write_bytes(file.read_bytes()[:-1] + b"\1")
    done = cli("checkpoint", "check", "a.safetensors", "--digests", "d.json")
    assert done.returncode == 1 and "CKP613" in done.stdout


def test_a_leaf_with_an_empty_name_is_one_of_several() -> None:
    with pytest.raises(ContractLintError, match="the leaf with an empty name would be called ``, which is empty"):
        mapped(["b", ""], None, "tree")
    assert mapped(["b"], None, "tree").names == {"b": "b"}
