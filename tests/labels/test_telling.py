"""Several columns that make the item, and guessed items that cannot be right."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from crowdassay.errors import ColumnError
from crowdassay.labels import telling
from crowdassay.labels.files import read_labels, read_truth
from crowdassay.labels.frames import as_labels
from crowdassay.labels.ingest import as_parquet, spool_files
from crowdassay.labels.truth import match_truth
from crowdassay.read_options import ReadOptions
from support.exports import rows_of

ROWS = [
    {"question_id": f"q{q}", "model": model, "judge": f"j{j}", "score": (q + j * len(model)) % 3, "remark": f"{q}{model}{j}"}
    for q in range(4)
    for model in ("gpt", "llama", "o|1")
    for j in range(3)
]
TOGETHER = "question_id,model"


def write(rows, path):
    table = pa.Table.from_pylist(rows)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        pa_csv.write_csv(table, path)
    return path


def spooled(path, tmp_path, **options):
    folder = tmp_path / f"spool{len(list(tmp_path.glob('spool*')))}"
    folder.mkdir()
    gold = options.pop("gold", None)
    found = spool_files([path], folder, ReadOptions.of(options), memory=10**9, threads=1, gold=gold)
    return found.block(0, ids=True), found


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".json", ".parquet"])
def test_several_columns_make_the_item_in_every_kind_of_file(tmp_path, suffix):
    path = write(ROWS, tmp_path / f"a{suffix}")
    wanted = sorted(
        (f"{row['question_id']} | {row['model'].replace('|', '||')}", row["judge"], str(row["score"])) for row in ROWS
    )
    for item in (TOGETHER, "question_id, model", ["question_id", "model"]):
        labels = read_labels(path, item_column=item)
        assert sorted((i, w, str(x)) for i, w, x in rows_of(labels)) == wanted
        assert labels.report.columns["item"] == TOGETHER
    block, _ = spooled(path, tmp_path, item_column=TOGETHER)
    assert sorted((i, w, str(x)) for i, w, x in rows_of(block)) == wanted
    (tmp_path / "spark").mkdir()
    made, columns = as_parquet([path], tmp_path / "spark", ReadOptions.of({"item_column": TOGETHER}))
    assert columns["item"] == TOGETHER
    assert sorted(pq.read_table(made[0])[TOGETHER].to_pylist()) == sorted(item for item, *_ in wanted)


def test_several_columns_of_a_frame_make_the_item_and_the_truth_is_told_by_the_same(tmp_path):
    labels = as_labels(pd.DataFrame(ROWS), item_column=["question_id", "model"])
    assert (labels.n_items, labels.report.repeats) == (12, 0)
    truth = [{"question_id": "q1", "model": "o|1", "truth": 1}, {"question_id": "q0", "model": "gpt", "truth": 2}]
    path = write(truth, tmp_path / "truth.csv")
    for known in (path, pd.DataFrame(truth), {"q1 | o||1": 1, "q0 | gpt": 2}):
        codes, counts = match_truth(labels, known)
        assert counts == {"items": 2, "unknown_items": 0}
        assert codes[labels.items.index("q1 | o||1").as_py()] == 1
    assert read_truth(path, item_column=["question_id", "model"])["item"].to_pylist() == ["q1 | o||1", "q0 | gpt"]
    _, spool = spooled(write(ROWS, tmp_path / "a.csv"), tmp_path, item_column=TOGETHER, gold=path)
    assert spool.n_gold == 2


def test_several_columns_make_the_worker_who_is_numbered_anew_in_each_session(tmp_path):
    """Votes: people are numbered from one in every talk, so that a number alone joined different people."""
    talks = [
        {"talk_id": t, "said_id": s, "pid": p, "vote": (t + s * p) % 2} for t in range(3) for s in range(4) for p in range(5)
    ]
    path = write(talks, tmp_path / "votes.csv")
    with pytest.raises(ColumnError, match=r"\(or `worker_column` 'talk_id,pid' if 'pid' is numbered anew in each 'talk_id'\)"):
        read_labels(path)
    options = {"item_column": "talk_id,said_id", "worker_column": "talk_id,pid", "label_column": "vote"}
    labels = read_labels(path, **options)
    assert (labels.n_items, labels.n_workers, labels.report.columns["worker"]) == (12, 15, "talk_id,pid")
    assert [(i, w, str(x)) for i, w, x in rows_of(as_labels(pd.DataFrame(talks), **options))] == rows_of(labels)
    assert sorted(rows_of(spooled(path, tmp_path, **options)[0])) == sorted(rows_of(labels))
    with pytest.raises(ColumnError, match="cannot be both the item and the worker"):
        read_labels(path, item_column="said_id", worker_column="said_id,pid", label_column="vote")


def test_the_same_text_parted_differently_is_not_the_same_item():
    frame = pa.table({"a": ["x | y", "x"], "b": ["z", "y | z"], "worker": ["u", "v"], "label": [0, 1]})
    assert as_labels(frame, item_column="a,b").n_items == 2


def test_a_row_without_one_of_the_columns_has_no_item():
    frame = pa.table({"a": ["x", "x", None], "b": [1.0, 2.5, 3.0], "worker": ["u"] * 3, "label": [0, 1, 1]})
    labels = as_labels(frame, item_column=("a", "b"))
    assert (labels.items.to_pylist(), labels.report.dropped) == (["x | 1", "x | 2.5"], {"missing item": 1})


def test_a_column_whose_name_holds_a_comma_is_one_column(tmp_path):
    frame = pa.table({"a,b": ["x", "y"], "a": [1, 1], "b": [2, 2], "worker": ["u", "v"], "label": [0, 1]})
    assert as_labels(frame, item_column="a,b").items.to_pylist() == ["x", "y"]
    assert as_labels(frame, item_column=["a", "a,b"]).items.to_pylist() == ["1 | x", "1 | y"]
    with pytest.raises(ColumnError, match="There is no column 'c' for the item"):
        as_labels(frame, item_column="a,c")
    with pytest.raises(ColumnError, match="named twice"):
        as_labels(frame, item_column="a,a")
    with pytest.raises(ColumnError, match="cannot be both the item and the worker"):
        as_labels(frame, item_column="a,worker", worker_column="worker")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_guessed_item_that_makes_most_labels_repeats_stops_with_the_columns_that_read_the_file_right(tmp_path, suffix):
    path = write(ROWS, tmp_path / f"a{suffix}")
    reads = [lambda **more: read_labels(path, **more), lambda **more: spooled(path, tmp_path, **more)[0]]
    for read in (*reads, lambda **more: as_labels(pd.DataFrame(ROWS), **more)):
        with pytest.raises(ColumnError, match=r"more than half of the labels \(24 of 36\)") as stop:
            read()
        assert f"`item_column` '{TOGETHER}'" in str(stop.value)
        assert "`item_column` 'question_id'" in str(stop.value)
        assert read(item_column=TOGETHER).n_items == 12
        assert read(item_column="question_id").report.repeats == 24


def test_two_turns_of_each_question_are_half_repeats_and_stop():
    rows = [
        {"question_id": q, "turn": t, "judge": w, "score": (q + t * w) % 3} for q in range(4) for t in (1, 2) for w in (1, 2)
    ]
    with pytest.raises(ColumnError, match=r"half of the labels \(8 of 16\).*`item_column` 'question_id,turn'"):
        as_labels(pd.DataFrame(rows))


def test_one_column_that_tells_items_is_proposed_alone_and_a_number_for_each_row_never():
    rows = [
        {"row": n, "task": "mail", "mail": n // 3, "worker": n % 3, "label": n % 2, "time": f"2024-01-{n + 1:02}"}
        for n in range(12)
    ]
    with pytest.raises(ColumnError, match=r"`item_column` 'mail'\."):
        as_labels(pd.DataFrame(rows))
    alone = [{name: row[name] for name in ("row", "task", "worker", "label")} for row in rows]
    with pytest.raises(ColumnError, match="name the columns that tell items apart"):
        as_labels(pd.DataFrame(alone))


def test_labels_that_are_mostly_repeats_are_noted_where_no_other_column_could_tell_the_items():
    frame = pd.DataFrame([{"item": 1, "worker": "u", "label": n % 2} for n in range(5)])
    with pytest.warns(UserWarning, match="More than half of the labels repeat"):
        assert as_labels(frame).report.repeats == 4
    assert as_labels((frame["item"], frame["worker"], frame["label"])).n_labels == 5


def test_what_is_proposed_can_be_said_however_long_the_names_are():
    rows = [
        {
            "question_id": row["question_id"],
            f"model that was asked, {'long ' * 12}": row["model"],
            "judge": row["judge"],
            "score": row["score"],
        }
        for row in ROWS
    ]
    with pytest.raises(ColumnError) as stop:
        as_labels(pd.DataFrame(rows))
    proposed = str(stop.value).split(", say `item_column` '")[1].split("'. If")[0]
    assert as_labels(pd.DataFrame(rows), item_column=proposed).n_items == 12


def test_just_half_is_said_to_be_half_where_the_item_was_named():
    rows = [{"q": q, "turn": t, "judge": w, "label": (q + t * w) % 3} for q in range(4) for t in (1, 2) for w in (1, 2)]
    with pytest.warns(UserWarning, match="Half of the labels repeat"):
        notes = as_labels(pd.DataFrame(rows), item_column="q").report.notes
    assert notes[0].endswith("with --item-column 'q,turn'.")


def test_for_a_note_no_three_columns_are_tried_and_the_first_rows_tell_most_that_repeat(monkeypatch):
    rows = [
        {"item": n % 9, "worker": 0, "label": n % 2, "a": n // 900, "b": n // 30 % 30, "c": n % 30, "d": n % 7}
        for n in range(9000)
    ]
    sizes, unique = [], np.unique
    monkeypatch.setattr(telling.np, "unique", lambda values, **more: sizes.append(len(values)) or unique(values, **more))
    table = pa.Table.from_pylist(rows)
    assert telling.telling_columns(table, None, "worker", "label", 2) == []
    assert max(sizes) <= telling.FIRST_TRIED
    assert telling.telling_columns(table, None, "worker", "label") == [["a", "b", "c"]]
    notes = telling.check_repeats(8991, 9000, {"item": "item", "worker": "worker", "label": "label"}, lambda: table, named=True)
    assert "No worker labels an item twice" not in notes[0]


def finer(**more):
    rows = [
        {
            "worker": f"w{w}",
            "video": f"v{n // 2 if n < 4 else n}",
            "label": (n + w) % 2,
            **{k: make(w, n) for k, make in more.items()},
        }
        for w in range(3)
        for n in range(8)
    ]
    return pd.DataFrame(rows)


def test_a_finer_column_that_is_called_like_an_item_is_asked_for_where_some_labels_repeat(tmp_path):
    for name, make in (
        ("event_id", lambda w, n: f"e{n}"),
        ("event_id", lambda w, n: f"e{w}.{n}"),
        ("picture_file", lambda w, n: n),
        ("shown", lambda w, n: f"f{n}.jpg"),
    ):
        frame = finer(**{name: make}).rename(columns={"video": "object"})
        words = rf"'object', 6 of 24 labels repeat .* by '{name}', none does\..*say `item_column` '{name}'\. If workers did"
        with pytest.raises(ColumnError, match=words):
            as_labels(frame)
        assert as_labels(frame, item_column=name).report.repeats == 0
        assert as_labels(frame, item_column="object").report.repeats == 6
        frame.to_csv(tmp_path / "a.csv", index=False)
        with pytest.raises(ColumnError, match=words):
            spooled(tmp_path / "a.csv", tmp_path)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("trial_id", lambda w, n: (n + w) % 8),  # counts a worker's rows: other items at the same number
        ("row_id", lambda w, n: 8 * w + n),
        ("click_id", lambda w, n: 8 * w + n),
        ("rating_id", lambda w, n: f"r{w}.{n}"),
        ("task_run_id", lambda w, n: f"r{w}.{n}"),
        ("id", lambda w, n: f"r{w}.{n}"),
        ("remark", lambda w, n: f"r{n}"),
        ("event_id", lambda w, n: f"e{n // 2}"),  # makes repeats as well
    ],
)
def test_no_number_of_rows_and_no_name_of_labels_is_asked_for(name, make):
    frame = finer(**{name: make}).rename(columns={"video": "object"})
    assert as_labels(frame, item_column="object").report.repeats == 6
    assert as_labels(frame).report.columns["item"] == "object"


def test_a_worker_asked_again_now_and_then_is_no_reason_to_ask():
    frame = pd.DataFrame([{"worker": w, "item": n, "event_id": f"e{n}", "label": n % 2} for w in "ab" for n in range(20)])
    frame.loc[0, "item"] = 1
    assert as_labels(frame).report.repeats == 1


def test_where_most_labels_repeat_a_column_that_nobody_shares_may_tell_items():
    rows = [{"worker": w, "video_id": n % 3, "event_id": f"{w}{n}", "label": n % 2} for w in "ab" for n in range(12)]
    with pytest.raises(ColumnError, match="told by 'event_id', none does"):
        as_labels(pd.DataFrame(rows).rename(columns={"video_id": "task"}))


def test_an_item_whose_number_comes_in_several_datasets_is_noted(tmp_path):
    rows = [
        {"dataset": d, "item": n, "worker": f"{d}{w}", "label": (n + w) % 2} for d in "pq" for n in range(4) for w in range(2)
    ]
    path = write(rows, tmp_path / "a.csv")
    said = "Rows of one 'item' are of several 'dataset'; if each numbers items of its own, say --item-column 'item,dataset'."
    assert said in read_labels(path).report.notes
    assert said in spooled(path, tmp_path)[1].report.notes
    assert read_labels(path, item_column="item,dataset").report.notes == ()
    alone = [{"item": row["question_id"] + row["model"], "batch": row["judge"], **row} for row in ROWS]  # each has a batch
    assert "Rows of one" not in " ".join(read_labels(write(alone, tmp_path / "b.csv"), item_column="item").report.notes)


def test_a_dataset_that_is_an_object_is_no_reason_to_stop(tmp_path):
    rows = [{"dataset": {"name": "d"}, "item": n, "worker": w, "label": n % 2} for w in "uv" for n in range(4)]
    for suffix in (".jsonl", ".json", ".parquet"):
        assert read_labels(write(rows, tmp_path / f"a{suffix}")).n_labels == 8


def test_the_dataset_is_proposed_with_the_item_that_it_parts(tmp_path):
    rows = [
        {"dataset": d, "number": n, "worker": f"{d}{w}", "label": (n + w) % 2} for d in "pq" for n in range(4) for w in range(2)
    ]
    with pytest.raises(
        ColumnError, match="If 'number' and 'dataset' tell what was labelled, say `item_column` 'number,dataset'"
    ):
        read_labels(write(rows, tmp_path / "a.csv"))


def test_the_columns_that_tell_items_are_named_where_every_worker_has_a_file(tmp_path):
    rows = [{"message_id": n // 4, "activity": "abcd"[n % 4], "label": n % 3 % 2} for n in range(24)]
    for names in (["ann.csv"], ["ann.csv", "bob.csv"]):
        paths = [write(rows, tmp_path / name) for name in names]
        with pytest.raises(ColumnError, match=r"told by 'message_id' and 'activity' together, none does\..*say `item_column` "):
            read_labels(paths, worker_from_filename=True)
