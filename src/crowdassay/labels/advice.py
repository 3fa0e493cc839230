"""What is said of a table whose columns tell no item, worker and label: only ways that were tried on it and read it right."""

from __future__ import annotations

import re
from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import ColumnError, CrowdassayError
from crowdassay.labels.cells import ArrowColumn, blank
from crowdassay.labels.columns import maybe_workers
from crowdassay.labels.delimited import FIRST_ROWS
from crowdassay.labels.formats.foreign import is_of_survey
from crowdassay.labels.formats.parse import file_stem
from crowdassay.labels.formats.registry import EXPORT_FORMATS
from crowdassay.labels.formats.unnamed import lists_by_class, said_of_lists
from crowdassay.labels.headless import cells_again
from crowdassay.labels.listed_cells import proposed_lists
from crowdassay.labels.merged import merging_part
from crowdassay.labels.probe import Probe
from crowdassay.labels.proposals import proposed_columns, proposed_worker
from crowdassay.labels.roles import ITEM_WORKER_LABEL, NUMBERED_WORKER, ROLES
from crowdassay.labels.side_proposals import way_to_rank
from crowdassay.labels.sides import winners_said
from crowdassay.labels.telling import item_ways, telling_columns, whole_table
from crowdassay.labels.values import as_text, listed, mapping
from crowdassay.read_options import ReadOptions

MOST_TRIED_BYTES = 1 << 26  # of a file that is read in other ways, to know which to propose
EVERY_FILE = "if every worker has a file named after them, say --worker-from-filename"
SAME_ROWS = "if every worker's file lists the same items in the same order, say --item-column row"
EMPTY_LISTED = 5  # columns without any value
NO_WORKER_ID = "It looks like results of Mechanical Turk without WorkerId, which tells who answered; download them with it."


def advised(error: ColumnError, file: Probe, options: ReadOptions) -> ColumnError:
    """Return the error that columns of a plain table were not found, with what else there is to say, and ways to read it."""
    named = {role: str(name) for role, name in options.columns.items() if name is not None}
    unlabelled = ("label" in error.missing if file.kind == "records" else error.missing == ("label",)) and "worker" not in named
    if (unlabelled or not (error.missing or named)) and (ways := _other_workers(file, unlabelled)):
        # What one of the workers said is no label column, so that none is offered.
        alone = f"No column of {file.shown} holds every label, but some may hold those of one worker each."
        return ColumnError(alone if unlabelled else error.message, ways=ways)
    if named and options.worker_from_filename:
        return ColumnError(error.message, ways=[SAME_ROWS]) if "item" in error.missing and not file.alone else error
    unnamed = error.missing or tuple({"worker", "label"} - named.keys() if named else ())
    if not unnamed:  # nothing is missing, nor might be
        return error
    table = whole_table([file], question=options.question).slice(0, FIRST_ROWS)
    if not options.worker_from_filename and (lists := proposed_lists(table, unnamed, named)) is not None:
        said = error.without_hint if error.missing else f"{file.shown} holds lists in two columns."
        return ColumnError(said, ways=[lists])
    if not named:
        return _with_ways(error, file, table, options)
    proposed = proposed_columns(table, error.missing, named) if error.missing else []
    if not proposed and "worker" in error.missing and not file.alone:
        proposed = [EVERY_FILE]
    return ColumnError(error.without_hint, ways=proposed) if proposed else error


def _with_ways(error: ColumnError, file: Probe, table: pa.Table, options: ReadOptions) -> ColumnError:
    """Return the error of a table of which no column was named, with the ways to read it: the first rows tell."""
    if table.column_names and not table.num_rows:
        return ColumnError(error.message, f"{file.shown} holds a header only.")
    found = {role for role in ITEM_WORKER_LABEL if role not in error.missing}
    if "worker" not in found and any(name.startswith("Answer.") for name in file.keys):
        return ColumnError(error.message, NO_WORKER_ID)
    said = [*winners_said(table.column_names), *_empty_said(table)]
    if (way := way_to_rank(table.column_names, table.to_pylist())) is not None:
        return ColumnError(error.message, *said, ways=[f"{way} to crowdassay rank"])
    headless = error.found_nothing and bool(cells_again(file))
    items = _item_ways(table) if error.missing == ("item",) else []
    alone = not (headless or options.worker_from_filename or items)
    if alone and (proposed := proposed_columns(table, error.missing, {})):
        return ColumnError(error.without_hint, *said, ways=proposed)
    formats, reasons, persons = _formats_tried(file, found, headless=headless)
    ways, asked = [*items, *formats], "worker" not in found and not options.worker_from_filename
    if asked and not (ways or headless):
        if (who := proposed_worker(table)) is not None:
            ways.append(who)
            reasons = []  # why no columns are workers' is no matter where a column names them
        elif (lists := said_of_lists(table.to_pylist())) is not None:
            return ColumnError(f"In {file.shown} {'; '.join(lists)}.")
    by_file = asked and not headless and _named_after_worker(file, labelled="label" in found)
    if by_file:
        more = "" if error.missing == ("worker",) else " and name the other columns"
        ways.append(f"{EVERY_FILE}{more}")
    if "item" not in found and not file.alone and (options.worker_from_filename or by_file):
        ways.append(SAME_ROWS)
    general = [] if ways else ["if an annotation tool wrote it, name the tool with --from"]
    if error.found_nothing and file.kind == "delimited" and not (headless or persons):
        rows = "if every row is a person, and some columns stand for what was labelled"
        general.insert(0, f"{rows}, say --from forms and name these: --item-column 'Q*'")
    if error.found_nothing and file.dialect is not None and not headless:
        general.insert(0, "if the first row holds labels, not names, say --no-header")
    if asked and not (reasons or headless or any("--worker-columns" in way for way in ways)):
        columns = "if every row is an item, and some columns hold the labels of one worker each, name these"
        general.insert(0, f"{columns}: --worker-columns a,b")
    return ColumnError(error.message, *said, *([] if headless or persons else reasons), ways=[*ways, *general])


