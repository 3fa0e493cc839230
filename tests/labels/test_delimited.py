from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdassay.errors import ColumnError, DataError
from crowdassay.labels import delimited
from crowdassay.labels.delimited import Dialect
from crowdassay.labels.files import read_labels
from crowdassay.labels.ingest import spool_files
from crowdassay.read_options import ReadOptions
from support.exports import rows_of


def sniff(path):
    return delimited.sniff(path.read_bytes(), path)


def read_slowly(path, dialect, positions):
    columns = {f"c{n}": position for n, position in enumerate(positions)}
    strict = delimited.Lenient(len(dialect.header) - 1, frozenset(columns))
    return pa.Table.from_batches(delimited.read_slowly(lambda: path.open("rb"), path, dialect, columns, strict))


def write(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("text", "separator", "header"),
    [
        ("a,b,c\n1;2;3;4,2,3\n", ",", ["a", "b", "c"]),
        ("a;b;c, d\n1;2;3,5,x\n2;2;3,5,x\n3;2;3,5,x\n", ";", ["a", "b", "c, d"]),
        ("a;b;c\n1,5;2,5;3\n", ";", ["a", "b", "c"]),
        ("a\tb\n1,2\t3\n", "\t", ["a", "b"]),
        ("a|b\n1|2\n", "|", ["a", "b"]),
        ('"a, x";b\n1;2\n', ";", ["a, x", "b"]),
        ('a,"b\nc"\n1,2\n', ",", ["a", "b\nc"]),
        ("what, when, why;b;c\n1;2;3\n4;5;6\n", ";", ["what, when, why", "b", "c"]),
        ("alone\n1\n", ",", ["alone"]),
        ("\ufeffa, b \n1,2\n", ",", ["a", "b"]),
    ],
)
def test_sniff(tmp_path, text, separator, header):
    assert sniff(write(tmp_path, text)) == Dialect(separator, header, starts_blank=False)


def test_blank_lines_before_the_header_are_noticed(tmp_path):
    assert sniff(write(tmp_path, "\n  \r\na,b\n1,2\n")) == Dialect(",", ["a", "b"], starts_blank=True, skip=2)
    with pytest.raises(DataError, match=r"No labels found: .* is blank"):
        sniff(write(tmp_path, "\n \n"))


def test_a_header_in_another_encoding(tmp_path):
    with pytest.raises(DataError, match=r"line 1 \(byte 0\)"):
        sniff(write(tmp_path, b"\xe9,b\n"))
    with pytest.raises(DataError, match="NUL bytes"):
        sniff(write(tmp_path, "a,b\n".encode("utf-16-le")))


def test_an_unclosed_quote_does_not_hide_the_header(tmp_path):
    text = 'a,b\n1,"2\n' + "3,4\n" * 100_000
    assert sniff(write(tmp_path, text)).header == ["a", "b"]


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8), st.sampled_from(["\n", "\r\n", "\r"]))
def test_what_the_csv_module_writes_is_read_back(tmp_path_factory, rows, end):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([("item", "label"), *rows])
    path = write(tmp_path_factory.mktemp("csv"), buffer.getvalue())
    table = read_slowly(path, sniff(path), [0, 1])
    # A record of blank cells only still has all its fields, so it is kept.
    assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == [
        (left or None, right or None) for left, right in rows
    ]


def test_mixed_line_ends_and_blank_lines_are_read(tmp_path):
    path = write(tmp_path, '\na,b\r\n1,2\n\n3,"x\r\ny"\r\n  \n5,6,\r7,8')
    table = read_slowly(path, sniff(path), [1])
    assert table["c0"].to_pylist() == ["2", "x\r\ny", "6", "8"]


def test_ragged_lines_are_listed(tmp_path):
    path = write(tmp_path, 'a,b\n1,"2\n2"\n1\n3,4\n1,2,3\n')
    with pytest.raises(DataError, match=r"Line 4 of 'a.csv' has 1 fields, not the 2 of the header \(2 lines are wrong: 4, 6\)"):
        read_slowly(path, sniff(path), [0])
    path = write(tmp_path, "a,b\n" + "1\n" * 30)
    with pytest.raises(DataError, match=r"30 lines are wrong: 2, .*, 21, \.\.\.\)"):
        read_slowly(path, sniff(path), [0])


@pytest.mark.parametrize("text", ['a,b\n1,2\n1,"2\n3,4\n', 'a,b\n1,2\n1,"2"x\n3,4\n', 'a,b\n1,2\n1,"' + "x" * 200_000])
def test_a_bad_quote_names_the_line_where_its_record_starts(tmp_path, text):
    path = write(tmp_path, text)
    with pytest.raises(DataError, match=r"starts at line 3 of 'a\.csv' has a quote that is not closed"):
        read_slowly(path, Dialect(",", ["a", "b"], starts_blank=False), [0])


def test_bad_bytes_name_the_line(tmp_path):
    path = write(tmp_path, b"a,b\n1,\xe9\n")
    with pytest.raises(DataError, match=r"line 2 \(byte 6\)"):
        read_slowly(path, sniff(path), [1])


