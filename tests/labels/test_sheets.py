"""Workbooks are read as the table that they show, and tables are written as workbooks."""

from __future__ import annotations

import datetime
import sys

import pyarrow as pa
import pytest
import python_calamine
import xlsxwriter

from crowdassay.cli.aggregate import read_cost
from crowdassay.errors import DataError, MissingExtraError, ParameterError
from crowdassay.labels import sheets
from crowdassay.labels.files import read_labels, read_truth, table_of
from crowdassay.labels.ingest import spool_files
from crowdassay.labels.write import write_table
from crowdassay.read_options import Opening, ReadOptions

ROWS = [["item", "worker", "label"], ["007", "ann", 1], ["007", "bob", 2.0], [8, "ann", 1], [8, "bob", 1]]
TRIPLES = [("007", "ann", "1"), ("007", "bob", "2"), ("8", "ann", "1"), ("8", "bob", "1")]


def workbook(path, **tables):
    """Write a workbook; a value may be a pair of value and number format, and a row a range to merge."""
    with xlsxwriter.Workbook(str(path)) as book:
        for name, rows in tables.items():
            sheet = book.add_worksheet(name.removeprefix("hidden_"))
            if name.startswith("hidden_"):
                sheet.hide()
            for n, row in enumerate(rows):
                for m, cell in enumerate(row):
                    if isinstance(cell, tuple):
                        sheet.write_datetime(n, m, cell[0], book.add_format({"num_format": cell[1]}))
                    elif cell is not None:
                        sheet.write(n, m, cell)
    return path


def triples(labels):
    return [tuple(row.values()) for row in table_of(labels).to_pylist()]


def test_a_workbook_is_read_like_a_table(tmp_path):
    labels = read_labels(workbook(tmp_path / "a.xlsx", Labels=ROWS))
    assert triples(labels) == TRIPLES
    assert (labels.report.source, labels.report.format, labels.report.notes) == ("a.xlsx", "plain", ())
    truth = workbook(tmp_path / "t.xlsx", Truth=[["item", "truth"], ["007", 1.0], [8, 2]])
    assert read_truth(truth).to_pydict() == {"item": ["007", "8"], "label": ["1", "2"]}
    folder = tmp_path / "spool"
    folder.mkdir()
    spool = spool_files([tmp_path / "a.xlsx"], folder, ReadOptions(), memory=1 << 30, threads=1)
    assert spool.report.rows_read == 4


def test_dates_truth_values_gaps_and_numbers_as_a_spreadsheet_shows_them(tmp_path):
    day, hour = datetime.datetime(2024, 2, 3), datetime.datetime(2024, 2, 3, 10, 5)
    rows = [
        ["item", "worker", "label", "time"],
        ["a", "ann", True, (day, "yyyy-mm-dd")],
        ["a", "bob", False, (hour, "yyyy-mm-dd hh:mm")],
        ["b", "ann", 0.1 + 0.2, (hour, "yyyy-mm-dd hh:mm")],
        ["b", "bob", None, None],
    ]
    labels = read_labels(workbook(tmp_path / "a.xlsx", Labels=rows))
    assert triples(labels) == [("a", "ann", "true"), ("a", "bob", "false"), ("b", "ann", "0.3")]
    assert labels.report.dropped == {"missing label": 1}
    assert labels.report.columns["time"] == "time"


def test_formulas_are_read_by_their_values(tmp_path):
    path = workbook(tmp_path / "a.xlsx", Labels=ROWS)
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet()
        for n, row in enumerate(ROWS):
            sheet.write_row(n, 0, row[:2] + ["label"] * (n == 0))
            if n:
                sheet.write_formula(n, 2, "=1+1", None, row[2])
    assert triples(read_labels(path)) == TRIPLES


def test_merged_cells_all_have_the_value_they_show(tmp_path):
    with xlsxwriter.Workbook(str(tmp_path / "a.xlsx")) as book:
        sheet = book.add_worksheet()
        for n, row in enumerate(ROWS):
            sheet.write_row(n, 1, row[1:])
        sheet.write(0, 0, "item")
        sheet.merge_range(1, 0, 2, 0, "007")
        sheet.merge_range(3, 0, 4, 0, 8)
    labels = read_labels(tmp_path / "a.xlsx")
    assert triples(labels) == TRIPLES
    assert labels.report.notes == ("Merged cells (2 ranges) were read as if each held what they show.",)


def test_a_title_and_empty_rows_and_columns_around_the_table(tmp_path):
    rows = [["", "Study 7"], [], *([None, *row, None] for row in ROWS), [], ["", ""]]
    labels = read_labels(workbook(tmp_path / "a.xlsx", Labels=rows))
    assert triples(labels) == TRIPLES
    assert labels.report.notes == ("Row 1 was taken for a title.",)


