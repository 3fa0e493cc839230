"""What happened between the source and the labels, and what is said of it, in the same words wherever labels are read to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import DataError, in_python, warn
from crowdassay.labels.values import MISSING_WORDS, counted, is_text, shown, shown_file

FRAME_SOURCES = ("pandas frame", "polars frame", "pyarrow frame", "Spark frame", "records")  # as a report names them
MAX_CLASSES = 1000  # above this a "class" is nearly always free text or an id
GROUPS_LISTED = 3  # groups of workers with similar names in a note


@dataclass(frozen=True)
class ImportReport:
    """What happened between the source and the labels.

    Attributes
    ----------
    source : str
        File name, or kind of frame.
    columns : dict
        Which column was taken as ``item``, ``worker`` and ``label``.
    rows_read, rows_kept : int
    dropped : dict
        Number of rows left out, by reason.
    repeats, conflicts : int
        Judgements beyond the first by the same worker on the same item; how many such pairs hold different labels.
    notes : tuple of str
        Whatever else the user should know, a sentence each.
    format : str
        The tool whose export it is, or ``plain``.
    question : str, optional
        The question that was taken from the export.
    gold : int
        Items whose class the export itself knows.
    drawn : int
        Known items that were drawn at random for an expert, see `crowdassay.labels.expert_sheet`.
    order : {'given', 'natural', 'alphabetical'}
        Where the order of the classes comes from; that of numbers, dates and truth values is natural, that of an ordered
        categorical is given.
    """

    source: str = "arrays"
    columns: dict[str, str] = field(default_factory=dict)
    rows_read: int = 0
    rows_kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    repeats: int = 0
    conflicts: int = 0
    repeats_policy: str = "keep"
    notes: tuple[str, ...] = ()
    format: str = "plain"
    question: str | None = None
    gold: int = 0
    drawn: int = 0
    order: str = "given"

    @property
    def own_names(self) -> dict[str, str]:
        """What items, workers and labels are called in the caller's frame; empty where they came from elsewhere."""
        return self.columns if self.source in FRAME_SOURCES else {}

    def again(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return those of the reading options by which more labels of this kind are read in the same way."""
        alike = ("item_column", "worker_column", "label_column", "worker_columns", "missing", "format")
        wide = {"format": "wide"} if self.format == "wide" and not options.get("worker_columns") else {}
        return {name: value for name, value in options.items() if name in alike} | wide

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**self.__dict__, "notes": list(self.notes)}


NOTHING_READ = ImportReport()  # of labels that were made, not read


def import_sentences(report: ImportReport) -> list[str]:
    """Return what was left out, and what became of repeats.

    >>> import_sentences(ImportReport(dropped={"missing label": 2}))
    ['Left out 2 rows: missing label.']
    >>> import_sentences(ImportReport(repeats=541))[0]
    '541 labels repeat an item that the same worker had already labelled. All were kept; --repeats last keeps only the latest.'
    """
    said = [f"Left out {counted(count, 'row')}: {reason}." for reason, count in report.dropped.items()]
    if not report.repeats:
        return said
    one = report.repeats == 1
    what = (
        f"{counted(report.repeats, 'label')} {'repeats' if one else 'repeat'} an item that the same worker had already labelled"
    )
    if report.repeats_policy == "keep":
        return [*said, f"{what}. {'It was' if one else 'All were'} kept; --repeats last keeps only the latest."]
    return [*said, f"{what}. Only the {report.repeats_policy} label was kept each time."]


def warn_of(report: ImportReport) -> None:
    """Warn, in Python, of all there is to know of labels that were read."""
    for words in (*import_sentences(report), *report.notes):
        warn(in_python(words))


def reasons(dropped: Mapping[str, int]) -> str:
    """Return why rows were dropped, and how many.

    >>> reasons({"missing item": 1, "missing label": 2})
    'missing item: 1, missing label: 2'
    """
    return ", ".join(f"{reason}: {count}" for reason, count in dropped.items())


def check_dropped(
    rows: int, dropped: Mapping[str, int], source: str, *, allow: bool, what: str = "labels", lost: int | None = None
) -> list[str]:
    """Refuse rows of which none is left, or less than half unless that is allowed, in which case a note is returned.

    Where a row may be dropped for several reasons, ``lost`` is how many rows were.
    """
    lost = sum(dropped.values()) if lost is None else lost
    if lost == rows:
        why = (
            f"{'the only row misses' if rows == 1 else f'all {rows:,} rows miss'} a value ({reasons(dropped)})"
            if rows
            else "there are no rows"
        )
        raise DataError(f"No {what} found in {source}: {why}; check the file and the column names.")
    if lost * 2 <= rows:
        return []
    if not allow:
        raise DataError(
            f"More than half of the {rows} rows in {source} miss a value ({reasons(dropped)}); check the file and the column "
            "names, or say --allow-drops."
        )
    return [f"More than half of the rows were dropped ({reasons(dropped)}); check the file and the column names."]


def all_left_out(dropped: Mapping[str, int], source: str) -> DataError:
    """Return the error for a file of which every judgement was left out."""
    return DataError(f"No labels found in {shown_file(source)}: every judgement was left out ({reasons(dropped)}).")


def too_many_classes(how_many: object) -> DataError:
    """Return the error for labels that are too many to be classes."""
    return DataError(
        f"The label column holds {how_many} different values, more than {MAX_CLASSES} classes. "
        "Is it free text or an id? Name the right column (--label-column)."
    )


def vanished_items(count: int) -> list[str]:
    """Note items that have rows but no label that counts.

    >>> vanished_items(2)
    ['2 items are left without any label, and not in the result.']
    """
    if not count:
        return []
    return [f"{counted(count, 'item')} {'is' if count == 1 else 'are'} left without any label, and not in the result."]


def gold_notes(counts: Mapping[str, int]) -> list[str]:
    """Note known classes that are of no use: of items without labels, or of labels that are no class.

    >>> gold_notes({"items": 5, "unknown_items": 2, "unknown_labels": 0})
    ['Gold items without labels: 2; they are not in the result.']
    """
    kinds = (
        ("unknown_items", "items without labels", "they are not in the result"),
        ("unknown_labels", "items whose label is no class", "they are taken as unknown"),
    )
    return [f"Gold {what}: {counts[name]:,}; {how}." for name, what, how in kinds if counts[name]]


def similar_names(names: pa.Array, what: str = "worker") -> list[str]:
    """Return notes where several workers, or ``what`` they are, have the same name up to case and spaces, or are not known.

    >>> similar_names(pa.array(["Bob ", "ann", "bob"]))[0][:81]
    "Workers whose names look the same but for case or spaces were kept apart: 'Bob ',"
    >>> similar_names(pa.array(["ann", "NA"]))[0].partition(";")[0]
    "'NA' is the name of a worker, by which tables mean that it is not known"
    """
    if not is_text(names.type):
        return []
    texts = names.cast(pa.large_string())
    seen = pc.replace_substring_regex(pc.utf8_normalize(texts, "NFKC"), r"\p{Cf}+", "")  # marks that show nothing
    folded = pc.replace_substring_regex(pc.utf8_trim_whitespace(pc.utf8_lower(seen)), r"\s+", " ")
    coded = folded.dictionary_encode()
    sizes = np.bincount(coded.indices, minlength=len(coded.dictionary))
    shared = np.flatnonzero(sizes[np.asarray(coded.indices)] > 1)
    unknown = names.filter(pc.is_in(folded, pa.array(sorted(MISSING_WORDS), folded.type))).to_pylist()
    one = f"{'an' if what[0] in 'aeiou' else 'a'} {what}"
    known = "by which tables mean that it is not known; if so, leave such cells empty."
    said = [f"{shown(name)} is the name of {one}, {known}" for name in unknown]
    if not len(shared):
        return said
    groups: dict[int, list[str]] = defaultdict(list)
    for place in shared.tolist():
        groups[coded.indices[place].as_py()].append(names[place].as_py())
    which = "; ".join(", ".join(map(shown, sorted(group))) for group in list(groups.values())[:GROUPS_LISTED])
    more = f" and {counted(len(groups) - GROUPS_LISTED, 'more group')}" if len(groups) > GROUPS_LISTED else ""
    return [
        *said,
        f"{what.capitalize()}s whose names look the same but for case or spaces were kept apart: {which}{more}; if they are "
        f"one, correct {'the worker column' if what == 'worker' else 'their names'}.",
    ]
