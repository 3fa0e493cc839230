"""The marks by which a file is known before a module of its format is loaded: names of columns, JSON keys, and shapes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from crowdassay.labels.jsontext import flat
from crowdassay.labels.probe import Probe
from crowdassay.labels.roles import ITEM_WORKER_LABEL, ROLES, plain_name
from crowdassay.labels.values import mapping


def is_list(probe: Probe) -> bool:
    """Return whether the first value of JSON is a list."""
    return isinstance(probe.first, list)


def holds_more(probe: Probe) -> bool:
    """Return whether an object holds lists or objects, or a key in the plural where a worker's name would be."""
    if not isinstance(probe.first, dict):
        return False
    plurals = (plain_name(key).removesuffix("s") for key in probe.keys if plain_name(key).endswith("s"))
    return any(isinstance(value, list | dict) for value in probe.first.values()) or any(map(ROLES["worker"].is_named, plurals))


def is_numbered(probe: Probe) -> bool:
    """Return whether columns have numbers, as those of several workers have."""
    return sum(any(map(str.isdigit, name)) for name in probe.header or flat(mapping(probe.first))) > 1


def is_unnamed(probe: Probe) -> bool:
    """Return whether a table lacks a column named after items, workers or labels."""
    names = probe.header or [name for name in mapping(probe.first) if isinstance(name, str)]
    return len(names) > 1 and not all(any(map(ROLES[role].is_named, names)) for role in ITEM_WORKER_LABEL)


class Mark:
    """What all files of a format show, or all of one kind of them.

    Parameters
    ----------
    *keys : str
        Columns or JSON keys that are there, all of them.
    start, end : str, optional
        How some column or key begins, or ends.
    member : str, optional
        A file or folder in a zip or folder.
    shape : callable, optional
        One of the functions above, where no name tells.

    Examples
    --------
    >>> from pathlib import Path
    >>> table = Probe(Path("pool.tsv"), "delimited", ["INPUT:image", "OUTPUT:result", "ASSIGNMENT:worker_id"])
    >>> Mark("ASSIGNMENT:worker_id", start="OUTPUT:").fits(table), Mark("hit").fits(table)
    (True, False)
    """

    def __init__(
        self, *keys: str, start: str = "", end: str = "", member: str = "", shape: Callable[[Probe], bool] | None = None
    ) -> None:
        self.keys, self.start, self.end, self.member, self.shape = frozenset(keys), start, end, member, shape

    def fits(self, probe: Probe) -> bool:
        """Return whether a file has this mark."""
        names = probe.keys
        return (
            self.keys <= names
            and (not self.start or any(name.startswith(self.start) for name in names))
            and (not self.end or any(name.endswith(self.end) for name in names))
            and (not self.member or any(self.member in PurePosixPath(name).parts for name in probe.names))
            and (self.shape is None or self.shape(probe))
        )
