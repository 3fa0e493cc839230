import json

import pytest

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.files import read_labels
from support.exports import annotation, csv_text, rows_of, small, task, write

ROWS = [("1", "ann", "warm"), ("1", "bob", "cold")]


def export(tmp_path, *tasks, name="export.json"):
    return write(tmp_path / name, json.dumps(tasks))


def test_skipped_work_and_drafts_are_left_out_and_counted(tmp_path):
    path = export(
        tmp_path,
        task(1, annotation("ann", ["warm"]), annotation("bob", ["cold"]), annotation("cat", ["cold"], was_cancelled=True)),
        task(2, annotation("ann", ["cold"]), annotation("bob", [], skipped=True), drafts=[{"result": []}]),
        task(3, annotation("ann", ["cold", "warm"]), {**annotation("bob", []), "result": []}),
    )
    labels = read_labels(path, allow_drops=True)
    assert rows_of(labels) == [*ROWS, ("2", "ann", "cold")]
    assert labels.report.dropped == {"skipped": 2, "draft": 1, "more than one choice": 1, "no answer": 1}
    assert (labels.report.rows_read, labels.report.rows_kept) == (8, 3)
    assert (labels.report.format, labels.report.question) == ("label-studio", "tone")


def test_who_completed_it_is_a_number_or_an_object(tmp_path):
    people = [12345678901234567890, {"email": "a@x.org", "id": 3}, {"id": 4}]
    labels = read_labels(export(tmp_path, task(1, *(annotation(who, [c]) for who, c in zip(people, "abc", strict=True)))))
    assert labels.workers.to_pylist() == ["12345678901234567890", "a@x.org", "4"]


def test_completions_are_the_old_name_and_one_task_may_be_the_whole_file(tmp_path):
    old = task(1, annotation("ann", ["warm"]), annotation("bob", ["cold"]))
    old["completions"] = old.pop("annotations")
    assert rows_of(read_labels(write(tmp_path / "old.json", json.dumps(old)))) == ROWS


def test_a_folder_of_one_annotation_per_file(tmp_path):
    for n, (who, choice) in enumerate([("ann", "warm"), ("bob", "cold")]):
        inside = {**annotation(who, [choice]), "task": {"id": 1, "data": {"text": "x"}}}
        write(tmp_path / f"{n}.json", json.dumps(inside))
    assert rows_of(read_labels(tmp_path)) == ROWS


def test_items_without_an_id_are_told_by_their_data(tmp_path):
    tasks = [task(None, annotation("ann", ["warm"]), annotation("bob", ["cold"])) for _ in range(2)]
    tasks[0]["data"], tasks[1]["data"] = {"text": "Hi"}, {"text": "Hi", "lang": "en"}
    assert read_labels(export(tmp_path, *tasks)).items.to_pylist() == ["Hi", '{"lang": "en", "text": "Hi"}']
    assert read_labels(export(tmp_path, *tasks), item_column="data.text").items.to_pylist() == ["Hi"]


def several(worker, tone, stars):
    both = annotation(worker, [tone])
    both["result"] += [
        {"from_name": "stars", "value": {"rating": stars}},
        {"from_name": "why", "value": {"text": ["because"]}},
        {"from_name": "span", "value": {"start": 1, "end": 2, "labels": ["X"]}},
        {"from_name": "part", "value": {"x": 1, "choices": ["Y"]}},
    ]
    return both


def test_of_several_questions_one_is_asked_for(tmp_path):
    path = export(tmp_path, task(1, several("ann", "warm", 4), several("bob", "cold", 5)))
    with pytest.raises(ParameterError, match=r"several questions \('tone', 'stars'\); choose one with `question`") as error:
        read_labels(path)
    assert error.value.exit_code == 2
    assert rows_of(read_labels(path, question="tone")) == ROWS
    assert read_labels(path, question="stars").class_names == ("4", "5")
    assert read_labels(path, question="why", classes=["because", "x"]).n_labels == 2
    with pytest.raises(ParameterError, match=r"no question 'tones'.*did you mean 'tone'"):
        read_labels(path, question="tones")