@pytest.mark.parametrize("first", ["", "sep=;\n", "SEP=;\r\n", '"sep=;"\n', "\ufeffsep=;\n"])
@pytest.mark.parametrize("rest", ["item;worker;label\na;v;x\nb;w;y\n", "\n  \nitem;worker;label\na;v;x\nb;w;y\n"])
def test_blank_lines_and_excels_line_that_names_the_separator_are_left_out(tmp_path, first, rest):
    path = tmp_path / "labels.csv"
    path.write_bytes((first + rest).encode())
    labels = read_labels(path)
    assert (labels.items.to_pylist(), labels.class_names) == (["a", "b"], ("x", "y"))
    (tmp_path / "spool").mkdir()
    spool = spool_files([path], tmp_path / "spool", ReadOptions(), memory=10**9, threads=1)
    assert (spool.n_labels, spool.classes.to_pylist()) == (2, ["x", "y"])
    path.write_bytes((first + rest + "c;w\n").encode())
    with pytest.raises(DataError, match=rf"Line {(first + rest).count(chr(10)) + 1} of 'labels.csv' has 2 fields"):
        read_labels(path)


@pytest.mark.parametrize("first", [",,\n", ",,\r\n , , \n", '"","",""\n', "\n,,\n"])
def test_rows_without_any_cell_before_the_header_are_left_out(tmp_path, first):
    path = write(tmp_path, first + "item,worker,label\na,v,x\nb,w,y\n")
    labels = read_labels(path)
    assert (labels.items.to_pylist(), labels.class_names) == (["a", "b"], ("x", "y"))
    (tmp_path / "spool").mkdir()
    assert spool_files([path], tmp_path / "spool", ReadOptions(), memory=10**9, threads=1).n_labels == 2


@pytest.mark.parametrize("text", [",,,\n1,0,1,1\n0,0,,1\n1,1,0,0\n", ",,,\nyes,no,yes,no\nno,no,,yes\nyes,yes,yes,no\n"])
def test_an_empty_first_row_of_a_matrix_without_a_header_is_an_item(tmp_path, text):
    labels = read_labels(write(tmp_path, text), no_header=True)
    assert labels.items.to_pylist() == ["1", "2", "3"]  # item 0 has no label


@pytest.mark.parametrize("mark", ["\t", ",", '"', " "])
def test_a_long_line_of_separators_before_a_name_takes_no_time(tmp_path, mark):
    assert sniff(write(tmp_path, mark * 20_000 + "a" + mark * 4 + "\nb,c\n")).skip == 0


def test_lines_that_are_quoted_as_a_whole_are_refused_by_name(tmp_path):
    text = '"item,worker,label"\n"""i 1"",ann,yes"\n"""i 1"",bob,no"\n'
    with pytest.raises(
        DataError, match=r"Every line of 'a\.csv' is quoted as a whole, .* such as 'item,worker,label'; take these"
    ):
        read_labels(write(tmp_path, text))
    assert sniff(write(tmp_path, '"Well, no"\n"So it is"\n')).header == ["Well, no"]


TRIPLES = ["i1 ann yes", "i1 bob no", "i2 ann yes", "i2 bob yes"]


@pytest.mark.parametrize(
    ("head", "separator"),
    [
        ("item worker label\n", " "),
        ("# item worker label\n", " "),
        ("# made in 2026\n# item worker label\n", " "),
        ("# made by hand, in 2026\n\nitem,worker,label\n", ","),
        ("# made by hand\n#item,worker,label\n", ","),
        ("## of two\n# lines\nitem\tworker\tlabel\n", "\t"),
    ],
)
def test_comments_and_blanks_between_cells(tmp_path, head, separator):
    """Tables that programs of researchers write: comments first, the header among them, cells separated by blanks."""
    path = tmp_path / "labels.txt"
    path.write_text(head + "".join(row.replace(" ", separator) + "\n" for row in TRIPLES))
    labels = read_labels(path)
    assert (labels.n_labels, labels.n_items, labels.n_workers, labels.class_names) == (4, 2, 2, ("no", "yes"))


