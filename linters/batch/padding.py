"""Which tokens of a batch are text where no segment ids say: by the mask of the attention, or by the padding id."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy


def documents_of_mask(mask: numpy.ndarray) -> numpy.ndarray | None:
    """[rows, columns]: 0 where an attention mask says padding, else its number: 1, or that of a document.

    None for a mask of another kind: one that is added to the scores, say.
    """
    import numpy

    if mask.dtype.kind == "f" and not ((mask == 0) | (mask == 1)).all():
        return None
    if mask.dtype.kind not in "iufb" or (mask.dtype.kind == "i" and mask.min(initial=0) < 0):
        return None
    return mask.astype(numpy.int64)


def text_of_padding(padding: numpy.ndarray, keep: int) -> numpy.ndarray:
    """[rows, columns] 0 or 1: 0 for padding at the end of a row, `keep` of it excepted (an end that looks like
    padding), and for padding before its text, where the rows are padded on the left."""
    import numpy

    columns = numpy.arange(padding.shape[1])[None]
    leading = numpy.logical_and.accumulate(padding, axis=1).sum(axis=1)
    trailing = numpy.logical_and.accumulate(padding[:, ::-1], axis=1).sum(axis=1)
    used = padding.shape[1] - numpy.maximum(trailing - keep, 0)
    # One such id before every row is where each begins, as decoders have it.
    left = (leading if not (leading == 1).all() else numpy.zeros_like(leading))[:, None]
    return ((columns >= numpy.where(left < padding.shape[1], left, 0)) & (columns < used[:, None])).astype(numpy.int64)
