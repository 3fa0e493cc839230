"""The charts from Python: each draws, saves, shows itself in a notebook, and holds the right records."""

import json

import numpy as np
import pytest

from crowdassay import DawidSkene, MajorityVote, MinimaxEntropy, agreement
from crowdassay.errors import DataError, FileError, ParameterError
from support.crowds import draw_workers


@pytest.fixture(scope="module")
def fitted():
    labels, truth, _ = draw_workers(np.random.default_rng(0), n_items=100, n_workers=12, spammers=2)
    return DawidSkene(smoothing=0.5).fit(labels).result_, truth


def charts(result, truth):
    gallery = result.chart
    simple = {
        name: getattr(gallery, name)() for name in ("confidence", "workers", "confusion", "classes", "items", "convergence")
    }
    return simple | {"calibration": gallery.calibration(truth), "one": gallery.confusion("w3"), "known": gallery.classes(truth)}


def test_every_chart_draws_and_shows_itself(fitted):
    for chart in charts(*fitted).values():
        bundle = chart._repr_mimebundle_()
        assert bundle["image/svg+xml"].startswith("<svg")
        json.dumps(bundle["application/vnd.vegalite.v5+json"], allow_nan=False)
        assert chart.records
        assert repr(chart).startswith("Chart('")


@pytest.mark.parametrize(
    ("name", "start"), [("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.html", b"<!doctype"), ("a.json", b"{")]
)
def test_charts_save_themselves(fitted, tmp_path, name, start):
    fitted[0].chart.confidence().save(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_another_ending_is_refused(fitted, tmp_path):
    with pytest.raises(FileError, match=r"\.svg, \.png, \.html or \.json"):
        fitted[0].chart.confidence().save(tmp_path / "a.gif")


def test_records_add_up(fitted):
    result, truth = fitted
    found = charts(result, truth)
    assert sum(record["items"] for record in found["confidence"].records) == 100
    settled = sum(record["items"] for record in found["confidence"].records if record["state"] == "settled")
    assert settled == (result.probability > 0.95).sum()
    assert {record["worker"] for record in found["workers"].records} == {f"w{i}" for i in range(12)}
    for record in found["workers"].records:
        assert record["low"] <= record["accuracy"] <= record["high"]
    rows = {(record["worker"], record["true"]): 0.0 for record in found["confusion"].records}
    for record in found["confusion"].records:
        rows[record["worker"], record["true"]] += record["share"]
    np.testing.assert_allclose(list(rows.values()), 1, atol=2e-4)
    assert len(rows) == 13 * 3  # the crowd and twelve workers
    for of in ("labels given", "items found", "truth"):
        assert sum(record["share"] for record in found["known"].records if record["of"] == of) == pytest.approx(1, abs=1e-3)
    votes = [record["labels"] for record in found["items"].records if record["row"] == 0]
    assert sum(votes) == 5
    assert [record["objective"] for record in found["convergence"].records] == list(result.history)


def test_only_workers_with_equally_many_labels_are_drawn_apart():
    items = [f"i{j}" for j in range(30)] * 3
    workers = ["ann"] * 30 + ["bob"] * 30 + ["cy"] * 30
    labels = ([*items, *items[:12]], [*workers, *["dot"] * 12], [0, 1] * 51)
    at = {record["worker"]: record["at"] for record in MajorityVote().fit(labels).result_.chart.workers().records}
    assert at["dot"] == 12
    assert len({at["ann"], at["bob"], at["cy"]}) == 3


def test_what_cannot_be_drawn_is_said(fitted):
    with pytest.raises(ParameterError, match="no worker 'nobody'"):
        fitted[0].chart.confusion("nobody")
    with pytest.raises(DataError, match="no history"):
        MajorityVote().fit(fitted[0].labels).result_.chart.convergence()
    with pytest.raises(DataError, match="gamma='auto'"):
        fitted[0].chart.selection()
    with pytest.raises(DataError, match="nothing to compare"):
        fitted[0].chart.calibration(np.full(100, -1))


def test_the_chosen_candidate_is_marked(fitted):
    result = MinimaxEntropy(gamma="auto", gammas=(0.1, 1)).fit(fitted[0].labels).result_
    chosen = [record["candidate"] for record in result.chart.selection().records if record["chosen"]]
    assert chosen == [f"gamma = {result.selection['best']:g}"]


def test_truth_may_be_a_mapping(fitted):
    result, truth = fitted
    names = dict(zip(result.labels.items.to_pylist(), (f"c{c}" for c in truth), strict=True))
    assert result.chart.calibration(names).records == result.chart.calibration(truth).records


def test_a_report_is_one_call(fitted, tmp_path):
    result, truth = fitted
    names = dict(zip(result.labels.items.to_pylist(), (f"c{c}" for c in truth), strict=True))
    result.report(tmp_path / "report.html", truth=names, title="Mine")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>Mine</h1>" in page
    assert "Of 100 items" in page


def test_a_result_shows_itself_in_a_notebook(fitted):
    html = fitted[0]._repr_html_()
    assert "least sure items" in html
    assert html.count("<svg") == 2
    assert "Remove" in html or "Retrain" in html
    assert "<script" not in html


def test_agreement_shows_itself_in_a_notebook(fitted):
    html = agreement(fitted[0].labels, resamples=50)._repr_html_()
    assert "fleiss kappa" in html
    assert "Agree least with the others" in html
