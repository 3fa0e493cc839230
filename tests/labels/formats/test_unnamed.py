"""Lists of labels beside which no worker is named."""

import json

import pytest

from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.labels.files import read_labels
from support.exports import csv_text, json_lines, rows_of, write

CHOICES = [{"id": f"i{n}", "choices": [n % 3, 1, n % 2], "odd": [n % 2 == 0, False, False]} for n in range(6)]
SCORES = [
    {"id": n // 2, "model_id": "ab"[n % 2], "annotations": [{"fluency": n % 3, "tone": 1}, {"fluency": 1, "tone": n % 2}]}
    for n in range(6)
]
PLACES = "if the first, the second ... of every list are always the same worker's, say `format='nested'`"


def test_places_in_lists_are_proposed_and_read_as_workers(tmp_path):
    path = write(tmp_path / "a.json", json.dumps(CHOICES))
    with pytest.raises(DataError, match=f"'choices' lists labels without saying who gave which; {PLACES}"):
        read_labels(path)
    with pytest.raises(ParameterError, match=r"several questions \('choices', 'odd'\)"):
        read_labels(path, format="nested")
    labels = read_labels(path, format="nested", question="choices")
    assert rows_of(labels)[:4] == [("i0", "1", "0"), ("i0", "2", "1"), ("i0", "3", "0"), ("i1", "1", "1")]
    assert "'choices' names nobody: the first of every list was taken for worker 1, the second for worker 2." in (
        labels.report.notes
    )


def test_records_by_name_that_list_labels_are_refused_as_a_list_of_them_is(tmp_path):
    path = write(tmp_path / "a.json", json.dumps({str(n): record for n, record in enumerate(CHOICES)}))
    with pytest.raises(DataError, match=f"'choices' lists labels without saying who gave which; {PLACES}"):
        read_labels(path)
    assert read_labels(path, format="nested", question="odd", item_column="id").items.to_pylist()[0] == "i0"


def test_items_told_by_several_keys(tmp_path):
    path = write(tmp_path / "a.jsonl", json_lines(SCORES))
    with pytest.raises(DataError, match=f"'annotations' lists labels .*; {PLACES} `item_column` 'id,model_id'"):
        read_labels(path)
    with pytest.raises(ColumnError, match=r"tells items apart alone; 'id', 'model_id' together do: say .* 'id,model_id'"):
        read_labels(path, format="nested")
    labels = read_labels(path, format="nested", item_column="id,model_id", question="fluency")
    assert rows_of(labels)[:3] == [("0 | a", "1", "0"), ("0 | a", "2", "1"), ("0 | b", "1", "1")]
    with pytest.raises(ColumnError, match="no key 'model' for the item"):
        read_labels(path, format="nested", item_column="id,model", question="fluency")
    merged = read_labels(path, format="nested", item_column="id", question="fluency")
    assert "Some records have the same id; each is told apart with --item-column 'id,model_id'." in merged.report.notes


def test_lists_of_different_lengths_have_no_places(tmp_path):
    records = [{**record, "choices": record["choices"][: 2 + n % 2]} for n, record in enumerate(CHOICES)]
    path = write(tmp_path / "a.json", json.dumps(records))
    with pytest.raises(DataError, match="'choices' lists labels without saying who gave which; give a table with one row per"):
        read_labels(path)
    with pytest.raises(DataError, match="the lists differ in length"):
        read_labels(path, format="nested")


@pytest.mark.parametrize(
    "cell",
    [
        lambda n: str([{"answer": "xyz"[n % 3]}, {"answer": "x"}, {"answer": "x"}]),
        lambda n: str(["xyz"[n % 3], "x", "x"]),
        lambda n: json.dumps([n % 3, 1, 1]),
    ],
)
def test_cells_of_a_table_that_list_labels_are_said(tmp_path, cell):
    rows = [(f"i{n}", "what", cell(n)) for n in range(8)]
    with pytest.raises(ColumnError) as refused:
        read_labels(write(tmp_path / "a.csv", csv_text(["id", "question", "answer_picked"], rows)))
    assert str(refused.value) == (
        "In 'a.csv' 'answer_picked' lists labels without saying who gave which; give a table with one row per judgement: item, "
        "worker, label."
    )


@pytest.mark.parametrize(
    "record",
    [
        lambda n: {"choices": [f"a{n}", f"b{n}", f"c{n}"]},  # to choose from
        lambda n: {"annotations": [{"start": n, "end": n + 1, "label": "x"}] * 2},  # spans
        lambda n: {"annotations": [{"pid": "pq"[k], "label": "x"} for k in range(2)]},  # of people who are named
        lambda n: {"pids": ["p", "q"], "labels": ["x", "x"]},
    ],
)
def test_places_in_other_lists_are_no_workers(tmp_path, record):
    path = write(tmp_path / "a.json", json.dumps([{"id": n, **record(n)} for n in range(8)]))
    with pytest.raises((ColumnError, DataError)) as refused:
        read_labels(path)
    assert "format='nested'" not in str(refused.value)


def test_lists_beside_a_model_and_its_label_are_no_labels(tmp_path):
    records = [{"item": n // 2, "model": "ab"[n % 2], "label": "xy"[n % 3 % 2], "answers": [1, 1]} for n in range(8)]
    assert read_labels(write(tmp_path / "a.json", json.dumps(records))).n_labels == 8


def test_ids_of_annotators_are_their_names(tmp_path):
    records = [{"id": n, "annotator_ids": ["a", "b"], "labels": ["x", "xy"[n % 2]]} for n in range(2)]
    rows = [("0", "a", "x"), ("0", "b", "x"), ("1", "a", "x"), ("1", "b", "y")]
    assert rows_of(read_labels(write(tmp_path / "a.json", json.dumps(records)))) == rows


def by_class(n):
    yes, no = [["a", "b"], ["c"]] if n % 2 else [["c"], ["a", "d"]]
    return {"Index": f"i{n}", "Annotators_rude": yes, "Annotators_not_rude": no, "Annotators_vile": yes[:1], "Site_x": n % 2}


def test_workers_in_a_list_for_each_class(tmp_path):
    path = write(tmp_path / "a.json", json.dumps([by_class(n) for n in range(6)]))
    labels = read_labels(path, item_column="Index")
    assert rows_of(labels)[:4] == [("i0", "a", "not_rude"), ("i0", "c", "rude"), ("i0", "d", "not_rude"), ("i1", "a", "rude")]
    said = "'Annotators_rude', 'Annotators_not_rude'. 'Annotators_vile' list some of these again and were left out."
    assert f"Each class has a list of its workers: {said}" in labels.report.notes


@pytest.mark.parametrize(
    "more",
    [
        {"Annotators_not_rude": ["a", "c"], "Annotators_rude": ["c", "b"]},  # one in both
        {"Annotators_rude": ["x", "y"]},  # nobody in both, ever
    ],
)
def test_lists_that_share_too_much_or_nothing_are_no_classes(tmp_path, more):
    records = [{key: value for key, value in {**by_class(n), **more}.items() if key != "Annotators_vile"} for n in range(6)]
    for record in records:
        record |= {f"Site_{k}": record["Site_x"] for k in "yz"}
    with pytest.raises((ColumnError, DataError)) as refused:
        read_labels(write(tmp_path / "a.json", json.dumps(records)))
    assert "format='wide'" not in str(refused.value)


def test_workers_with_a_column_each_come_before_a_list_of_what_they_said(tmp_path):
    rows = [(f"i{n}", "xy"[n % 2], "xy"[n // 2 % 2], str(["xy"[n % 2], "xy"[n // 2 % 2]])) for n in range(8)]
    with pytest.raises(ColumnError, match=r"If 'ann', 'bob'.* are workers who answer one question"):
        read_labels(write(tmp_path / "a.csv", csv_text(["id", "ann", "bob", "all_votes"], rows)))


def reasons(*people):
    return [{"annotator": who, "why": "so", "checks": [{"annotator": "d", "holds": True}]} for who in people]


def reasoned(n):
    sure, rest = [["a", "b"], ["c"]] if n % 2 else [["c"], ["a", "b", "c"][n % 3 :]]
    counts = {"label_count.yes": len(sure), "label_count.no": len(rest)}
    return {"id": f"i{n}", "yes": reasons(*sure), "no": reasons(*rest), "unsure": ["a"][n % 2 :], "label_count": counts}


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_lists_of_objects_by_class_are_proposed_and_read(tmp_path, name):
    path = write(tmp_path / name, json_lines([reasoned(n) for n in range(6)]))
    said = r"'yes', 'no' list objects with 'annotator'; if these keys are classes and .* who chose them, say `format='nested'`;"
    with pytest.raises(DataError, match=said) as refused:
        read_labels(path)
    assert "worker_columns" not in str(refused.value)
    labels = read_labels(path, format="nested")
    assert rows_of(labels)[:5] == [
        ("i0", "a", "no"), ("i0", "b", "no"), ("i0", "c", "no"), ("i0", "c", "yes"), ("i1", "a", "yes"),
    ]  # fmt: skip
    assert "What workers said in 'checks', inside of these lists, was not read." in labels.report.notes
    assert "Workers without a class were left out: 'unsure'." in labels.report.notes


@pytest.mark.parametrize(
    "more",
    [
        {"yes": reasons("a", "b"), "no": reasons("b", "a")},  # everyone in each, as in two rounds
        {"yes": reasons("a", "a"), "no": reasons("b")},  # twice in one, as comments
        {"yes": [{"annotator": "a", "text": "t"}], "no": [{"annotator": "b", "diff": "d"}]},  # of different things
    ],
)
def test_other_lists_of_objects_are_no_classes(tmp_path, more):
    path = write(tmp_path / "a.json", json.dumps([{**reasoned(n), **more} for n in range(6)]))
    with pytest.raises((ColumnError, DataError)) as refused:
        read_labels(path)
    assert "format='nested'" not in str(refused.value)


def summaries(n):
    return {"doc": ["a", "b"], **{f"text {k}": {"words": ["w"], "score": (n + k) % 3} for k in (1, 2, 3)}}


def test_numbered_things_are_items_of_their_own(tmp_path):
    files = [write(tmp_path / f"{who}.json", json.dumps({f"d.{n}": summaries(n) for n in range(4)})) for who in ("ann", "bob")]
    with pytest.raises(
        DataError, match=r"'text 1', .* each hold 'score'; if each .* say `format='nested'`, and say `worker_from_"
    ):
        read_labels(files)
    with pytest.raises(ColumnError, match=r"Nobody is named in 'ann.json'; say `worker_from_filename=True`"):
        read_labels(files, format="nested")
    labels = read_labels(files, format="nested", worker_from_filename=True)
    assert labels.n_labels == 24
    assert rows_of(labels)[0] == ("d.0 | text 1", "ann", "1")


def test_one_of_several_numbered_things_is_read_alone_only_where_the_item_is_named(tmp_path):
    path = write(tmp_path / "ann.json", json.dumps({f"d.{n}": summaries(n) for n in range(4)}))
    with pytest.raises(
        ColumnError, match=r"Beside 'text 1.score' there are 'text 2.score', 'text 3.score'. If each .* For 'text 1"
    ):
        read_labels(path, worker_from_filename=True, label_column="text 1.score")
    assert read_labels(path, worker_from_filename=True, label_column="text 1.score", item_column="key").n_labels == 4


@pytest.mark.parametrize("outside", [True, False])
def test_who_judged_numbered_things_may_be_told_by_the_file_or_the_record(tmp_path, outside):
    rows = [{"id": f"i{n}", **summaries(n), **({} if outside else {"annotator": "ann"})} for n in range(4)]
    whole = {"annotator": "ann", "items": rows} if outside else rows
    labels = read_labels(write(tmp_path / "a.json", json.dumps(whole)), format="nested")
    assert rows_of(labels)[:2] == [("i0 | text 1", "ann", "1"), ("i0 | text 2", "ann", "2")]


@pytest.mark.parametrize("name", ["q", "round "])
def test_numbered_questions_and_rounds_are_no_things(tmp_path, name):
    rows = [{"id": n, **{f"{name}{k}": {"score": (n + k) % 3} for k in (1, 2)}} for n in range(6)]
    path = write(tmp_path / "ann.json", json.dumps(rows))
    assert read_labels(path, worker_from_filename=True, label_column=f"{name}1.score").n_labels == 6
