"""The page on adding a model shows the source itself."""

import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add_a_model.md").read_text(encoding="utf-8")
SOURCES = [ROOT / path for path in sorted(set(re.findall(r"`(src/crowdassay/[\w/]+\.py)`", PAGE)))]
SHOWN = re.findall(r"^```text\n(.*?)^```", PAGE, flags=re.S | re.M)


@pytest.mark.parametrize("shown", SHOWN)
def test_what_the_page_shows_is_in_the_source(shown):
    sources = [path.read_text(encoding="utf-8") for path in SOURCES]
    assert any(textwrap.indent(shown, " " * depth).rstrip() in source for source in sources for depth in (0, 4, 8))


def test_there_is_something_to_show():
    assert len(SHOWN) == 4
