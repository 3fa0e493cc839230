"""Recognition, and everything around it that no single tool owns."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdassay.errors import ColumnError, CrowdassayError, DataError, FileError, ParameterError
from crowdassay.labels.files import read_labels
from crowdassay.labels.formats.registry import EXPORT_FORMATS, recognise
from crowdassay.labels.probe import Probe
from crowdassay.read_options import ReadOptions
from support import exports

ROWS = [("i1", "ann", "warm"), ("i1", "bob", "cold"), ("i2", "ann", "cold")]


def refusal(call):
    """Return what an error of ours says; any other is a failure of the test."""
    try:
        call()
    except CrowdassayError as error:
        return str(error)
    return ""


def test_an_unknown_tool_lists_the_known_ones(tmp_path):
    with pytest.raises(ParameterError, match=r"no format 'excel'; choose one of plain, label-studio, .*wide, .*nltk, cleanlab"):
        read_labels(tmp_path / "gone.csv", format="excel")


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_a_file_of_the_wrong_kind_is_one_sentence(tmp_path, name):
    for path in (
        exports.write(tmp_path / "a.csv", "item,worker,label\n1,a,x\n1,b,y\n"),
        exports.write(tmp_path / "a.json", '[{"item": 1, "worker": "a", "label": "x"}]'),
        exports.write(tmp_path / "a.parquet", "PAR1"),
    ):
        assert "\n" not in refusal(lambda path=path: read_labels(path, format=name, question="label", classes=["x", "y"]))
    with pytest.raises(FileError, match=r"There is no file"):
        read_labels(tmp_path / "gone.json", format=name)


LOADED = """
import sys
from crowdassay.labels.files import read_labels
print(read_labels(sys.argv[1]).report.format)
print(*sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("crowdassay.labels.formats.")))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "form", "modules"),
    [
        ("a.csv", "item,worker,label\n1,a,x\n1,b,y\n", "plain", set()),
        ("a.tsv", "Image ID\tAnnotator\tAnswer\tComment\n1\ta\tx\tgood\n1\tb\ty\tbad\n", "plain", set()),
        ("a.jsonl", '{"item": 1, "worker": "a", "label": "x"}\n{"item": 1, "worker": "b", "label": "y"}\n', "plain", set()),
        (
            "a.tsv",
            "INPUT:image\tOUTPUT:result\tASSIGNMENT:worker_id\n1\tx\ta\n1\ty\tb\n",
            "toloka",
            {"crowd_platforms"},
        ),
    ],
)
def test_a_module_is_loaded_only_where_its_mark_fits(tmp_path, name, text, form, modules):
    path = exports.write(tmp_path / name, text)
    done = subprocess.run([sys.executable, "-c", LOADED, path], capture_output=True, text=True, check=True)
    found, loaded = done.stdout.splitlines()
    assert found == form
    assert set(loaded.split()) == {"foreign", "marks", "parse", "record", "registry"} | modules


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_every_format_names_functions_that_exist(name):
    form = EXPORT_FORMATS[name]
    assert callable(form.load("read"))
    assert not form.confirmed or not form.marks or callable(form.load("recognise"))
    assert all(kind in {"records", "delimited", "zip", "folder", "parquet", "array"} for kind in form.kinds)


def test_plain_overrides_recognition(tmp_path):
    path = exports.toloka(ROWS, tmp_path)
    with pytest.raises(ColumnError):
        read_labels(path, format="plain")


def test_what_matches_nothing_is_read_plain_and_told_of_the_option(tmp_path):
    for name, text in {"a.csv": "a,b,c\n1,2,3\n", "a.jsonl": '{"a": 1}\n'}.items():
        with pytest.raises(ColumnError, match=r"`format`\.$"):
            read_labels(exports.write(tmp_path / name, text))


