"""A declared table looks the same wherever it is drawn."""

import pyarrow as pa
from rich.console import Console

from crowdassay.results.show import print_table, table_section
from crowdassay.tables import Column, TableOf

PEOPLE = TableOf(
    "people",
    (
        Column("who", "name", "name"),
        Column("low", "share", "share", to="high"),
        Column("high", format="share"),
        Column("paid", format="money", missing="nothing"),
    ),
)
ROWS = PEOPLE.fill(who=["Ann <b>", "Bob\n" + "x" * 60], low=[0.1, None], high=[0.25, None], paid=[1234.5, float("nan")])
SHOWN = ["who", "low", PEOPLE.column("paid", title="sum")]


def test_the_terminal_shows_titles_and_formatted_cells():
    console = Console(width=120, record=True, highlight=False, markup=False)
    with console.capture() as capture:
        print_table(console, PEOPLE, ROWS, SHOWN, title="People")
    text = capture.get()
    for part in (
        "People",
        "name",
        "share",
        "sum",
        "Ann <b>",
        "10% to 25%",
        "1,234.50",
        "Bob\N{REPLACEMENT CHARACTER}",
        "…",
        "–",
        "nothing",
    ):
        assert part in text


def test_a_section_holds_the_same_cells_and_where_they_stand():
    section = table_section("people", "People", PEOPLE, ROWS, SHOWN, note="Two of them.")
    heads, rows = PEOPLE.cells(ROWS.to_pylist(), SHOWN)
    assert (section.columns, section.rows) == (heads, rows) == (["name", "share", "sum"], section.rows)
    assert section.sides == ["left", "right", "right"]
    assert [section.side(n) for n in range(3)] == ["left", "right", "right"]


def test_a_notebook_escapes_every_cell():
    html = PEOPLE.html(ROWS, SHOWN, title="<People>")
    assert "Ann &lt;b&gt;" in html
    assert "&lt;People&gt;" in html
    assert "<b>Ann" not in html
    assert html.count("<tr>") == 3


def test_names_can_be_long_or_empty():
    table = pa.table({"who": [""]})
    assert TableOf("one", (Column("who", format="name"),)).cells(table) == (["who"], [["(empty)"]])
