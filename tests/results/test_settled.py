"""One knob says from which probability on a label counts as settled: command line, report, plan, service and Python."""

import json
import re

import numpy as np
import pyarrow.csv as pc
import pytest

from crowdassay import Assay, DawidSkene, MajorityVote, load_model, plan, simulate
from crowdassay.engines.files.place import FilesPlace
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.errors import ParameterError
from crowdassay.results.run import fit
from crowdassay.service.fits.item_state import RunningTotals, from_labels
from crowdassay.service.fits.process import fit_store
from crowdassay.service.fits.snapshot import read_snapshot
from crowdassay.service.store.open import open_store
from support.rows import one
from support.spools import spool_labels

OWN = 0.75  # lower than what the default asks for


@pytest.fixture(scope="module")
def labels():
    return simulate(np.random.default_rng(11), n_items=90, n_workers=9, labels_per_item=4)[0]


@pytest.fixture
def file(labels, tmp_path):
    names, workers = labels.items.to_pylist(), labels.workers.to_pylist()
    rows = zip(labels.label_item, labels.worker, labels.label, strict=True)
    lines = [f"{names[j]},{workers[i]},{labels.class_names[k]}" for j, i, k in rows]
    (tmp_path / "labels.csv").write_text("\n".join(["item,worker,label", *lines]) + "\n", encoding="utf-8")
    return tmp_path / "labels.csv"


@pytest.mark.parametrize("method", [Assay, DawidSkene, MajorityVote])
def test_a_fit_takes_it_and_a_fitted_one_follows(labels, method):
    usual, own = method().fit(labels).result_, method(settled=OWN).fit(labels).result_
    assert usual.settled > OWN == own.settled
    assert own.insight.totals.settled == (own.probability >= OWN).sum() > usual.insight.totals.settled
    later = method().fit(labels).set_params(settled=OWN).result_
    assert later.items_table().equals(own.items_table())
    assert np.array_equal(later.posterior, usual.posterior)


def test_it_stays_with_the_fit_elsewhere_with_new_labels_and_on_disk(labels, tmp_path):
    places = (MemoryPlace(labels), FilesPlace(spool_labels(labels, tmp_path, size=150)))
    whole, spool = (fit(MajorityVote(settled=OWN), place, gather_below=0) for place in places)
    assert whole.insight.totals.settled == spool.insight.totals.settled
    assert spool.changed(settled=0.99).insight.totals.settled < spool.insight.totals.settled
    assert spool.items_table()["standing"].equals(whole.items_table()["standing"])
    fitted = Assay(settled=OWN).fit(labels)
    fitted.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.settled == again.result_.settled == OWN
    again.partial_fit((["new"], ["w0"], [labels.class_names[0]]))
    assert again.result_.settled == again.refresh().result_.settled == OWN


@pytest.mark.parametrize("wrong", [0, -0.5, 90, float("nan"), True, "0.9"])
def test_what_is_no_probability_is_refused(labels, wrong):
    with pytest.raises(ParameterError, match="settled must be"):
        Assay(settled=wrong).fit(labels)


def test_every_command_takes_it(run, file, tmp_path):
    usual = json.loads(run("aggregate", file, "--json")[1])
    code, out, _ = run(
        "aggregate", file, "--settled", OWN, "--out", tmp_path / "out", "--report", tmp_path / "page.html",
        "--save-model", tmp_path / "model",
    )  # fmt: skip
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    n = summary["n_settled"]
    assert (code, summary["settled_from"]) == (0, OWN)
    assert n > usual["n_settled"]
    assert pc.read_csv(tmp_path / "out" / "items.csv")["standing"].to_pylist().count("settled") == n
    assert "75% sure" in re.sub(r"\s+", " ", out)
    assert "75% sure" in (tmp_path / "page.html").read_text(encoding="utf-8")
    for source in (file, tmp_path / "model"):
        planned = json.loads(run("plan", source, "--settled", OWN, "--budget", 5, "--json")[1])
        assert planned["items_settled"] == n
    assert json.loads(run("plan", tmp_path / "model", "--budget", 5, "--json")[1])["items_settled"] == n
    code, _, _ = run("update", tmp_path / "model", "--settled", usual["settled_from"], "--out", tmp_path / "new")
    assert code == 0
    assert json.loads((tmp_path / "new" / "summary.json").read_text(encoding="utf-8"))["n_settled"] == usual["n_settled"]
    assert load_model(tmp_path / "model").result_.settled == usual["settled_from"]
    for command in (("aggregate", file), ("plan", file, "--budget", 5), ("update", tmp_path / "model", file), ("serve", "x")):
        code, _, err = run(*command, "--settled", 90)
        assert code == 2
        assert "--settled" in err


def test_the_service_takes_it(labels, tmp_path):
    """A fit that was made with another threshold stands by the one that is asked for now."""
    names, workers = labels.items.to_pylist(), labels.workers.to_pylist()
    store = open_store(tmp_path / "job.db")
    rows = list(zip(labels.label_item, labels.worker, labels.label, strict=True))
    store.add(one(names[j], workers[i], labels.class_names[k]) for j, i, k in rows)
    store.close()
    found = {}
    for settled in (None, OWN):
        fit_store(str(tmp_path / "job.db"), labels.n_labels, tmp_path / f"model-{settled}", settled)
        parts = {path.name: path.read_bytes() for path in (tmp_path / f"model-{settled}").iterdir()}
        for asked in (None, OWN):
            snapshot = read_snapshot(1, labels.n_labels, parts, asked)
            answers = [(workers[i], labels.class_names[k]) for j, i, k in rows if j == 0]
            states = from_labels(snapshot, [answers])
            assert (states[0].standing == "settled") == (states[0].probability >= snapshot.settled)
            found[settled, asked] = RunningTotals(snapshot).as_dict()["standings"]["settled"]
    assert found[None, None] == found[OWN, None] == Assay().fit(labels).result_.insight.totals.settled
    assert found[None, OWN] == found[OWN, OWN] == Assay(settled=OWN).fit(labels).result_.insight.totals.settled
    assert plan(Assay(settled=OWN).fit(labels), 5).summary()["items_settled"] == found[OWN, OWN]
