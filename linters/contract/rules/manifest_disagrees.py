"""The data manifest that a contract names is not there, or says otherwise than the contract.

## What it does
Reads the file at `data.dataset.manifest` - not the data - and compares the root digest, the tokenizer's digest, ids and
vocabulary, and the sources of the mixture with what `data` says of them.

## Why is this bad?
Both are reviewed, and one of them is what a run reads: weights of a source that does not exist are shared out among the
others, and an end id that is not the tokenizer's ends no document.

## Example
```yaml
data:
  dataset: { manifest: ../data.manifest.json }   # its sources: web, code
  mixture: { web: 0.7, books: 0.3 }
```

## Use instead
```yaml
data:
  dataset: { manifest: ../data.manifest.json }
  mixture: { web: 0.7, code: 0.3 }
```

## References
- https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.data_manifest import DataManifest
from ....contracts.errors import ContractLintError
from ....contracts.finding import Finding
from ....contracts.key import Key
from ....contracts.load import LoadedContract
from ....contracts.promised_manifest import MANIFEST_KEY, promised_manifest
from ....contracts.suggest import did_you_mean
from ...cut import in_a_line
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    try:
        manifest = promised_manifest(loaded)
    except ContractLintError as error:
        yield view.finding(
            RULE,
            MANIFEST_KEY,
            f"the data manifest cannot be read: {error.location}: {error.message}",
            found=view.text(*MANIFEST_KEY),
            help=error.help,
        )
        return
    if manifest is None:
        return
    for key, said, expected, found in (*_digests(view, manifest), *_ids(view, manifest)):
        yield view.finding(RULE, key, said, expected=expected, found=found, evidence=(_named(loaded, manifest),))
    sources = manifest.sources
    for name in view.mapping("data", "mixture") if sources.keys() != {"."} else ():
        if name not in sources:
            yield view.finding(
                RULE,
                ("data", "mixture", name),
                f"the manifest has no source `{name}`",
                expected=in_a_line(sources, 12) or "no source",
                found=name,
                evidence=(_named(loaded, manifest),),
                help=did_you_mean(name, sources),
            )


def _named(loaded: LoadedContract, manifest: DataManifest) -> str:
    return f"the manifest is {manifest.path}, named at {loaded.place(MANIFEST_KEY)}"


def _digests(view: View, manifest: DataManifest) -> Iterable[tuple[Key, str, str, str]]:
    of: tuple[tuple[Key, str, str | None], ...] = (
        (("data", "dataset", "root"), "files", manifest.root),
        (("data", "tokenizer", "sha256"), "tokenizer", manifest.tokenizer_digest),
    )
    for key, what, digest in of:
        said = view.text(*key)
        if said is not None and digest is None:
            yield key, f"the manifest lists no file of a {what}", "files of a tokenizer", said
        elif said is not None and digest is not None and said != digest:
            yield key, f"the digest of the {what} is another than the manifest's", digest, said


def _ids(view: View, manifest: DataManifest) -> Iterable[tuple[Key, str, str, str]]:
    """Ids as the tokenizer's files have them. A vocabulary may be rounded up, and may not be too small."""
    known = manifest.tokenizer
    if known is None:
        return
    key: Key = ("data", "tokenizer", "vocab")
    vocab = view.integer(*key)
    if vocab is not None and known.vocab is not None and vocab < known.vocab:
        said = f"the vocabulary has {vocab:,} ids, and the tokenizer's files {known.vocab:,}"
        yield key, said, f"at least {known.vocab}", str(vocab)
    for key in (
        *(("data", "tokenizer", name) for name in view.mapping("data", "tokenizer") if name.endswith("_id")),
        *(("data", "tokenizer", "special", name) for name in view.mapping("data", "tokenizer", "special")),
    ):
        value, wanted = view.get(*key), known.special.get(str(key[-1]))
        if isinstance(value, int) and not isinstance(value, bool) and wanted is not None and value != wanted:
            yield key, f"{key[-1]} is {value}, and {wanted} in the tokenizer's files", str(wanted), str(value)


RULE = Rule(
    code="DAT008",
    name="manifest-disagrees",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
