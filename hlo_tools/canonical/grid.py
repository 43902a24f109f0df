"""Whether two sets of groups are the rows and columns of a third."""

from __future__ import annotations

from ..collectives import Collective


def are_factors(whole: Collective, inner: Collective, outer: Collective) -> bool:
    """Whether each group of the whole is a grid: a group of `inner` for each row, one of `outer` for each column."""
    if inner.group_size * outer.group_size != whole.group_size:
        return False
    of_whole = {device: number for number, group in enumerate(whole.groups) for device in group}
    rows = {device: number for number, group in enumerate(inner.groups) for device in group}
    columns = {device: number for number, group in enumerate(outer.groups) for device in group}
    if of_whole.keys() != rows.keys() or rows.keys() != columns.keys():
        return False
    if any(len({of_whole[device] for device in group}) != 1 for group in (*inner.groups, *outer.groups)):
        return False
    return len({(rows[device], columns[device]) for device in of_whole}) == len(of_whole)
