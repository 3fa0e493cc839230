"""What the service believes of items and workers, after a fit and between fits."""

from urllib.parse import quote

import numpy as np
import pytest

from crowdassay.findings.verdicts import ACTION_ORDER
from crowdassay.service.http.item_endpoints import ADVICE_ON
from support.rows import one
from support.service import serving_fitted

pytest.importorskip("starlette", reason="the extra 'web' is not installed")
pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A server of this file alone: items that other tests were handed go to nobody else for five minutes."""
    with serving_fitted(tmp_path_factory.mktemp("web")) as all_of_it:
        yield all_of_it


def test_next_is_where_a_label_gains_most(fitted):
    """What `crowdassay plan` would say, of the items that the worker has not labelled."""
    server, labels, _ = fitted
    worker = str(labels.workers[2].as_py())
    # The first test of this file: after labels of others the service would fit again, three quiet seconds later.
    got = server.get(f"/next?worker={worker}&n=30")["items"]
    touched = {row["item"] for row in server.get("/items?limit=1000")["items"] if row["basis"] != "fit"}
    from crowdassay import Assay
    from crowdassay.planning.gain import next_items
    from crowdassay.planning.state import State

    result = Assay().fit(labels).result_
    state = State.of(result, crowd=result.insight.crowd)
    allowed = np.array([
        standing in {"open", "tied", "unidentifiable"} and str(name) not in touched
        for standing, name in zip(result.insight.standings, labels.items.to_pylist(), strict=True)
    ])  # fmt: skip
    expected = [str(labels.items[int(j)].as_py()) for j in next_items(state, 5, worker=2, allowed=allowed)]
    assert [row["item"] for row in got if row["item"] not in touched][:5] == expected


@pytest.mark.slow
def test_a_fit_finds_what_the_library_finds(fitted):
    server, labels, _ = fitted
    from crowdassay import Assay

    expected = Assay().fit(labels).result_
    for j in range(0, 100, 9):
        found = server.item(labels.items[j].as_py())
        assert found["basis"] == "fit"
        assert abs(found["probability"] - expected.probability[j]) < 1e-5
        assert abs(sum(found["posterior"].values()) - 1) < 1e-5
    workers = {row["worker"]: row for row in server.get("/workers")["workers"]}
    assert [workers[str(name)]["verdict"] for name in labels.workers.to_pylist()] == expected.insight.verdicts
    assert all(row["advice"] for row in workers.values())
    assert tuple(ADVICE_ON) == ACTION_ORDER
    seen = server.get("/summary")
    assert seen["items"] == 100
    assert abs(seen["expected_errors"]["value"] - (1 - expected.probability).sum()) < 1e-2
    assert seen["expected_errors"]["low"] <= seen["expected_errors"]["value"] <= seen["expected_errors"]["high"]
    assert seen["bands"] == [pytest.approx(band.as_dict(), abs=1e-3) for band in expected.insight.bands]
    assert seen["settled"] + seen["open"] == 100
    assert sum(seen["standings"].values()) == 100


def test_a_new_label_is_judged_at_once_with_the_workers_as_fitted(fitted):
    server, _, _ = fitted
    open_items = server.get("/items?open=1")["items"]
    assert [row["probability"] for row in open_items] == sorted(row["probability"] for row in open_items)
    name = open_items[0]["item"]
    before = server.item(name)
    other = next(iter(set(before["posterior"]) - {before["label"]}))
    server.post("/labels", [one(name, f"stranger{n}", other) for n in range(6)])
    after = server.item(name)
    assert after["basis"] == "update"
    assert after["n_labels"] == before["n_labels"] + 6
    assert after["posterior"][other] > before["posterior"][other]
    server.post("/labels", [one(name, "stranger9", "a class that is new")])
    assert server.item(name)["basis"] == "votes"


def test_lists_can_be_filtered_and_paged(fitted):
    server, _, _ = fitted
    names, after = [], 0
    while after is not None:
        page = server.get(f"/items?limit=30&after={after}")
        names += [row["item"] for row in page["items"]]
        after = page["next"]
    assert len(names) == len(set(names)) >= 100
    assert {row["item"] for row in server.get("/items?q=I99")["items"]} == {"i99"}
    everything = server.get("/items?limit=1000")["items"]
    for field in ("standing", "label"):
        value = everything[0][field]
        chosen = server.get(f"/items?{field}={quote(value)}&limit=1000")["items"]
        assert {row["item"] for row in chosen} == {row["item"] for row in everything if row[field] == value}