@pytest.mark.parametrize("value", [{"number": 3}, {"rating": 3}, {"choices": ["3"]}, {"taxonomy": [["3"]]}])
def test_other_kinds_of_answer(tmp_path, value):
    given = annotation("ann", [])
    given["result"][0]["value"] = value
    assert read_labels(export(tmp_path, task(1, given)), classes=["3", "4"]).label.tolist() == [0]


def test_predictions_are_workers_only_on_request(tmp_path):
    said = {"model_version": "v2", "score": 0.9, "result": annotation("", ["cold"])["result"]}
    path = export(tmp_path, task(1, annotation("ann", ["warm"]), predictions=[said, 17]), task(2, annotation("ann", ["cold"])))
    labels = read_labels(path)
    assert labels.workers.to_pylist() == ["ann"]
    assert "Model predictions were left out: 1" in labels.report.notes[0]
    assert rows_of(read_labels(path, predictions=True))[1] == ("1", "model:v2", "cold")
    with pytest.raises(DataError, match=r"no model predictions"):
        read_labels(export(tmp_path, task(1, annotation("ann", ["warm"]))), predictions=True)


def test_ground_truth_is_counted_and_is_gold_on_request(tmp_path):
    truth = annotation("boss", ["warm"], ground_truth=True)
    path = export(tmp_path, task(1, annotation("ann", ["cold"]), truth), task(2, annotation("ann", ["warm"])))
    counted = read_labels(path)
    assert (counted.report.gold, counted.gold.tolist()) == (1, [-1, -1])
    assert "--use-gold" in counted.report.notes[-1]
    assert read_labels(path, use_gold=True).gold.tolist() == [1, -1]
    with pytest.raises(DataError, match=r"no gold"):
        read_labels(export(tmp_path, task(1, annotation("ann", ["cold"]))), classes=["warm", "cold"], use_gold=True)


def test_gold_that_contradicts_itself_is_an_error_when_used(tmp_path):
    both = [annotation(who, [choice], ground_truth=True) for who, choice in (("ann", "warm"), ("bob", "cold"))]
    path = export(tmp_path, task(1, *both))
    assert read_labels(path).report.gold == 1
    with pytest.raises(DataError, match=r"gold gives item '1' different labels"):
        read_labels(path, use_gold=True)


SMALL = [small(1, "ann", "warm"), small(1, "bob", "cold"), small(2, "ann", "warm", text="Bye")]


def test_the_column_that_varies_within_a_task_is_the_question(tmp_path):
    records = [{**record, "_data_tone": "x", "agreement": n} for n, record in enumerate(SMALL)]
    for name, text in {
        "min.json": json.dumps(records),
        "a.csv": csv_text(records[0], [record.values() for record in records]),
        "a.tsv": csv_text(records[0], [record.values() for record in records], "\t"),
    }.items():
        labels = read_labels(write(tmp_path / name, text))
        assert rows_of(labels) == [*ROWS, ("2", "ann", "warm")]
        assert (labels.report.question, labels.report.format) == ("tone", "label-studio")
        assert labels.report.columns == {"item": "id", "worker": "annotator", "label": "tone"}


def test_the_question_is_asked_for_when_none_or_several_vary(tmp_path):
    with pytest.raises(ParameterError, match=r"'text', 'tone'"):
        read_labels(write(tmp_path / "a.json", json.dumps(SMALL[:1])))
    both = [{**record, "stars": {"rating": n}} for n, record in enumerate(SMALL)]
    path = write(tmp_path / "b.json", json.dumps(both))
    with pytest.raises(ParameterError, match=r"'tone', 'stars'"):
        read_labels(path)
    assert read_labels(path, question="stars").class_names == ("0", "1", "2")


def agreed(times=2, **more):
    """Return annotations that never differ within a task, whose image is another for each."""
    said = [(n, who) for n in range(12) for who in ("ann", "bob")[:times]]
    return [{**small(n, who, ["warm", "cold"][n % 2], text=f"{n}.jpg"), **more} for n, who in said]


