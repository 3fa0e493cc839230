import pytest

from crowdassay.errors import FileError
from crowdassay.results.report.chart import check_chart, render_svg, save_chart
from crowdassay.results.report.charts import calibration_chart

RECORDS = [
    {"low": 0.0, "high": 0.5, "items": 0},
    {"low": 0.5, "high": 1.0, "items": 7, "mean_probability": 0.8, "error_rate": 0.25, "mean_square_error": 0.3},
]


def test_empty_bins_are_left_out():
    chart = calibration_chart(RECORDS).spec
    assert chart["data"]["values"] == [{"sure": 0.8, "right": 0.75, "items": 7, "bin": "0.5 to 1"}]
    assert render_svg(chart).startswith("<svg")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<svg"), ("a.png", b"\x89PNG")])
def test_charts_are_saved(tmp_path, name, start):
    save_chart(calibration_chart(RECORDS).spec, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_picture_is_read_on_a_dark_page_too():
    chart = calibration_chart(RECORDS).spec
    assert "currentColor" in str(chart)  # in a page of ours the ink is the page's
    assert "currentColor" not in render_svg(chart)  # a picture brings its own white, and its own ink


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"\.svg or \.png"):
        check_chart(tmp_path / "a.gif")