def test_lines_without_a_header_are_no_table_of_blanks(tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("".join(row + "\n" for row in TRIPLES))
    with pytest.raises(ColumnError, match="If the first row holds labels, not names, say"):
        read_labels(path)


NAMELESS = '"item"{0}"worker"{0}"label"\n"1"{0}"i1"{0}"ann"{0}"x"\n"2"{0}"i1"{0}"bob"{0}"y"\n"3"{0}"i2"{0}"ann"{0}"y"\n'


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_a_header_by_r_that_lacks_a_name_for_those_of_the_rows(tmp_path, separator):
    """R's write.table writes a header with a name less than the rows have cells."""
    path = write(tmp_path, NAMELESS.format(separator))
    assert sniff(path).header == ["", "item", "worker", "label"]
    rows = [("i1", "ann", "x"), ("i1", "bob", "y"), ("i2", "ann", "y")]
    assert rows_of(read_labels(path)) == rows
    path.write_text(f"S1{separator}S2\nq1{separator}a{separator}b\nq2{separator}b{separator}b\nq3{separator}a{separator}\n")
    wide = [("q1", "S1", "a"), ("q1", "S2", "b"), ("q2", "S1", "b"), ("q2", "S2", "b"), ("q3", "S1", "a")]
    assert rows_of(read_labels(path, format="wide")) == wide


def test_a_long_table_by_r_is_read_alike_on_every_engine(tmp_path):
    path, rows = tmp_path / "labels.csv", [(f"i{n // 3}", f"w{n % 3}", "ab"[n % 2]) for n in range(20_000)]
    lines = ['"item","worker","label"', *(",".join(f'"{cell}"' for cell in (n, *row)) for n, row in enumerate(rows, 1))]
    path.write_text("\n".join(lines) + "\n")
    assert path.stat().st_size > delimited.SAMPLE_BYTES
    assert rows_of(read_labels(path)) == sorted(rows)
    (tmp_path / "spool").mkdir()
    assert spool_files([path], tmp_path / "spool", ReadOptions(), memory=10**9, threads=1).n_labels == len(rows)


@pytest.mark.parametrize(
    "text",
    [
        "item,worker,label\ni1,ann,x,sure\ni2,ann,y,\ni3,bob,x,unsure\n",  # a comment without a name
        "id,ann,bob\n1,x,y,x\n2,y,y,x\n3,y,x,x\n",
        "text,label\nWell, no,x\nAh, yes,y\nNo, so,x\n",
        "worker,label\nann,i1,x\nann,i2,y\nbob,i1,x\n",  # names of rows differ
        "S1,S2\na,x,y\nb,x,y\n",  # two rows are no table of R's without quotes
    ],
)
def test_rows_with_a_cell_too_many_are_refused_where_the_header_may_lack_its_last_name(tmp_path, text):
    with pytest.raises((ColumnError, DataError), match=r"fields, not the|None of|No "):
        read_labels(write(tmp_path, text))
    assert sniff(write(tmp_path, text)).header[0]


def test_a_header_of_a_wide_table_that_is_too_short_is_no_crash(tmp_path):
    path = write(tmp_path, "item,ann,bob\ni1,x,y,\ni2,y,y,\n")
    assert read_labels(path, format="wide").n_labels == 4
    path.write_text("item,ann,bob\ni1,x,y,x,x\ni2,y,y,x,x\n")
    with pytest.raises(DataError, match=r"Row 1 of 'a\.csv' has 3 values, not 5"):
        read_labels(path, format="wide")


TITLES = [
    "My study,,\n",
    '"#Data from Sprouse, Jon, & others.",,\n#They may be used.,,\n,,\n',
    "My study\n\n",
    '"A title\nof two lines",,\n\n',
    "sep=,\nMy study,,\n",
    "# by hand\nMy study,,\n",
    ",,\nMy study,,\n,,\n",
]


@pytest.mark.parametrize("titles", TITLES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_titles_above_the_header_are_left_out_with_a_note(tmp_path, titles, end):
    path = write(tmp_path, (titles + "item,worker,label\ni1,ann,x\ni1,bob,y\n").replace("\n", end))
    labels = read_labels(path)
    assert rows_of(labels) == [("i1", "ann", "x"), ("i1", "bob", "y")]
    assert any("left out above the header of 'a.csv'" in note for note in labels.report.notes)
    (tmp_path / "spool").mkdir()
    assert spool_files([path], tmp_path / "spool", ReadOptions(), memory=10**9, threads=1).n_labels == 2
    wide = write(tmp_path, titles + "item,ann,bob\ni1,x,y\ni2,y,y\n")
    labels = read_labels(wide, format="wide")
    assert labels.n_labels == 4
    assert any("left out above the header of 'a.csv'" in note for note in labels.report.notes)
    wide.write_text(titles + "item,worker,label\ni1,ann,x\ni1,bob,y\ni2,bob,y\ni2,ann\n")
    with pytest.raises(DataError, match=rf"Line {titles.count(chr(10)) + 5} of 'a\.csv' has 2 fields"):
        read_labels(wide)


@pytest.mark.parametrize(
    "text",
    [
        "yes,,\nno,yes,no\nno,yes,yes\nno,no,yes\n",  # labels
        "t1,,\nt2,yes,no\nt3,no,no\n",
        "item,,\ni1,yes,no\ni2,no,no\n",  # the header itself
        "text\nWell, no, so\nAh, yes, it is\n",  # two rows of texts: their first may be no header
        "item worker label\ni1 ann yes\ni2 ann no\n",
        "2019,,\n2020,2021,2022\n3,4,5\n3,4,5\n",
    ],
)
def test_a_first_line_with_one_cell_is_no_title_where_the_next_may_hold_labels(tmp_path, text):
    assert sniff(write(tmp_path, text)).titles == 0