def test_a_plain_file_may_look_a_little_like_an_export(tmp_path):
    texts = {
        "a.jsonl": '{"id": 5, "item_id": 1, "text": "t", "label": ["x"], "worker_id": "a"}\n'
        '{"id": 6, "item_id": 1, "text": "t", "label": ["y"], "worker_id": "b"}\n',
        "a.csv": ",Item,rater,answer\n0,1,1,0\n1,1,2,1\n",
    }
    for name, text in texts.items():
        labels = read_labels(exports.write(tmp_path / name, text))
        assert (labels.report.format, labels.n_labels, labels.n_items) == ("plain", 2, 1)


def test_a_folder_of_this_and_that_is_no_export(tmp_path, monkeypatch):
    exports.label_studio(ROWS, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert read_labels(".").report.source == tmp_path.name
    exports.toloka(ROWS, tmp_path)
    exports.write(tmp_path / "z.csv", "a,b\n")
    with pytest.raises(
        DataError, match=r"not of one kind: 'assignments\.tsv' is read as toloka, 'export\.json' as label-studio"
    ):
        read_labels(tmp_path)


def test_a_misspelt_column_is_not_told_of_the_option(tmp_path):
    with pytest.raises(ColumnError, match=r"did you mean 'worker'") as error:
        read_labels(exports.write(tmp_path / "a.csv", "item,worker,label\n1,a,x\n"), worker_column="wroker")
    assert "--from" not in error.value.message


@pytest.mark.parametrize("option", [{"question": "x"}, {"predictions": True}, {"use_gold": True}])
def test_options_of_exports_are_refused_for_plain_files(tmp_path, option):
    path = exports.write(tmp_path / "a.csv", "item,worker,label\n1,a,x\n1,b,y\n")
    with pytest.raises(ParameterError, match=r"plain table.*`format`"):
        read_labels(path, **option)


def test_columns_are_refused_where_the_tool_is_named(tmp_path):
    with pytest.raises(ParameterError, match=r"`worker_column` goes with plain tables"):
        read_labels(exports.toloka(ROWS, tmp_path), format="toloka", worker_column="ASSIGNMENT:worker_id")


@pytest.mark.parametrize("write", [exports.label_studio, exports.prodigy, exports.toloka, exports.mturk])
def test_gzip_and_bom(tmp_path, write):
    path = write(ROWS, tmp_path)
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + path.read_bytes()))
    assert exports.rows_of(read_labels(packed)) == ROWS


def test_a_cut_off_export_says_where(tmp_path):
    path = exports.label_studio(ROWS, tmp_path)
    path.write_text(path.read_text()[:-30])
    with pytest.raises(DataError, match=r"'export\.json'"):
        read_labels(path)
    path = exports.prodigy(ROWS, tmp_path)
    path.write_text(path.read_text()[:-30])
    with pytest.raises(DataError, match=r"Line 3 of 'dump.jsonl' is not valid JSON"):
        read_labels(path)


def test_a_first_record_longer_than_the_first_look(tmp_path):
    tasks = json.loads(exports.label_studio(ROWS, tmp_path).read_text())
    tasks[0]["data"]["text"] = "x" * (1 << 19)
    assert read_labels(exports.write(tmp_path / "a.json", json.dumps(tasks))).report.format == "label-studio"


@pytest.mark.parametrize("text", [r'"\ud800"', '"a\\u0000"'])
def test_texts_that_are_no_text(tmp_path, text):
    path = exports.label_studio(ROWS, tmp_path)
    path.write_text(path.read_text().replace('"ann"', text))
    with pytest.raises(DataError, match=r"surrogate|NUL"):
        read_labels(path)


def test_lists_where_ids_belong_are_a_sentence(tmp_path):
    records = [{"id": 1, "annotator_id": [], "label": "x", "row_id": {}}, {"id": 2, "annotator_id": "a", "label": "y"}]
    assert "\n" not in refusal(lambda: read_labels(exports.write(tmp_path / "a.json", json.dumps(records))))


