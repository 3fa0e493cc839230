"""The table in docs/reliability.md is what the tests say."""

import runpy
from pathlib import Path

FAULTS = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "faults.py"))


def test_the_page_lists_the_tests():
    assert FAULTS["PAGE"].read_text(encoding="utf-8") == FAULTS["page"](), "run: python docs/faults.py"


def test_every_row_has_a_test_or_a_reason():
    found = FAULTS["tests"]()
    assert sorted(FAULTS["ROWS"]) == list(range(1, 36 + len(FAULTS["BROKEN_ON_PURPOSE"])))
    assert {row for row in FAULTS["ROWS"] if row not in found} <= set(FAULTS["NOT_YET"])
    assert not set(found) & set(FAULTS["NOT_YET"]), "a row that is tested needs no excuse"


def test_the_front_page_counts_them():
    root = Path(__file__).parents[2]
    for page in ("README.md", "CHANGELOG.md"):
        assert f"{len(FAULTS['ROWS'])} bad inputs and faults" in (root / page).read_text(encoding="utf-8")
