"""The registry of public datasets: facts only, in `registry.json`; the data stay with those who published them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from importlib.resources import files
from typing import Any

from crowdassay.errors import ParameterError


@dataclass(frozen=True)
class Raw:
    """Raw files in a public repository, how to convert them, and what must come out.

    Attributes
    ----------
    repository, commit : str
        ``owner/name``, and the commit that pins the files.
    files : tuple of str
        Paths in the repository: labels, then truth unless the same file holds it.
    format : str
        A key of `crowdassay.labels.datasets.convert.RAW_READERS`.
    labels_sha256, truth_sha256 : str
        `crowdassay.labels.datasets.convert.checksum` of the converted rows.
    label_edges, truth_edges : tuple of float
        Edges that put scores into classes 0, 1, ...; a score on an edge goes up.
    leave_out : str, optional
        Class whose labels and items are left out.
    """

    repository: str
    commit: str
    files: tuple[str, ...]
    format: str
    labels_sha256: str
    truth_sha256: str
    label_edges: tuple[float, ...] = ()
    truth_edges: tuple[float, ...] = ()
    leave_out: str | None = None


@dataclass(frozen=True)
class Entry:
    """Facts about one dataset; `raw` is None where no file is known that we can convert."""

    name: str
    kind: str
    classes: tuple[str, ...]
    items: int
    workers: int
    labels: int
    truth_items: int
    source: str
    paper: str
    licence: str
    licence_note: str
    notes: str
    class_names: tuple[str, ...] = ()
    raw: Raw | None = None

    @property
    def repository(self) -> str:
        """Where the data were published: owner and name of the public repository."""
        return self.source.split(" ", 1)[0]

    def record(self) -> dict[str, Any]:
        """Return the facts as plain values, fit for JSON."""
        return asdict(self)


def entries() -> dict[str, Entry]:
    """Return every dataset, by name in alphabetical order.

    >>> entries()["bluebirds"].workers
    39
    """
    text = files(__package__).joinpath("registry.json").read_text(encoding="utf-8")
    return {name: _entry(name, fields) for name, fields in sorted(json.loads(text).items())}


def entry(name: str) -> Entry:
    """Return one dataset's facts; an unknown name is an error that suggests the nearest one."""
    known = entries()
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else "`crowdassay datasets` lists them."
    raise ParameterError(f"There is no dataset '{name}'; {hint}")


def _entry(name: str, fields: dict[str, Any]) -> Entry:
    raw = fields.pop("raw", None)
    return Entry(name=name, raw=raw and Raw(**_frozen(raw)), **_frozen(fields))


def _frozen(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
