"""Results become what annotation tools import, and our own readers read it back."""

import json

import pytest

from crowdassay.errors import DataError
from crowdassay.labels.files import read_labels
from crowdassay.labels.formats.label_studio import Control, controls_of
from crowdassay.labels.formats.predictions import Prediction, written
from crowdassay.read_options import ReadOptions
from support.exports import annotation, json_lines, rows_of, task, write

RESULTS = [("1", "warm", 0.9), ("2", "cold", 0.75)]


def results(folder, rows=RESULTS, name="labels.csv"):
    lines = ["item,label,probability,tied", *(f"{item},{label},{p},false" for item, label, p in rows)]
    return write(folder / name, "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("tool", "name", "how", "worker"),
    [
        ("label-studio", "p.json", {"predictions": True}, "model:crowdassay"),
        ("argilla", "p.json", {"predictions": True}, "model:crowdassay"),
        ("doccano", "crowdassay.jsonl", {"worker_from_filename": True}, "crowdassay"),
    ],
)
def test_what_is_written_is_read_back(run, tmp_path, tool, name, how, worker):
    code, printed, _ = run("convert", results(tmp_path), "--to", tool, "--out", tmp_path / name)
    assert (code, printed) == (0, f"Wrote the labels of 2 items to {tmp_path / name}, as {tool} imports them.\n")
    labels = read_labels(tmp_path / name, **how)
    assert labels.report.format == tool
    assert rows_of(labels) == [(item, worker, label) for item, label, _ in RESULTS]


def test_a_folder_of_results_is_taken_whole(run, tmp_path):
    rows = "\n".join(f"i{item},w{worker},{'+' if item % 2 else '-'}" for item in range(4) for worker in range(3))
    path = write(tmp_path / "labels.csv", f"item,worker,label\n{rows}\n")
    assert run("aggregate", path, "--method", "majority", "--out", tmp_path / "results", "--quiet")[0] == 0
    assert "'+" in (tmp_path / "results" / "labels.csv").read_text()  # since a spreadsheet would run it
    assert run("convert", tmp_path / "results", "--to", "argilla", "--out", tmp_path / "p.json", "--question", "sign")[0] == 0
    found = json.loads((tmp_path / "p.json").read_text())
    assert {one["id"]: one["suggestions"]["sign"]["value"] for one in found} == {"i0": "-", "i1": "+", "i2": "-", "i3": "+"}
    assert all(0 < one["suggestions"]["sign"]["score"] <= 1 for one in found)
    code, _, said = run("convert", tmp_path, "--to", "argilla", "--out", tmp_path / "q.json")
    assert (code, "is no folder of results; name one that" in said) == (2, True)


def test_tasks_of_label_studio_keep_what_they_show(run, tmp_path):
    tasks = [task(number, annotation("ann", ["warm"]), meta={"n": 1.5}) for number in (1, 2, 3)]
    path = write(tmp_path / "export.json", json.dumps(tasks))
    code, printed, _ = run(
        "convert", results(tmp_path, [*RESULTS, ("9", "cold", 0.5)]), "--to", "label-studio", "--tasks", path,
        "--out", tmp_path / "p.json",
    )  # fmt: skip
    assert code == 0
    assert f"Left out 1 item of the results: {path} holds no such task." in printed
    found = json.loads((tmp_path / "p.json").read_text())
    assert found[0] == {
        "id": 1,
        "data": {"text": "Hello", "source": "a"},
        "meta": {"n": 1.5},
        "annotations": [],
        "predictions": [
            {
                "model_version": "crowdassay",
                "score": 0.9,
                "result": [{"from_name": "tone", "to_name": "text", "type": "choices", "value": {"choices": ["warm"]}}],
            }
        ],
    }
    assert [one["id"] for one in found] == [1, 2]