def test_numbers_keep_their_digits(tmp_path):
    path = exports.write(
        tmp_path / "a.json", json.dumps([exports.task(10**30, *(exports.annotation(n, [n]) for n in (1, 2.50)))])
    )
    labels = read_labels(path)
    assert labels.items.to_pylist() == [str(10**30)]
    assert labels.workers.to_pylist() == ["1", "2.5"]


def test_when_everything_was_left_out_the_reasons_are_said(tmp_path):
    path = exports.write(tmp_path / "a.json", json.dumps([exports.task(1, exports.annotation("a", ["x", "y"]))]))
    with pytest.raises(DataError, match=r"every judgement was left out \(more than one choice: 1\)"):
        read_labels(path, allow_drops=True)


FIELDS = (
    "id", "data", "annotations", "completions", "result", "completed_by", "value", "choices", "taxonomy", "from_name",
    "was_cancelled", "predictions", "task", "drafts", "answer", "answers", "accept", "options", "_input_hash",
    "_annotator_id", "meta", "text", "label", "labels", "cats", "username", "user", "fields", "responses",
    "suggestions", "tone.responses", "tone.responses.users", "tone.responses.status", "tone.suggestion", "user_id",
    "data_row", "projects", "label_details", "created_by", "classifications", "name", "radio_answer",
    "checklist_answers", "performance_details", "workerId", "answerContent", "annotationData", "content", "source",
    "annotationsFromAllWorkers", "source-ref", "job-metadata", "annotator", "annotation_id", "lead_time",
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2).map(str) | st.sampled_from(["", "a", "x#y", "{}", '{"choices": ["a"]}']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6),
    max_leaves=12,
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_recognition_never_fails(value):
    for kind in ("records", "zip"):
        refusal(lambda kind=kind: recognise(Probe(path=Path("a.json"), kind=kind, first=value, names=["a.json"])))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.lists(VALUES, min_size=1, max_size=3),
    st.sampled_from([name for name, form in EXPORT_FORMATS.items() if "records" in form.kinds]),
)
def test_odd_json_is_a_sentence_never_a_traceback(tmp_path_factory, values, name):
    path = exports.write(tmp_path_factory.getbasetemp() / "odd.json", json.dumps(values))
    seen = Probe(path, "records", first=values[0])
    assert "\n" not in refusal(lambda: EXPORT_FORMATS[name].load("read")(seen, ReadOptions()))