def _formats_tried(file: Probe, found: Collection[str], *, headless: bool) -> tuple[list[str], list[str], bool]:
    """Return how tables of other kinds read a file, why columns are no workers', and whether rows may be persons'.

    Rows that are persons' are no objection to columns that are named like questions.
    """
    survey = is_of_survey(file)  # whose id is a person's
    ways = {
        "wide": "worker" not in found and not survey and not lists_by_class(mapping(file.first)),
        "nltk": not found,
        "forms": "item" not in found or survey or not {"worker", "label"} & {*found},  # an id may be a person's
    }
    small = file.kind == "delimited" or file.stamp is None or file.stamp[2] <= MOST_TRIED_BYTES
    tried: list[str] = []
    reasons: list[str] = []
    persons = False
    for name in (name for name, may in ways.items() if may and small and file.kind != "parquet"):
        try:
            way = EXPORT_FORMATS[name].load("proposal")(file)
        except ColumnError as reason:
            reasons.append(reason.message)
            continue
        if headless and name != "nltk":  # which take the first row for names
            way = ["if every column is a worker's, say --no-header alone"] if way and name == "wide" else []
        persons = persons or (name == "forms" and bool(way))
        tried += way
    return tried, reasons, persons


def _other_workers(file: Probe, numbered: bool) -> list[str]:
    """Return the options for a table that names workers in its columns though labels may be anywhere; none for others.

    That is where each of several judges has an object of the same answers, or where columns end in numbered workers or are
    inside their objects. Only these are sought if ``numbered``.
    """
    nested = file.kind == "records" and any(isinstance(cell, dict) for cell in mapping(file.first).values())
    if not nested and file.kind != "delimited":
        return []
    try:
        ways: list[str] = EXPORT_FORMATS["wide"].load("proposal" if nested and not numbered else "proposal_numbered")(file)
    except CrowdassayError:
        return []
    return ways if numbered or not nested or any("*." in way for way in ways) else []


def _empty_said(table: pa.Table) -> list[str]:
    """Return a sentence on columns that hold nothing, where they are called like labels, or could be nothing else."""
    empty = [name for name in table.column_names if _is_empty(table[name])]
    rest = [name for name in table.column_names if not any(ROLES[role].best([name]) for role in ("item", "worker"))]
    meant = ROLES["label"].best(empty) or (empty if set(rest) <= set(empty) else [])
    verb = "is" if len(meant) == 1 else "are"
    return [f"In every row {listed(meant, EMPTY_LISTED)} {verb} empty, as if nobody had answered."] if meant else []


def _is_empty(column: ArrowColumn) -> bool:
    """Return whether no cell of a column holds anything; what cannot be written as text, such as an image's bytes, is there."""
    try:
        return not pc.any(pc.invert(blank(as_text(column)))).as_py()
    except pa.ArrowException:
        return column.null_count == len(column)


def _item_ways(table: pa.Table) -> list[str]:
    """Return the options that name the columns that tell items apart, where a worker and a label are known."""
    names = table.column_names
    worker, label = (next(iter(ROLES[role].best(names)), None) for role in ("worker", "label"))
    worker = worker or next(iter(maybe_workers(names)), None)
    telling = telling_columns(table, None, worker, label) if worker is not None and label is not None else []
    parts = [merging_part(table, one, str(worker)) for one in telling]
    return item_ways(table, [one if part is None else [*one, part] for one, part in zip(telling, parts, strict=True)])


def _named_after_worker(file: Probe, *, labelled: bool) -> bool:
    """Return whether a file is named like annotator1, or like maria where it has labels, or is one of several."""
    stem = file_stem(file.path.name)
    numbered = re.search(rf"(?<![a-z])(?:{NUMBERED_WORKER.pattern})$", stem, re.IGNORECASE)
    return not file.alone or numbered is not None or (labelled and stem.isalpha())
