"""The report as text: complete, escaped, small, the same every time."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from crowdassay import DawidSkene, MajorityVote, MinimaxEntropy, simulate
from crowdassay.checks.simulate import birds
from crowdassay.results.report.build import build_report
from crowdassay.results.report.page import as_json, fingerprint, vega
from crowdassay.text import short
from support.crowds import draw_workers
from support.hostile import NAMES, hostile_labels


class Page(HTMLParser):
    """Collect elements, attributes and text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text.append(data)


def scripts(page):
    return re.findall(r"<script(?: [^>]*)?>(.*?)</script>", page, flags=re.S)


@pytest.fixture(scope="module")
def story():
    labels, truth, _ = draw_workers(
        np.random.default_rng(1), n_items=300, n_workers=24, low=0.6, spammers=3, adversaries=1, labels_per_item=4
    )
    result = MinimaxEntropy(gamma="auto", gammas=(0.1, 1)).fit(labels).result_
    return build_report(result.insight, truth=truth, title="A story").html(), result


@pytest.mark.slow
def test_it_says_what_there_is_to_say(story):
    page, result = story
    text = " ".join("".join(Page(page).text[:-3]).split())
    assert "<title>A story</title>" in page
    assert result.insight.told_error in text
    settled = (result.probability >= result.settled).sum()
    assert f"{settled:,} of 300 labels are settled: at least {result.settled:.0%} sure, or known." in text
    for words in (
        "Krippendorff's alpha",
        "What to do next",
        "Show these to an expert",
        "answers as if by chance",
        "contradicts the others",
        "Who needs attention?",
        "What will it cost?",
        "Of 300 items",
    ):
        assert words in text
    ids = {value for name, value in Page(page).attributes if name == "id"}
    for chart in ("confidence", "workers", "confusion", "classes", "items", "convergence", "selection", "calibration", "truth"):
        assert f"chart-{chart}" in ids


def test_every_chart_has_its_place_and_every_script_its_hash(story):
    page = story[0]
    data, bundle, own = scripts(page)
    ids = {value for name, value in Page(page).attributes if name == "id"}
    assert set(json.loads(data)) == {name for name in ids if name.startswith("chart-")}
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert f"'sha256-{fingerprint(bundle)}'" in policy
    assert f"'sha256-{fingerprint(own)}'" in policy
    assert "unsafe-eval" not in policy


def test_nothing_is_loaded_from_elsewhere(story):
    outside = [value for name, value in Page(story[0]).attributes if name in ("src", "href", "action")]
    assert all(value.startswith("data:text/csv;charset=utf-8;base64,") for value in outside)
    assert len(outside) == 3


@pytest.mark.slow
def test_the_same_result_gives_the_same_page(story):
    labels = story[1].labels
    assert (
        build_report(MajorityVote().fit(labels).result_.insight).html()
        == build_report(MajorityVote().fit(labels).result_.insight).html()
    )


def test_hostile_names_are_inert():
    page = build_report(DawidSkene(smoothing=0.5).fit(hostile_labels()).result_.insight, title=NAMES[0]).html()
    assert page.count("<script") == 3
    assert "img" not in Page(page).tags
    assert not [name for name, _ in Page(page).attributes if name.startswith("on")]
    assert "49" not in "".join(re.findall(r"<bdi>(.*?)</bdi>", page))[:200]
    data = scripts(page)[0]
    assert not set("<>&\u2028\u2029") & set(data)
    assert "\u202e" not in page
    assert "long " * 20 not in page
    names = {record["worker"] for record in json.loads(data)["chart-workers"]["data"][0]["values"] if "worker" in record}
    assert "<script>alert(1)</script>" in names  # as it is, in data


@pytest.mark.parametrize("value", ["</script>", "<!--", "a & b", "\u2028", 'quote"', "é"])
def test_json_in_a_script_reads_back(value):
    assert json.loads(as_json({"a": value})) == {"a": value}
    assert not set("<>&\u2028\u2029") & set(as_json(value))


def test_names_are_shortened_and_keep_their_direction_to_themselves():
    assert short("x" * 10_000) == "x" * 39 + "…"
    assert short("https://example.org/a/very/long/path/263/image.png") == "https://example.org/a/very…263/image.png"
    assert short("\u202eabc") == "\N{REPLACEMENT CHARACTER}abc"
    assert short("שלום") == "\N{FIRST STRONG ISOLATE}שלום\N{POP DIRECTIONAL ISOLATE}"
    assert short("👩‍👧") == "👩‍👧"


@pytest.mark.parametrize(
    "data",
    [
        (list("abc"), ["w"] * 3, [0, 1, 0]),
        (list("abcd"), list("wwvv"), [0, 1, 0, 1]),
        (list("aabb"), list("wvwv"), [0, 0, 1, 1]),
        (["a"], ["w"], ["only"]),
    ],
    ids=["one worker", "one label an item", "two workers", "one label"],
)
def test_small_data_have_a_report(data):
    from crowdassay import as_labels

    labels = as_labels(data, classes=[0, 1] if data[2][0] == 0 else ["only", "other"])
    page = build_report(MajorityVote().fit(labels).result_.insight).html()
    assert "nan" not in page.split("<script")[0]
    assert "NaN" not in scripts(page)[0]


@pytest.mark.slow
def test_many_workers_and_items_stay_small(tmp_path):
    labels, truth = simulate(np.random.default_rng(0), n_items=20_000, n_workers=4000, n_classes=3, labels_per_item=4)
    path = tmp_path / "report.html"
    MajorityVote().fit(labels).result_.report(path, truth=truth)
    assert path.stat().st_size < 3_000_000
    page = path.read_text(encoding="utf-8")
    assert "1,500 of 4,000 workers are shown" in page
    assert "workers with most labels of 4,000 can be chosen" in page


def test_many_classes_are_cut_to_the_most_common(tmp_path):
    labels, _, _ = draw_workers(np.random.default_rng(0), n_classes=60, n_workers=10)
    page = build_report(MajorityVote().fit(labels).result_.insight).html()
    assert "The 25 most common of 60 classes are shown." in page
    assert len(page) < 3_000_000


def test_it_names_who_copies_whom():
    """In the story of the birds Willa has Will's answers on all 97 photographs that both saw."""
    labels, _ = birds(np.random.default_rng(3))
    text = " ".join("".join(Page(build_report(DawidSkene(smoothing=0.5).fit(labels).result_.insight).html()).text[:-3]).split())
    assert re.search(r"Workers who leave the others together .* (WillaWill|WillWilla)", text), text[:3000]
    assert "built-in" not in text


@pytest.mark.slow
def test_scripts_are_put_together_once_for_a_user(tmp_path, monkeypatch):
    def carry(**_):
        pytest.fail("put together again")

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    text = vega.__wrapped__()
    (kept,) = (tmp_path / "crowdassay").iterdir()
    assert kept.read_text(encoding="utf-8") == text
    monkeypatch.setattr("vl_convert.javascript_bundle", carry)
    assert vega.__wrapped__() == text
    monkeypatch.undo()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))  # where nothing can be kept
    assert vega.__wrapped__() == text
