"""The expert's sheet: a result's items drawn at random for an expert, as a table and as a file that keeps its answers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from crowdassay.engines.blocks import Block
from crowdassay.errors import CrowdassayError, FileError, ParameterError
from crowdassay.labels.encode import text_cells
from crowdassay.labels.expert_sheet import ExpertSheet
from crowdassay.labels.roles import AT_RANDOM
from crowdassay.labels.truth import truth_columns
from crowdassay.labels.values import counted, shown_file
from crowdassay.labels.write import write_table
from crowdassay.planning.expert import KNOWN_ITEMS, Drawn
from crowdassay.tables import Column, TableOf

if TYPE_CHECKING:
    from crowdassay.results.result import Result

EXPERT_SHEET = TableOf(
    "expert",
    (
        Column("item", format="name", about="An item drawn at random."),
        Column("text", format="name", about="What the item is, where the labels say it."),
        Column("label", format="name", about="Its class, for the expert to fill in."),
        Column("drawn", about=f"'{AT_RANDOM}' where the item was; nothing where somebody added it."),
        Column("classes", about="The classes to choose from."),
    ),
)
SHEET_FORMS = {".csv": "excel-csv", ".xlsx": "xlsx"}  # by the ending of the file: CSV as spreadsheets open it
BETWEEN_CLASSES = " | "


def expert_table(result: Result, n: int = KNOWN_ITEMS, sheet: ExpertSheet | None = None) -> pa.Table:
    """Tabulate the first n items that an expert should answer, drawn by `crowdassay.planning.expert`: see `EXPERT_SHEET`.

    With a ``sheet``, its answers are kept: those to drawn items in their places, others below. The sample never shrinks, and
    where items have come since, those that belong among the answered ones are there to be answered as well.

    >>> from crowdassay import MajorityVote
    >>> result = MajorityVote().fit((list("aabbcc"), list("xyxyxy"), [0, 0, 1, 1, 0, 1])).result_
    >>> expert_table(result, 2).column_names, expert_table(result, 2)["classes"][0].as_py()
    (['item', 'label', 'drawn', 'classes'], '0 | 1')
    """
    if n < 1:
        raise ParameterError(f"An expert must be asked about one item or more, not {n}.")
    answers = {} if sheet is None else sheet.answers
    before = [] if sheet is None else sheet.drawn_items
    answered = [item for item in before if item in answers]
    drawn = result.place.reduce(partial(draw_block, max(n, len(before)), answered))
    items = drawn.items.to_pylist()
    asked = set(items)
    others = [item for item in answers if item not in asked]
    texts = {}
    if drawn.texts is not None:
        texts["text"] = pa.concat_arrays([drawn.texts.cast(pa.string()), pa.nulls(len(others), pa.string())])
    names = BETWEEN_CLASSES.join(map(str, result.facts.class_names))
    return EXPERT_SHEET.fill(
        item=pa.array([*items, *others], pa.string()),
        label=pa.array([answers.get(item) for item in (*items, *others)], pa.string()),
        drawn=pa.array([AT_RANDOM] * len(items) + [None] * len(others), pa.string()),
        classes=pa.array([names] * (len(items) + len(others)), pa.string()),
        **texts,
    )


def draw_block(most: int, answered: list[str], block: Block) -> Drawn:
    """Draw from the items of a block."""
    return Drawn.of(block.labels, most, answered)


def write_sheet(table: pa.Table, classes: list[str], path: Path) -> None:
    """Write the table as a sheet: a workbook with a list to choose each class from, or CSV that names the classes."""
    form = sheet_form(path)
    if form == "xlsx":
        write_table(table.drop_columns(["classes"]), path, form, choices={"label": classes})
    else:
        write_table(table, path, form)


def sheet_form(path: Path) -> str:
    """Return the kind of table that a sheet is written as."""
    form = SHEET_FORMS.get(path.suffix.lower())
    if form is None:
        raise ParameterError(f"The expert's sheet {shown_file(path)} must end in .xlsx or .csv.")
    return form


def read_sheet(path: Path | None) -> ExpertSheet | None:
    """Return the sheet that a file is; None where it is another file of known classes, or there is none."""
    return None if path is None else ExpertSheet.of(truth_columns(path))


def answered_before(path: Path | None) -> ExpertSheet | None:
    """Return the sheet that known classes come from, or one of them as they are: answers to items that were not drawn."""
    if path is None:
        return None
    columns = truth_columns(path)
    if (sheet := ExpertSheet.of(columns)) is not None:
        return sheet
    items, labels = (text_cells(column, role).to_pylist() for column, role in zip(columns[:2], ("item", "label"), strict=True))
    return ExpertSheet(tuple(items), tuple(labels), (False,) * len(items))


def check_sheet(path: Path) -> None:
    """Refuse to write a sheet in the place of answers, or of a file that is no such sheet."""
    sheet_form(path)
    if not path.exists():
        return
    try:
        sheet = read_sheet(path)
    except CrowdassayError:
        sheet = None
    if sheet is None:
        raise FileError(f"{shown_file(path)} is there already and is no sheet for an expert; name another file.")
    if sheet.answers:
        held = counted(len(sheet.answers), "answer")
        raise FileError(
            f"{shown_file(path)} holds {held}; give it with --gold as well, so that they are kept, or name another."
        )