def test_what_is_another_for_every_task_is_no_question_where_all_agree(tmp_path):
    labels = read_labels(write(tmp_path / "a.json", json.dumps(agreed())))
    assert (labels.report.question, labels.n_labels, labels.class_names) == ("tone", 24, ("cold", "warm"))
    records = agreed()
    path = write(tmp_path / "a.csv", csv_text(records[0], [record.values() for record in records]))
    assert read_labels(path).report.question == "tone"
    for doubtful in (agreed(split="train"), agreed(times=1)):
        with pytest.raises(ParameterError, match=r"several questions \('text', 'tone'"):
            read_labels(write(tmp_path / "b.json", json.dumps(doubtful)))


def test_multi_select_cells_and_tasks_without_annotation(tmp_path):
    one, two = json.dumps({"choices": ["warm"]}), json.dumps({"choices": ["warm", "cold"]})
    records = [*SMALL, small(3, "ann", one), small(3, "bob", two), small(4, None, None), small(5, "ann", "")]
    for name, text in {
        "min.json": json.dumps(records),
        "a.csv": csv_text(records[0], [record.values() for record in records]),
    }.items():
        labels = read_labels(write(tmp_path / name, text), question="tone")
        assert rows_of(labels)[-1] == ("3", "ann", "warm")
        assert labels.report.dropped == {"no annotation": 1, "more than one choice": 1, "no answer": 1}
        assert labels.report.rows_read == 7


def test_the_small_forms_have_no_predictions_and_need_an_id(tmp_path):
    path = write(tmp_path / "a.csv", csv_text(SMALL[0], [record.values() for record in SMALL]))
    with pytest.raises(DataError, match=r"export JSON"):
        read_labels(path, predictions=True)
    assert read_labels(path, item_column="text").items.to_pylist() == ["Hello", "Bye"]


def test_regions_alone_are_no_labels(tmp_path):
    spans = {**annotation("ann", []), "result": [{"from_name": "span", "value": {"start": 1, "end": 2, "labels": ["X"]}}]}
    with pytest.raises(DataError, match=r"No labels found in 'export.json'"):
        read_labels(export(tmp_path, task(1, spans)))


def test_a_file_for_each_worker_names_them_though_all_are_number_one(tmp_path):
    for name, label in (("ann", "warm"), ("bob", "cold")):
        write(tmp_path / f"{name}.json", json.dumps([task(1, annotation(1, [label])), task(2, annotation(1, ["cold"]))]))
    paths = sorted(tmp_path.iterdir())
    assert read_labels(paths).workers.to_pylist() == ["1"]
    for given in (paths, tmp_path):
        labels = read_labels(given, worker_from_filename=True)
        assert rows_of(labels) == [("1", "ann", "warm"), ("1", "bob", "cold"), ("2", "ann", "cold"), ("2", "bob", "cold")]
        assert labels.report.columns["worker"] == "file name"


def test_old_exports_name_the_worker_otherwise(tmp_path):
    done = [{**annotation(1, [label]), "created_username": who} for who, label in (("ann", "warm"), ("bob", "cold"))]
    for one in done:
        del one["completed_by"]
    path = write(tmp_path / "old.json", json.dumps([{"id": 1, "data": {"text": "x"}, "completions": done}]))
    assert rows_of(read_labels(path)) == [("1", "ann", "warm"), ("1", "bob", "cold")]


def test_annotations_of_spans_alone_are_counted_as_that(tmp_path):
    span = {"start": 0, "end": 3, "text": "the", "labels": ["ADP"]}
    tasks = [
        {"id": n, "data": {"text": "the cat"}, "annotations": [
            {"completed_by": 1, "result": [{"from_name": "pos", "type": "labels", "value": span}]},
            {"completed_by": 2, "result": [{"from_name": "tone", "type": "choices", "value": {"choices": ["warm"]}}] * (n % 2)},
        ]}
        for n in range(6)
    ]  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(tasks))
    report = read_labels(tmp_path / "a.json", allow_drops=True).report
    assert report.dropped == {"spans, not classes": 6, "no answer": 3}
    small = [
        {"id": n, "text": "the cat", "pos": [span], "annotator": 1, "annotation_id": n, "created_at": "", "lead_time": 1}
        for n in (1, 2)
    ]
    (tmp_path / "b.json").write_text(json.dumps(small))
    with pytest.raises(DataError, match=r"every judgement was left out \(spans, not classes: 2\)"):
        read_labels(tmp_path / "b.json", question="pos")
