"""Names that tools which copy give to what they have not finished: they are left where a copy was killed.

They write beside the file that they make, and rename it at the end: rsync as `.NAME.Xa81Kd`, gsutil and gcloud
as `NAME_.gstmp`, aws as `NAME.6eF5b5da`, rclone as `NAME.partial`, azcopy as `.azDownload-...-NAME`, Hugging Face as
`NAME.incomplete`. Arrays have folders of any name, and so only files count, and folders that rsync keeps for this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_ENDS = (
    ".__lock",
    ".tmp",
    ".temp",
    ".part",
    ".partial",
    ".filepart",
    ".incomplete",
    ".aria2",
    ".gstmp",
    "_.gstmp",
    "~",
)
FOLDERS = (".~tmp~", ".rsync-partial", ".rsync-tmp")
# What is drawn at random has a digit or a capital nearly always, and a word seldom. The chunk of an array may be called
# `0.10000000`.
_RANDOM = re.compile(
    r"\.(?P<rsync>.+\.(?=[a-zA-Z0-9]*[A-Z0-9])[a-zA-Z0-9]{6})"
    r"|(?P<aws>(?![\d.]*$).+\.(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{8})"
    r"|\.azDownload-.+|\.nfs[0-9a-f]{16,}"
)


def is_left(file: str) -> bool:
    """Whether the name of a file is one that is to be renamed."""
    return file.endswith(_ENDS) or _RANDOM.fullmatch(file) is not None


def without_left(files: Mapping[str, int]) -> dict[str, int]:
    """The files, by path, that are no such ones, and lie in no folder of such ones."""
    return {path: size for path, size in files.items() if not _left(path)}


def _left(path: str) -> bool:
    *folders, file = path.split("/")
    return is_left(file) or any(folder in folders for folder in FOLDERS)
