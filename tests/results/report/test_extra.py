"""Without the extra the message names it, before anything is fitted or drawn."""

import sys

import pytest

from crowdassay.errors import MissingExtraError
from crowdassay.results.report.page import check_report


@pytest.mark.parametrize("missing", ["vl_convert", "jinja2"])
def test_the_extra_is_named(monkeypatch, tmp_path, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=r"crowdassay\[report\]"):
        check_report(tmp_path / "report.html")