def places(value, path=()):
    """List the way to every value inside a JSON value."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield from places(part, (*path, key))


WRITERS = {
    "label-studio": [exports.label_studio, exports.label_studio_min],
    "prodigy": [exports.prodigy],
    "argilla": [exports.argilla, exports.argilla_flat],
    "labelbox": [exports.labelbox],
    "sagemaker": [exports.sagemaker_manifest],
    "nltk": [exports.triples],
}


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from([(name, write) for name, writers in WRITERS.items() for write in writers]))
def test_an_export_with_one_odd_value_is_a_sentence_never_a_traceback(tmp_path_factory, data, case):
    name, write = case
    path = write(ROWS, tmp_path_factory.getbasetemp())
    text = path.read_text()
    records = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
    *way, last = data.draw(st.sampled_from([place for place in places(records) if place]))
    inner = records
    for key in way:
        inner = inner[key]
    inner[last] = data.draw(VALUES)
    odd = exports.write(tmp_path_factory.getbasetemp() / "odd.json", json.dumps(records))
    assert "\n" not in refusal(lambda: read_labels(odd, format=name, classes=["warm", "cold"]))
    assert "\n" not in refusal(lambda: read_labels(odd))


def test_files_named_after_workers_are_heeded_or_refused(tmp_path):
    path = exports.toloka(ROWS, tmp_path)
    assert read_labels(path, worker_from_filename=True).workers.to_pylist() == [path.stem]
    with pytest.raises(ParameterError, match=r"wide exports says who.*leave out `worker_from_filename=True`"):
        read_labels(exports.wide(ROWS, tmp_path), format="wide", worker_from_filename=True)


IBEX_WHO = ("86d6461549817075744adbcbb74e7bb6", "00556d872a450879cc67145119312a4d")


def ibex_rows(who, *answers, controller="AcceptabilityJudgment", kind="neut8"):
    """Return the rows of what was shown and answered, as Ibex writes them."""
    start = [f"1498778944,{who},{controller},{n},0,{kind},{n}" for n, _ in answers]
    said = [
        f"{row},She stamped it%2C twice.\n{row},How is it?,{answer},NULL,4700"
        for row, (_, answer) in zip(start, answers, strict=True)
    ]
    return [f"1498778944,{who},Form,1,0,intro,NULL,age,18", *"\n".join(said).split("\n")]


@pytest.mark.parametrize("comments", ["", "# Results on Thursday, June 29 2017\n# USER AGENT: Mozilla/5.0\n"])
def test_results_of_ibex_are_read_by_their_rows_of_answers(tmp_path, comments):
    rows = [row for who in IBEX_WHO for row in ibex_rows(who, (27, "Neutral"), (31, "Good%2C yes"), (32, "NULL"))]
    rows += ibex_rows(IBEX_WHO[0], (2, "Neutral"), kind="practice-1")
    rows += [f"1498778944,{IBEX_WHO[0]},DashedSentence,27,1,neut8,8,1,The,352,False,The frog sat."]
    path = tmp_path / "results.txt"
    path.write_text(comments + "".join(f"{row}\n" for row in rows))
    labels = read_labels(path)
    assert (labels.report.format, labels.report.question) == ("ibex", "AcceptabilityJudgment")
    assert exports.rows_of(labels) == [
        (item, who, label) for item, label in (("27", "Neutral"), ("31", "Good, yes")) for who in sorted(IBEX_WHO)
    ]
    assert labels.report.dropped == {"practice": 1, "no answer": 2}
    assert labels.item_text.to_pylist()[0] == "She stamped it, twice."
    path.write_text("\n".join([*rows, *ibex_rows(IBEX_WHO[0], (27, "yes"), controller="Question")]))
    with pytest.raises(ParameterError, match=r"\('AcceptabilityJudgment', 'Question'\)"):
        read_labels(path)
    answers = [row for row in rows if row.endswith("4700") and "practice" not in row]
    path.write_text("\n".join(answers))  # which is a table by itself
    assert read_labels(path).n_labels == 4
    columns = {"no_header": True, "item_column": "4", "worker_column": "2", "label_column": "9"}
    with pytest.raises(DataError, match="Some labels are 'NULL', by which tables mean that nobody answered"):
        read_labels(path, **columns)
    labels = read_labels(path, **columns, classes=["Neutral", "Good%2C yes", "NULL"])
    assert (labels.n_labels, labels.n_items) == (6, 3)


def test_results_of_pcibex_are_refused_with_the_columns_to_name(tmp_path):
    rows = [
        f"1621001000,{who},PennController,{n},0,trial,NULL,{row}"
        for who in IBEX_WHO
        for n in (7, 9)
        for row in (f"Scale,rate,Choice,{n % 3},1621001002,NULL", "PennController,9,_Trial_,Start,1621001002,NULL")
    ]
    path = tmp_path / "results.csv"
    path.write_text("# 1. Results reception time.\n" + "\n".join(rows))
    with pytest.raises(
        DataError, match=r"results of PCIbex, .*keep the rows .* `item_column` 4 `worker_column` 2 `label_column` 11"
    ):
        read_labels(path)
    path.write_text("\n".join(row for row in rows if ",Choice," in row))
    labels = read_labels(path, no_header=True, item_column="4", worker_column="2", label_column="11")
    assert (labels.n_labels, labels.n_items, labels.class_names) == (4, 2, ("0", "1"))
