"""Why an item has its label, and why it should be labelled next, in sentences."""

import pytest

from crowdassay.service.fits.item_state import ItemState
from crowdassay.service.fits.next import reason
from crowdassay.service.store.records import StoredLabel, WorkerRow

pytest.importorskip("starlette", reason="the extra 'web' is not installed")

FITTED = {
    "ann": WorkerRow("ann", 9, "typical", 0.9),
    "bob": WorkerRow("bob", 9, "typical", 0.7),
    "eve": WorkerRow("eve", 1, ""),
}


def state(basis="fit", *, standing="open", n_labels=3, probability=0.625):
    return ItemState("yes", probability, {}, standing, n_labels, basis)


def said(**labels):
    return [StoredLabel(f"k{worker}", "a", worker, label, 1, None) for worker, label in labels.items()]


RATE = "Those who say so are right 80% of the time on average, as far as is known."


@pytest.mark.parametrize(
    ("basis", "labels", "reasons"),
    [
        ("truth", {"ann": "no"}, ["Its class is known."]),
        ("decision", {"ann": "no"}, ["A person settled it."]),
        ("nothing", {}, ["Nobody has labelled it yet."]),
        (
            "votes",
            {"ann": "yes", "bob": "no"},
            ["1 of 2 labels say 'yes'.", "No fit has seen these labels yet, so that all workers count alike."],
        ),
        ("fit", {"ann": "yes", "bob": "yes", "eve": "no"}, ["2 of 3 labels say 'yes'.", RATE]),
        ("fit", {"eve": "yes", "new": "yes"}, ["2 of 2 labels say 'yes'."]),
        (
            "update",
            {"ann": "yes", "bob": "yes", "a": "no", "b": "no", "c": "no"},
            [
                "2 of 5 labels say 'yes'.",
                RATE,
                "More say 'no', but they are less reliable, or often wrong in this way.",
                "Some of these labels are newer than the last fit; the workers are judged as they were then.",
            ],
        ),
    ],
)
def test_an_item_says_why_it_has_its_label(basis, labels, reasons):
    from crowdassay.service.http.item_endpoints import why

    assert why(state(basis), said(**labels), FITTED) == reasons


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"n_labels": 0}, "Nobody has labelled it yet."),
        ({"n_labels": 4, "standing": "tied"}, "Its 4 labels are split evenly."),
        ({"n_labels": 1, "standing": "unidentifiable"}, "Only one worker has labelled it."),
        ({}, "After 3 labels its label has a probability of 0.62."),
    ],
)
def test_an_item_says_why_it_should_be_labelled(given, sentence):
    assert reason(state(**given)) == sentence
