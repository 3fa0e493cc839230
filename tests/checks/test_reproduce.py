"""The paper's tables by one command."""

import json
import re
from itertools import cycle

import pytest

from crowdassay import DawidSkene, MinimaxEntropy
from crowdassay.checks.reproduce import TABLE_2, Experiments

pytestmark = pytest.mark.slow


@pytest.fixture
def reproduce(run, monkeypatch):
    def call(*arguments, data):
        monkeypatch.setenv("CROWDASSAY_DATA", str(data))
        return run("reproduce", *arguments)

    return call


@pytest.fixture
def folder(real, request):
    real("web_search")
    return request.config.rootpath.parent / "shared" / "data"


def test_rows_without_data_say_so(reproduce, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    code, out, _ = reproduce("2", "--json", data=tmp_path)
    rows = json.loads(out)[0]["rows"]
    assert code == 0
    assert len(rows) == sum(map(len, TABLE_2.values()))
    assert all("ours" not in row for row in rows)
    assert "not publicly to be had" in next(row["note"] for row in rows if row["dataset"] == "Price")
    assert "datasets fetch rte" in next(row["note"] for row in rows if row["dataset"] == "RTE")


def test_a_folder_fills_its_row_in(reproduce, tmp_path):
    (tmp_path / "price").mkdir()
    (tmp_path / "price" / "labels.csv").write_text("item,worker,label\n1,a,1\n1,b,2\n2,a,1\n")
    (tmp_path / "price" / "truth.csv").write_text("item,label\n1,1\n2,1\n")
    rows = json.loads(reproduce("1", "--json", data=tmp_path)[1])[0]["rows"]
    ours = {row["column"]: row["ours"] for row in rows if row["dataset"] == "Price"}
    assert ours == {"classes": 2, "items": 2, "workers": 2, "labels": 3}


@pytest.mark.parametrize("method", ["DS-EM", "MMCE(M)"])
def test_a_fit_that_goes_wrong_is_not_left_for_another(tmp_path, monkeypatch, method):
    """Users' fits are; the paper's figures are those of the method that it names."""
    rows = [f"{j},{i},{(j + (i == 3 and j % 3 == 0)) % 2}" for j in range(12) for i in range(4)]
    (tmp_path / "rte").mkdir()
    (tmp_path / "rte" / "labels.csv").write_text("\n".join(["item,worker,label", *rows]))
    (tmp_path / "rte" / "truth.csv").write_text("\n".join(["item,label", *(f"{j},{j % 2}" for j in range(12))]))
    monkeypatch.setenv("CROWDASSAY_DATA", str(tmp_path))
    labels = Experiments().data("RTE")[0]
    troubles = cycle(["has collapsed", None])
    monkeypatch.setattr("crowdassay.results.run.find_trouble", lambda *_: next(troubles))
    used = DawidSkene(prior="uniform") if method == "DS-EM" else MinimaxEntropy()
    assert any("was used instead" in note for note in used.fit(labels).result_.notes)
    assert not any("was used instead" in note for note in Experiments().fit("RTE", method, converged=True).notes)


def test_table_1(reproduce, folder):
    rows = json.loads(reproduce("1", "--json", data=folder)[1])[0]["rows"]
    assert {row["difference"] for row in rows if "ours" in row} == {0}
    assert len([row for row in rows if "ours" in row]) == 16


def test_table_4_and_its_page(reproduce, folder, tmp_path):
    code, out, _ = reproduce("4", "--json", "--html", tmp_path / "page.html", data=folder)
    rows = json.loads(out)[0]["rows"]
    assert code == 0
    assert all(abs(row["difference"]) <= 2 for row in rows if row["column"] == "items")
    assert all(abs(row["difference"]) <= 0.01 for row in rows if row["column"] != "items")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert not re.search(r"(src|href)=.https?:", page)
    assert "<script" not in page


def test_only_four_tables(reproduce, tmp_path):
    code, _, err = reproduce("5", data=tmp_path)
    assert code == 2
    assert "1<=x<=4" in err
