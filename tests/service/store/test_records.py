"""What clients send is taken as it is declared, or refused with a sentence that says why."""

from dataclasses import fields

import pytest

from crowdassay.findings.items import STANDINGS
from crowdassay.findings.verdicts import ACTION_ORDER
from crowdassay.service.store.open import open_store
from crowdassay.service.store.records import (
    TABLE_OF,
    BadRecordError,
    ItemRow,
    NewItem,
    NewToken,
    Received,
    Refused,
    StoredLabel,
    Truth,
    WorkerRow,
    fields_of,
    read_item,
    read_token,
    read_truth,
    select,
)

ITEM_SHAPE = "An item is an object with item, and perhaps text and link."
TRUTH_SHAPE = "A truth is an object with item and label."
TOKEN_SHAPE = "Send {role, worker, name, days}: the role is label, read or manage, the others may be left out."


@pytest.mark.parametrize(
    ("read", "sent", "taken"),
    [
        (read_item, "a", NewItem("a")),
        (read_item, 7, NewItem("7")),
        (read_item, {"item": 1.5, "text": None}, NewItem("1.5")),
        (
            read_item,
            {"item": "a", "text": "x" * 100_000, "link": "HTTPS://e.org"},
            NewItem("a", "x" * 100_000, "HTTPS://e.org"),
        ),
        (read_truth, {"item": True, "label": 0}, Truth("true", "0")),
        (read_token, {"role": "label", "worker": 7}, NewToken("label", "7")),
        (read_token, {"role": "read", "name": "ours", "days": 2}, NewToken("read", None, "ours", 2.0)),
    ],
)
def test_good_records_are_taken(read, sent, taken):
    assert read(sent) == taken


@pytest.mark.parametrize(
    ("read", "sent", "reason"),
    [
        (read_item, True, ITEM_SHAPE),
        (read_item, ["a"], ITEM_SHAPE),
        (read_item, {"item": "a", "colour": "red"}, ITEM_SHAPE),
        (read_item, {"text": "a"}, "The item is missing."),
        (read_item, "", "The item is empty."),
        (read_item, {"item": "a", "text": "x" * 100_001}, "The text has 100,001 characters; at most 100,000 are taken."),
        (read_item, {"item": "a", "link": "javascript:alert(1)"}, "A link begins with https:// or http://."),
        (read_truth, "a", TRUTH_SHAPE),
        (read_truth, {"item": "a", "label": "x", "worker": "ann"}, TRUTH_SHAPE),
        (read_truth, {"item": "a"}, "The label is missing."),
        (read_truth, {"item": " " * 10_000 + "a", "label": "x"}, "The item has 10,001 characters; at most 10,000 are taken."),
        (read_token, None, TOKEN_SHAPE),
        (read_token, {}, TOKEN_SHAPE),
        (read_token, {"role": ["label"]}, TOKEN_SHAPE),
        (read_token, {"role": "read", "for": "ann"}, TOKEN_SHAPE),
        (read_token, {"role": "label", "worker": ""}, "The worker is empty."),
        (read_token, {"role": "read", "worker": "ann"}, "Only a token of the role label is for one worker."),
        (read_truth, BadRecordError("Line 4 is not valid JSON."), "Line 4 is not valid JSON."),
    ],
)
def test_others_are_refused_with_a_reason(read, sent, reason):
    with pytest.raises(BadRecordError) as refused:
        read(sent)
    assert str(refused.value) == reason


def test_what_was_refused_is_told_in_the_order_in_which_it_was_sent():
    done = Received(added=1, refused=[Refused(3, "c", "k")]).refuse([Refused(0, "a"), Refused(5, "d")])
    assert done.as_dict() == {
        "added": 1,
        "known": 0,
        "refused": [{"index": 0, "reason": "a"}, {"index": 3, "reason": "c", "key": "k"}, {"index": 5, "reason": "d"}],
    }


def test_every_record_has_its_columns_in_the_store(place):
    with open_store(place).home.read() as session:
        for record in TABLE_OF:
            assert select(session, record, "") == []


def test_labels_are_shown_as_they_are_declared():
    label = StoredLabel("k", "a", "ann", "yes", 1, None, 7)
    assert list(label.as_dict().items()) == [(one.name, getattr(label, one.name)) for one in fields(label)]


def test_records_use_the_words_of_the_findings():
    assert fields_of(ItemRow)["standing"][1].values == STANDINGS
    assert fields_of(WorkerRow)["action"][1].values == ACTION_ORDER
