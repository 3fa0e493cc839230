"""How items stand between fits: as findings would have it, with totals that follow every change."""

from itertools import product

import numpy as np
import pytest

from crowdassay import simulate
from crowdassay.findings.items import STANDINGS, ItemStanding
from crowdassay.planning.stop import count_doubts, estimate_error
from crowdassay.service.fits.item_state import (
    UNLABELLED,
    Changes,
    RunningTotals,
    as_known,
    from_fit,
    from_labels,
    from_votes,
)
from crowdassay.service.fits.process import fit_store
from crowdassay.service.fits.snapshot import read_snapshot
from crowdassay.service.store.open import open_store
from crowdassay.service.store.records import Truth
from crowdassay.service.store.truths import add_truths
from support.rows import one


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    """A fit of 60 items, of which the classes of three are known."""
    folder = tmp_path_factory.mktemp("fits")
    labels, truth = simulate(np.random.default_rng(5), n_items=60, n_workers=9, n_classes=3, labels_per_item=3)
    names, workers = labels.items.to_pylist(), labels.workers.to_pylist()
    store = open_store(folder / "job.db")
    store.add(
        one(names[j], workers[i], labels.class_names[k])
        for j, i, k in zip(labels.label_item, labels.worker, labels.label, strict=True)
    )
    with store.home.write() as session:
        add_truths(session, [(j, Truth(names[j], labels.class_names[truth[j]])) for j in range(3)], source="t")
    store.close()
    fit_store(str(folder / "job.db"), labels.n_labels, folder / "model")
    return read_snapshot(1, labels.n_labels, {path.name: path.read_bytes() for path in (folder / "model").iterdir()})


def recounted(states, checked):
    """Return what totals should be, counted anew over the states of all items."""
    counts = {name: sum(state.standing == name for state in states) for name in STANDINGS}
    p = np.array([state.probability for state in states if state.n_labels and state.standing != "known"])
    found = estimate_error(len(states), float((1 - p).sum()), count_doubts(1 - p), checked)
    return counts, pytest.approx([share * len(states) for share in (found.error, found.low, found.high)], abs=2e-3)


def totals_of(totals):
    found = totals.as_dict()
    assert found["items"] == sum(found["standings"].values())
    return found["standings"], [found["expected_errors"][name] for name in ("value", "low", "high")]


def test_a_snapshot_stands_as_the_findings_of_its_fit(snapshot):
    insight = snapshot.estimator.result_.insight
    assert [STANDINGS[code] for code in snapshot.standing] == list(insight.standings)
    states = [from_fit(snapshot, place) for place in range(len(snapshot.names))]
    assert sum(state.standing == "known" for state in states) == 3
    assert totals_of(RunningTotals(snapshot)) == recounted(states, snapshot.estimator.result_.checked)
    found = [share * len(states) for share in (insight.error.error, insight.error.low, insight.error.high)]
    assert totals_of(RunningTotals(snapshot))[1] == pytest.approx(found, abs=2e-3)
    assert len(insight.bands) > 1
    assert RunningTotals(snapshot).as_dict()["bands"] == [pytest.approx(band.as_dict()) for band in insight.bands]
    least_sure = [from_fit(snapshot, int(place)).probability for place in snapshot.order]
    assert least_sure == sorted(least_sure)
    assert all(states[place].open for place in snapshot.order)


def test_totals_follow_every_change(snapshot):
    names = [*snapshot.names[:10], "new", "declared"]
    changes = Changes(snapshot, {names[0]: ("0", "truth")}, ["declared"], [])
    current = {name: from_fit(snapshot, place) for place, name in enumerate(snapshot.names)}
    current |= {"declared": UNLABELLED, names[0]: as_known(current[names[0]], "0", "truth")}
    rng = np.random.default_rng(0)
    for version, name in enumerate(rng.choice(names[1:], 60), 1):
        label = snapshot.classes[rng.integers(3)]
        if version % 5 == 0:
            changes.know(name, (label, "decision"), version)
        elif version % 7 == 0:
            changes.know(name, None, version)
        changes.touch(name, version)
        answers = [(f"w{n}", snapshot.classes[rng.integers(3)]) for n in range(rng.integers(1, 6))]
        states = from_labels(snapshot, [answers])
        changes.settle([name], [version], states)
        current[name] = changes.with_known(name, states[0])
        assert totals_of(changes.totals) == recounted(list(current.values()), snapshot.estimator.result_.checked)
        assert (name in changes.open) == current[name].open


def test_items_with_new_labels_stand_by_the_workers_as_fitted(snapshot):
    known, classes = list(snapshot.workers)[:4], snapshot.classes
    items = [list(zip(known, labels, strict=False)) for n in (1, 2, 3) for labels in product(classes, repeat=n)]
    for answers, state in zip(items, from_labels(snapshot, items), strict=True):
        assert state.basis == "update"
        assert state.n_labels == len(answers)
        assert sum(state.posterior.values()) == pytest.approx(1.0)
        assert state.probability == max(state.posterior.values()) == state.posterior[state.label]
        assert state.standing in {"open", "settled", "tied", "unidentifiable"}
        assert (state.standing == "settled") <= (state.probability >= snapshot.settled)
        if len(answers) == 1:
            assert state.standing != "open"


def test_a_class_that_no_fit_knows_leaves_the_votes(snapshot):
    known, strange = from_labels(snapshot, [[("a", snapshot.classes[0])], [("a", snapshot.classes[0]), ("b", "strange")]])
    assert (known.basis, strange.basis, strange.standing) == ("update", "votes", "tied")
    assert [state.basis for state in from_labels(None, [[("a", "x")], []])] == ["votes", "nothing"]


@pytest.mark.parametrize(
    ("labels", "label", "probability", "standing"),
    [
        ("", None, 0.0, "open"),
        ("x", "x", 2 / 3, "unidentifiable"),
        ("xx", "x", 3 / 4, "open"),
        ("xy", "x", 2 / 5, "tied"),
        ("yxy", "y", 3 / 6, "open"),
    ],
)
def test_votes_are_smoothed_and_never_settle(labels, label, probability, standing):
    state = from_votes([(f"w{n}", name) for n, name in enumerate(labels)])
    assert (state.label, state.probability, state.standing) == (label, pytest.approx(probability), standing)


def test_what_a_person_knows_is_certain():
    state = as_known(from_votes([("a", "x"), ("b", "y")]), "z", "decision")
    assert (state.label, state.probability, state.standing, state.open) == ("z", 1.0, ItemStanding.KNOWN.name.lower(), False)
    assert state.posterior == {"x": 0.0, "y": 0.0, "z": 1.0}