def test_tasks_that_are_told_by_what_they_show():
    tasks = [{"id": 5, "data": {"url": "a.png"}, "annotations": []}]
    one = [Prediction("a.png", "warm", 0.5)]
    found = written("label-studio", one, tasks, ReadOptions(item_column="url"))
    assert (found[0]["id"], len(found[0]["predictions"])) == (5, 1)
    with pytest.raises(DataError, match=r"No item of the results, such as 'a.png', is among the tasks; name with"):
        written("label-studio", one, tasks, ReadOptions())


def test_questions_of_argilla_take_numbers_and_lists():
    def record(value):
        return {"id": "1", "fields": {"text": "Hello"}, "responses": {"q": [{"value": value, "user_id": "u"}]}}

    def value(label, given, **options):
        found = written("argilla", [Prediction("1", label, 0.5)], [record(given)], ReadOptions(**options))
        return found[0]["suggestions"]["q"]["value"]

    assert (value("4", 3), value("4", "3"), value("a", ["b"])) == (4, "4", ["a"])
    assert value("a|b", ["b"], options="set") == ["a", "b"]
    with pytest.raises(DataError, match=r"have no fields; write them with `dataset.records.to_json`"):
        written("argilla", [Prediction("1", "a", 0.5)], [{"id": "1", "text": "Hello"}], ReadOptions())


def test_texts_of_doccano_keep_their_other_keys(run, tmp_path):
    path = write(tmp_path / "all.jsonl", json_lines([{"id": 1, "text": "Hello", "label": ["x"], "Comments": [], "url": "u"}]))
    assert run("convert", results(tmp_path), "--to", "doccano", "--tasks", path, "--out", tmp_path / "p.jsonl")[0] == 0
    assert json.loads((tmp_path / "p.jsonl").read_text()) == {
        "id": 1, "text": "Hello", "url": "u", "label": ["warm"], "probability": 0.9,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "argilla", "--out", "p.csv"], "'p.csv' must end in .json, which is what argilla imports."),
        (["--to", "argilla", "--out", "p.json", "--missing", "x"], "--missing goes with labels, and --to takes results."),
        (["--to", "argilla", "--out", "p.json", "--raw"], "--raw goes with labels, and --to takes results."),
        (["--to", "argilla", "--out", "p.json", "--options"], "--options each goes with labels, and --to takes results."),
        (["--tasks", "x.json", "--out", "p.csv"], "--tasks goes with --to, which says for which tool results are written."),
    ],
)
def test_what_does_not_go_together_is_refused(run, tmp_path, options, message):
    code, _, said = run("convert", results(tmp_path), *options)
    assert (code, said.strip().removeprefix("Error: ")) == (2, message)


CONFIG = """<View><!-- <Choices name="no" toName="text"/> --><Text name="text" value="$text"/>
  <Choices name="tone" toName="text" choice="single"><Choice value="a &gt; b"/></Choices>
  <Choices name="part" toName="text" perRegion="true"/><Labels name="span" toName="text"/>
  <Rating name='stars' toName='text' maxRating="5"/><Pairwise name="better" toName="a,b"/><Taxonomy name="tree" toName="text"/>
</View>"""


def test_the_questions_of_a_configuration():
    assert [(one.name, one.to_name, one.kind) for one in controls_of(CONFIG)] == [
        ("tone", "text", "choices"), ("stars", "text", "rating"), ("better", "a,b", "selected"), ("tree", "text", "taxonomy"),
    ]  # fmt: skip
    assert controls_of("<View>") == controls_of("no <xml") == []


@pytest.mark.parametrize(
    ("kind", "label"),
    [("choices", "a"), ("rating", "4"), ("number", "2.5"), ("taxonomy", "animal / cat"), ("selected", "left")],
)
def test_an_answer_of_every_kind_is_read_back(tmp_path, kind, label):
    said = {"completed_by": "ann", "result": Control("q", "text", kind).answer(label)}
    other = {"completed_by": "bob", "result": Control("q", "text", kind).answer("1 / 2" if kind == "taxonomy" else "1")}
    path = write(tmp_path / "export.json", json.dumps([task(1, said, other)]))
    assert ("1", "ann", label) in rows_of(read_labels(path))
