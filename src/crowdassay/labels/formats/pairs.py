"""Tables with a row per item and a pair of columns for each judgement: ``Worker1, Answer1, Worker2, Answer2``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crowdassay.errors import ColumnError
from crowdassay.labels.formats.parse import is_filled, item_column, read_table
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.roles import ROLES
from crowdassay.labels.values import listed
from crowdassay.read_options import ReadOptions

NAME_GAP = r"[\s_\-.]*"
INDEX_COLUMNS = frozenset({"", "id", "index", "unnamed: 0"})


def recognise(probe: Probe) -> bool:
    """Return whether numbered columns of workers stand beside columns of labels with the same numbers."""
    return probe.kind == "delimited" and len(_pairs(probe.header)[0]) > 1


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read a judgement from each pair of columns that is filled."""
    workers, labels = _pairs(probe.header)
    item = _item(probe, wanted)
    rows = Annotations({"item": item, "worker": f"{next(iter(workers.values()))}...", "label": "*"})
    used = [*workers.values(), *(name for columns in labels.values() for name in columns.values())]
    for row in read_table(probe, rows, [item], used):
        for number, column in workers.items():
            given = {stem: columns[number] for stem, columns in labels.items()}
            answers = {stem: [row[name]] if is_filled(row[name]) else [] for stem, name in given.items()}
            if is_filled(row[column]) or any(answers.values()):  # an item may have fewer judgements than others
                rows.add(row[item], row[column], answers)
    rows.note(f"Each judgement is a pair of columns: {listed(list(workers.values()))} hold the workers.")
    return rows


def _item(probe: Probe, wanted: ReadOptions) -> str:
    named = [name for name in probe.header if ROLES["item"].is_named(name)]
    named += [name for name in probe.header if name.lower() in INDEX_COLUMNS]
    if not named and wanted.item_column is None:
        raise ColumnError(f"No item column found among {listed(probe.header)} in {probe.shown}; name it with --item-column.")
    return item_column(probe, wanted.item_column, "", named[0] if named else "")


def _pairs(header: Sequence[str]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the workers' columns by number, and for each stem of labels the columns of the same numbers.

    >>> _pairs(["HITID", "Worker1", "Answer1", "Worker2", "Answer2", "Answer"])
    ({'1': 'Worker1', '2': 'Worker2'}, {'Answer': {'1': 'Answer1', '2': 'Answer2'}})
    >>> _pairs(["text", "annotator1", "annotator2", "label"])
    ({}, {})
    """
    workers: dict[str, str] = {}
    labels: dict[str, dict[str, str]] = {}
    words = {role: "|".join(ROLES[role].words) for role in ("worker", "label")}
    for name in header:
        if match := re.fullmatch(
            rf"(?:{words['worker']}){NAME_GAP}(?:id)?{NAME_GAP}(\d+){NAME_GAP}(?:id)?", name, re.IGNORECASE
        ):
            workers.setdefault(match[1], name)
        elif match := re.fullmatch(rf"({words['label']}){NAME_GAP}(\d+)", name, re.IGNORECASE):
            labels.setdefault(match[1], {})[match[2]] = name
    labels = {stem: columns for stem, columns in labels.items() if columns.keys() == workers.keys()}
    return (workers, labels) if labels else ({}, {})