def test_which_sheet_is_read_is_said(tmp_path):
    other = [["item", "worker", "label"], ["x", "ann", "a"], ["x", "bob", "b"]]
    path = workbook(tmp_path / "a.xlsx", About=[["Labels of May"]], hidden_Old=other, May=ROWS, June=other)
    labels = read_labels(path)
    assert triples(labels) == TRIPLES
    assert labels.report.notes == ("Of 'a.xlsx' the sheet 'May' was read; --sheet names another ('About', 'Old', 'June').",)
    assert triples(read_labels(path, sheet="June"))[0] == ("x", "ann", "a")
    with pytest.raises(ParameterError, match=r"There is no sheet 'Juni'; choose one of About, Old, May, June"):
        read_labels(path, sheet="Juni")
    (tmp_path / "a.csv").write_text("item,worker,label\na,b,c\n")
    with pytest.raises(ParameterError, match=r"`sheet` goes with workbooks such as \.xlsx, and 'a\.csv' is none\."):
        read_labels(tmp_path / "a.csv", sheet="June")


def test_known_classes_come_from_a_workbook_with_one_sheet(tmp_path):
    """Nobody would see which sheet of several was read."""
    known = [["item", "truth"], ["a", "x"]]
    assert read_truth(workbook(tmp_path / "one.xlsx", Truth=known)).to_pylist() == [{"item": "a", "label": "x"}]
    with pytest.raises(DataError, match=r"two\.xlsx' has several sheets; save the one that is meant as a workbook of its own"):
        read_truth(workbook(tmp_path / "two.xlsx", Old=known, New=known))


def test_long_ids_that_a_spreadsheet_has_rounded_are_said(tmp_path):
    rows = [["item", "worker", "label"], [1234567890123456789, "ann", "a"], [5, "bob", "b"]]
    (note,) = read_labels(workbook(tmp_path / "a.xlsx", Labels=rows)).report.notes
    assert note.startswith("The number in row 2, column 1 has more than 15 digits")


def test_what_is_no_workbook_is_refused_in_one_sentence(tmp_path):
    path = workbook(tmp_path / "a.xlsx", Labels=ROWS)
    whole = path.read_bytes()
    for broken in (b"item,worker,label\n", whole[:400], whole[: len(whole) // 2], b""):
        path.write_bytes(broken)
        with pytest.raises(DataError, match=r"'a\.xlsx'"):
            read_labels(path)
    with pytest.raises(DataError, match="holds no sheet with a header and rows"):
        read_labels(workbook(tmp_path / "b.xlsx", Empty=[]))


def test_without_the_extra_one_sentence_says_how_to_install_it(tmp_path, monkeypatch):
    path = workbook(tmp_path / "a.xlsx", Labels=ROWS)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    for call in (lambda: read_labels(path), lambda: write_table(pa.table({"a": [1]}), tmp_path / "b.xlsx", "xlsx")):
        with pytest.raises(MissingExtraError, match=r"pip install 'crowdassay\[excel\]'"):
            call()


def test_tables_are_written_as_sheets(tmp_path):
    table = pa.table(
        {"item": ["007", "=1+1", "-1", None], "p": [0.5, float("nan"), 1.0, float("inf")], "ok": [True, False, None, True]}
    )
    write_table(table, tmp_path / "a.xlsx", "xlsx")
    write_table(table, tmp_path / "raw.xlsx", "xlsx", raw=True)
    read = python_calamine.CalamineWorkbook.from_path(str(tmp_path / "a.xlsx")).get_sheet_by_index(0).to_python()
    assert read == [["item", "p", "ok"], ["007", 0.5, True], ["'=1+1", "", False], ["-1", 1.0, ""], ["", "inf", True]]
    raw = python_calamine.CalamineWorkbook.from_path(str(tmp_path / "raw.xlsx")).get_sheet_by_index(0).to_python()
    assert raw[2][0] == "=1+1"
    before = (tmp_path / "a.xlsx").read_bytes()
    write_table(table, tmp_path / "a.xlsx", "xlsx")
    assert (tmp_path / "a.xlsx").read_bytes() == before


def test_what_a_workbook_cannot_hold_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(sheets, "MOST_ROWS", 3)
    monkeypatch.setattr(sheets, "MOST_COLUMNS", 2)
    large = ({"a": ["x" * 40_000]}, {"a": [1, 2, 3]}, {"a": [1], "b": [1], "c": [1]})
    for columns, words in zip(large, ("40,000 characters", "more rows", "3 columns"), strict=True):
        with pytest.raises(DataError, match=words):
            write_table(pa.table(columns), tmp_path / "a.xlsx", "xlsx")
    assert list(tmp_path.iterdir()) == []


def test_csv_for_excel_begins_with_a_mark_and_is_read_again(tmp_path):
    write_table(pa.table({"item": ["é"], "worker": ["a"], "label": ["b"]}), tmp_path / "a.csv", "excel-csv")
    assert (tmp_path / "a.csv").read_bytes() == "\ufeffitem,worker,label\né,a,b\n".encode()
    assert triples(read_labels(tmp_path / "a.csv")) == [("é", "a", "b")]


def test_prices_come_from_the_sheet_of_the_labels(tmp_path):
    paid = [[*row, "cost" if n == 0 else 0.5] for n, row in enumerate(ROWS)]
    path = workbook(tmp_path / "a.xlsx", First=[["item", "worker", "label"], ["x", "ann", "a"]], May=paid)
    facts = read_labels(path, sheet="May")
    assert read_cost("cost", str(path), facts, Opening("May")).tolist() == [1.0, 1.0]
