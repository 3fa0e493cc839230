"""Which columns of a wide table are workers': what is not is said, what is in doubt is asked, and proposals read the file."""

from __future__ import annotations

import json
import random
from collections import Counter

import pandas as pd
import pytest

from crowdassay.errors import ColumnError, CrowdassayError, DataError
from crowdassay.labels.files import read_labels
from crowdassay.labels.formats import wide_columns
from crowdassay.labels.formats.stems import questions_of_workers
from crowdassay.labels.formats.wide_columns import is_asking
from crowdassay.labels.frames import as_labels

JUSTICES = [f"justice_{name}" for name in ("roberts", "thomas", "alito", "kagan", "gorsuch")]


def table(n_rows=40, **columns):
    """Draw a table: lists are drawn from and agree a little, a text is numbered by row, a number counts rows under one name."""
    draw = random.Random(1)
    shared = [draw.randrange(60) for _ in range(n_rows)]
    rows = {name: list(values) for name, values in columns.items() if isinstance(values, list)}
    made = {
        name: [draw.choice(rows[name]) if draw.random() < 0.6 else rows[name][n % len(rows[name])] for n in shared]
        if name in rows
        else [f"{values}{n}" if isinstance(values, str) else n // values for n in range(n_rows)]
        for name, values in columns.items()
    }
    return pd.DataFrame(made)


def written(tmp_path, frame, name="a.csv"):
    path = tmp_path / name
    frame.to_csv(path, index=False)
    return path


def votes(*names, values=("aye", "no")):
    return {name: list(values) for name in names}


def test_columns_whose_values_are_other_than_the_raters_are_no_workers(tmp_path):
    frame = table(case="c", term=[2010, 2011], decision=["affirmed", "reversed"], **votes(*JUSTICES))
    path = written(tmp_path, frame)
    with pytest.raises(ColumnError, match=f"If '{JUSTICES[0]}', .* are workers who answer one question, say `format='wide'`"):
        read_labels(path)
    labels = read_labels(path, format="wide")
    assert labels.workers.to_pylist() == JUSTICES
    assert labels.report.columns["item"] == "case"
    assert labels.report.notes[0].startswith("Not taken as workers: the columns 'term', 'decision';")
    held = as_labels(frame.set_index("case"), format="wide")
    assert held.workers.to_pylist() == JUSTICES
    models = table(prompt="p", model_a=["x", "y", "z"], model_b=["x", "y", "z"], **votes("ann", "bob", "cy"))
    assert read_labels(written(tmp_path, models), format="wide").workers.to_pylist() == ["ann", "bob", "cy"]


def test_columns_that_agree_no_more_than_by_chance_are_not_proposed_as_workers(tmp_path):
    draw = random.Random(5)
    names = ["runs", "phd", "rng", "prep", "hunch"]
    coded = pd.DataFrame(
        {"case": [f"c{n}" for n in range(40)], **{name: [draw.choice("01") for _ in range(40)] for name in names}}
    )
    with pytest.raises(ColumnError, match="looks like an item, worker or label column") as stop:
        read_labels(written(tmp_path, coded))
    assert "are workers" not in str(stop.value)
    assert read_labels(written(tmp_path, coded), format="wide").n_workers == 5
    few = written(tmp_path, coded.head(12))  # too few to tell
    with pytest.raises(ColumnError, match=r"If 'runs', .* are workers who answer one question"):
        read_labels(few)
    graded = {name: [min(9, n % 8 + draw.randrange(3)) for n in range(40)] for name in names}  # alike in order, not in values
    with pytest.raises(ColumnError, match=r"If 'runs', .* are workers who answer one question"):
        read_labels(written(tmp_path, coded.assign(**graded)))


def test_several_columns_make_the_item_of_a_wide_table(tmp_path):
    path = written(tmp_path, table(doc=2, turn=["1", "2"], **votes("ann", "bob", "cy")).assign(turn=[n % 2 for n in range(40)]))
    labels = read_labels(path, item_column="doc,turn", worker_columns="ann,bob,cy")
    assert (labels.n_items, labels.report.columns["item"], labels.items[1].as_py()) == (40, "doc,turn", "0 | 1")
    held = as_labels(pd.read_csv(path), item_column=["doc", "turn"], worker_columns="ann,bob,cy")
    assert held.items.to_pylist() == labels.items.to_pylist()
    with pytest.raises(ColumnError, match="There is no column 'trun' for the item"):
        read_labels(path, item_column="doc,trun", worker_columns="ann,bob,cy")


def test_columns_without_a_header_are_named_by_their_number(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("".join(f"d{n},{n % 2},{n % 3 > 0:d},x{n}\n" for n in range(12)))
    labels = read_labels(path, no_header=True, item_column="1", worker_columns="2,3")
    assert (labels.n_items, labels.workers.to_pylist()) == (12, ["2", "3"])
    with pytest.raises(ColumnError, match="No column is named 'nonsense'; the columns are '1', '2'"):
        read_labels(path, no_header=True, worker_columns="nonsense")


def test_a_result_beside_raters_who_are_named_alike_is_asked_about(tmp_path):
    path = written(tmp_path, table(case="c", winner=["aye", "no"], **votes(*JUSTICES)))
    for options in ({}, {"format": "wide"}):
        with pytest.raises(ColumnError, match=r"`worker_columns` 'justice_\*'"):
            read_labels(path, **options)
    labels = read_labels(path, worker_columns="justice_*")
    assert (labels.n_workers, labels.n_labels) == (5, 200)


def test_two_sets_of_columns_are_asked_about(tmp_path):
    alike = table(id="i", label_a=["1", "2"], label_b=["1", "2"], sure_a=["1", "2"], sure_b=["1", "2"])
    other = table(id="i", label_a=["x", "y"], label_b=["x", "y"], sure_a=["1", "2"], sure_b=["1", "2"])
    for frame in (alike, other):
        path = written(tmp_path, frame)
        with pytest.raises(ColumnError, match=r"such as `worker_columns` 'label_\*'"):
            read_labels(path, format="wide")
        assert read_labels(path, worker_columns="label_*").n_workers == 2


def test_an_adjudicated_column_is_offered_as_truth(tmp_path):
    path = written(tmp_path, table(id="i", **votes("ann", "bob", "cy", "adjudicated")))
    labels = read_labels(path, format="wide")
    assert (labels.n_workers, labels.report.gold) == (3, 40)
    assert "The column 'adjudicated' was taken for what was decided in the end, as gold." in labels.report.notes
    assert (read_labels(path, format="wide", use_gold=True).gold >= 0).all()
    made = written(tmp_path, table(id="i", **votes("ann", "bob", "cy", "majority")))
    assert read_labels(made, format="wide").report.gold == 0


def decided(share=0.95, names=("원익", "수민", "유정", "결론"), n_rows=60):
    draw = random.Random(3)
    truth = [draw.choice("abcd") for _ in range(n_rows)]
    said = {name: [t if draw.random() < 0.6 else draw.choice("abcd") for t in truth] for name in names[:-1]}
    most = [max("abcd", key=list(row).count) for row in zip(*said.values(), strict=True)]
    last = [m if draw.random() < share else draw.choice("abcd") for m in most]
    return pd.DataFrame({"num": range(n_rows), **said, names[-1]: last})


def test_a_last_column_that_says_what_most_others_say_is_what_was_decided_in_any_language(tmp_path):
    labels = read_labels(written(tmp_path, decided()), format="wide")
    assert (labels.n_workers, labels.report.gold) == (3, 60)
    assert any("'결론' was taken for what was decided" in note for note in labels.report.notes)
    assert read_labels(tmp_path / "a.csv", worker_columns="원익,수민,유정,결론").n_workers == 4
    assert read_labels(written(tmp_path, decided(0.3)), format="wide").n_workers == 4
    numbered = decided(names=("rater1", "rater2", "rater3", "rater4"))
    assert read_labels(written(tmp_path, numbered)).n_workers == 4


@pytest.mark.parametrize("name", ["vote", "rater"])
def test_numbers_that_are_high_where_others_are_low_are_counts_of_votes_or_noted(tmp_path, name):
    draw = random.Random(2)
    first = [draw.randrange(6) for _ in range(30)]
    second, third = [max(0, 5 - n - draw.randrange(3)) for n in first], [n % 2 for n in range(30)]
    columns = {f"{name}{n}": column for n, column in enumerate([first, second, third], 1)}
    frame = pd.DataFrame({"sentence": [f"s{n}" for n in range(30)], **columns})
    if name == "vote":
        with pytest.raises(
            ColumnError, match="In 'vote1', 'vote2', 'vote3' numbers are high where others are low: they count vo"
        ):
            read_labels(written(tmp_path, frame))
    else:
        notes = " ".join(read_labels(written(tmp_path, frame)).report.notes)
        assert "'rater1', 'rater2', 'rater3' numbers are high where others are low" in notes
    frame[f"{name}2"], frame[f"{name}3"] = frame[f"{name}1"], frame[f"{name}1"]
    assert "high where" not in " ".join(read_labels(written(tmp_path, frame)).report.notes)


def test_a_row_is_an_item_unless_a_column_tells_them_apart(tmp_path):
    path = written(tmp_path, table(id=2, **votes("ann", "bob", "cy")))
    labels = read_labels(path, format="wide")
    assert (labels.n_items, labels.report.repeats) == (40, 0)
    assert (
        labels.report.notes[0] == "A row is taken for an item, since 'id' repeats; --item-column names what tells items apart."
    )
    assert read_labels(path, format="wide", item_column="id").n_items == 20
    gaps = written(tmp_path, table(id="i", **votes("ann", "bob", "cy")).assign(id=lambda one: one["id"].where(one.index > 5)))
    notes = read_labels(gaps, format="wide").report.notes
    assert notes[0] == "A row is taken for an item, since 'id' is empty in 6 rows; --item-column names what tells items apart."
    later = written(tmp_path, table(docket=2, sentence="s", **votes("ann", "bob", "cy")))
    assert read_labels(later, format="wide").report.columns["item"] == "sentence"


@pytest.mark.parametrize("stem", ["r", "Vote", "annotator", "Ann", "rater_"])
def test_numbered_columns_are_raters_in_tables_and_in_json(tmp_path, stem):
    names = [f"{stem}{n}" for n in (1, 2, 3)]
    frame = table(sentence="s", mean=["1.33", "1.67"], **votes(*names, values=("1", "2")))
    (tmp_path / "a.json").write_text(json.dumps(frame.to_dict("records")))
    for path in (written(tmp_path, frame), tmp_path / "a.json"):
        labels = read_labels(path)
        assert (labels.report.format, labels.workers.to_pylist()) == ("wide", names)
        assert (labels.n_items, labels.n_labels) == (40, 120)


def test_short_names_of_columns_with_texts_are_no_raters(tmp_path):
    frame = table(prompt="p", r1="the answer ", r2="another ", label=["a", "b"])
    with pytest.raises(ColumnError) as error:
        read_labels(written(tmp_path, frame))
    assert "wide" not in str(error.value)


def test_columns_of_one_name_or_without_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("id,ann,ann\n1,a,b\n2,b,b\n")
    with pytest.raises(ColumnError, match="several columns named 'ann'"):
        read_labels(tmp_path / "a.csv", format="wide")
    (tmp_path / "a.csv").write_text("id,ann,\n1,a,b\n2,b,b\n")
    with pytest.raises(CrowdassayError, match="has no name"):
        read_labels(tmp_path / "a.csv", format="wide")


def test_json_keyed_by_item_with_annotators_beside_their_annotations(tmp_path):
    def item(**said):
        return {
            "text": {"context": "c", "response": "r"}, "annotators": ",".join(said), "annotations": said, "lang": "en",
            "soft_label": {"-4": 0.5, "3": 0.5}, "other_info": {"date": "d"},
        }  # fmt: skip

    path = tmp_path / "a.json"
    path.write_text(json.dumps({"0": item(Ann1="-4", Ann2="3"), "1": item(Ann1="3", Ann3="3")}))
    labels = read_labels(path)
    assert (labels.report.format, labels.items.to_pylist(), labels.n_labels) == ("nested", ["0", "1"], 4)
    assert labels.classes.to_pylist() == ["-4", "3"]
    with pytest.raises(DataError, match="objects within objects"):
        read_labels(path, format="wide")
    path.write_text(json.dumps({"0": item(eva="x", max="y"), "1": item(eva=["x", "y"], max="y")}))
    assert read_labels(path).report.dropped == {"more than one choice": 1}
    assert read_labels(path, options="set").classes.to_pylist() == ["x", "x|y", "y"]


UNREADABLE = {
    "records by key": {"0": {"text": "one", "label": "a"}, "1": {"text": "two", "label": "b"}},
    "questions": {"id": "1", "answers": {"tone": "warm", "topic": "cats", "length": "7"}},
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_what_would_misread_is_not_proposed(tmp_path, content):
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(CrowdassayError) as error:
        read_labels(tmp_path / "a.json")
    assert "wide" not in str(error.value)
    assert "nested" not in str(error.value)


@pytest.mark.parametrize("names", [("Florence", "Bob"), ("Lawrence", "Constance", "Ann"), ("Do", "An")])
def test_people_whose_names_end_like_questions_are_workers(tmp_path, names):
    path = written(tmp_path, table(id="i", **votes(*names)))
    with pytest.raises(ColumnError, match="say `format='wide'`"):
        read_labels(path)
    assert read_labels(path, format="wide").workers.to_pylist() == list(names)


def test_whoever_is_taken_for_questions_is_told_how_to_be_workers(tmp_path):
    path = written(tmp_path, table(id="i", **votes("Florence", "Constance")))
    with pytest.raises(ColumnError, match="if they are workers with one question, name them with `worker_columns`"):
        read_labels(path)
    assert read_labels(path, worker_columns="Florence,Constance").n_workers == 2


def test_what_is_proposed_for_names_with_brackets_can_be_said_and_what_cannot_is_not_proposed(tmp_path):
    names = ["rate [a]", "rate [b]"]
    assert read_labels(written(tmp_path, table(id="i", **votes(*names))), worker_columns=names).workers.to_pylist() == names
    two = table(id="i", **votes(*names), **votes("say [a]", "say [b]", values=("1", "2")))
    with pytest.raises(ColumnError, match=r"such as `worker_columns` 'rate \[a\],rate \[b\]'"):
        read_labels(written(tmp_path, two), format="wide")
    assert read_labels(tmp_path / "a.csv", worker_columns="rate [a],rate [b]").workers.to_pylist() == names
    odd = table(id="i", **votes("Lee, Ann", "O'Hara"), **votes("x, y", "z, w", values=("1", "2")))
    with pytest.raises(
        ColumnError, match="rename those that are, without commas and quotes, and name them with `worker_columns`"
    ) as stop:
        read_labels(written(tmp_path, odd), format="wide")
    assert "`worker_columns` '" not in str(stop.value)


def test_the_cells_of_a_row_are_counted_once_however_many_workers_there_are(monkeypatch):
    draw = random.Random(1)
    rows = [tuple(draw.choice("ynm") for _ in range(40)) for _ in range(20)]
    counted = []
    monkeypatch.setattr(wide_columns, "Counter", lambda cells: counted.append(1) or Counter(cells))
    assert not wide_columns._concludes(rows)
    assert len(counted) == len(rows)


@pytest.mark.parametrize(
    "name", ["label_gold", "annot_maj", "expected_label", "humanAnnotation_majorityLabel", "label_consensus"]
)
def test_a_column_named_after_what_is_known_or_agreed_on_is_no_worker_wherever_the_word_stands(tmp_path, name):
    """Beside raters of the same stem it was one of them, and voted."""
    frame = table(text="t", **votes("label_1", "label_2", "label_3"))
    frame.insert(1, name, frame["label_1"])
    labels = read_labels(written(tmp_path, frame), format="wide")
    assert labels.workers.to_pylist() == ["label_1", "label_2", "label_3"]
    assert any(name in note for note in labels.report.notes)


SAYS = {"clear": "ynnyny", "kind": "121233"}


def grid(form, workers, **more):
    """Return a table with a column for each worker and question, and others."""
    made = {form.format(q=q, w=w): list(says[k:] + says[:k]) for q, says in SAYS.items() for k, w in enumerate(workers)}
    return pd.DataFrame({"id": range(6), **made, **more})


@pytest.mark.parametrize(
    ("form", "workers", "ways"),
    [
        ("is_{q}_{w}", ("e", "w"), ["is_clear_*", "is_kind_*"]),
        ("{w} {q}", ("A1", "A2", "A3"), ["A* clear", "A* kind"]),
        ("{w}.{q}ness", ("ann", "bob"), ["*.clearness", "*.kindness"]),
        ("tone of {q}_{w}", ("rater1", "rater2"), ["tone of clear_rater*", "tone of kind_rater*"]),
    ],
)
def test_workers_who_answer_several_questions_are_proposed_question_by_question(tmp_path, form, workers, ways):
    more = {form.split("{")[0] + "clear": list("ynnyny")} if form.endswith("_{w}") else {}  # what was decided in the end
    computed = {f"{q} {what}": [f"0.{n}125" for n in range(6)] for q in SAYS for what in ("mean", "std")}
    path = written(tmp_path, grid(form, workers, **more, **computed))
    for options in ({}, {"format": "wide"}):
        with pytest.raises(ColumnError) as stop:
            read_labels(path, **options)
        for way in ways:
            assert f"`worker_columns` '{way}'" in str(stop.value)
    labels = read_labels(path, worker_columns=ways[0])
    assert (labels.n_workers, labels.n_labels, labels.class_names) == (len(workers), 6 * len(workers), ("n", "y"))


@pytest.mark.parametrize(
    ("form", "workers"),
    [("{q}_{w}", ("left", "right")), ("{q}_{w}", ("before", "after")), ("{w}_{q}", ("ann", "bob")), ("{w}_{q}", ("Q1", "Q2"))],
)
def test_sides_times_questions_and_what_nothing_tells_apart_are_no_workers_of_several_questions(tmp_path, form, workers):
    names = list(grid(form, workers).columns)
    assert questions_of_workers(names, range(1, len(names)), is_asking, bool) == []


def test_questions_that_begin_alike_are_no_workers(tmp_path):
    for names in (("is_flip", "is_strong_flip"), ("has_claim", "has_data"), ("predicted_answer", "suggested_answer")):
        path = written(tmp_path, table(id="i", **votes(*names)))
        for options in ({}, {"format": "wide"}):
            with pytest.raises(ColumnError, match="look like different questions") as stop:
                read_labels(path, **options)
            assert "`worker_columns` '" not in str(stop.value)
    both = table(id="i", **votes("is_flip", "is_bad"), **votes("predicted_word", "suggested_word", values=("u", "v")))
    with pytest.raises(ColumnError, match="look like different questions"):
        read_labels(written(tmp_path, both), format="wide")
    assert read_labels(written(tmp_path, table(id="i", **votes("is_rude_e", "is_rude_w"))), format="wide").n_workers == 2


def test_a_column_of_texts_among_those_named_as_workers_is_noted(tmp_path):
    frame = table(item="t", judge_reason="because ", **votes("judge_a", "judge_b"))
    notes = read_labels(written(tmp_path, frame), worker_columns="judge_*").report.notes
    assert any("Hardly anything in 'judge_reason' is in another worker's column; leave it out" in note for note in notes)
    assert not any(
        "Hardly anything" in note for note in read_labels(written(tmp_path, frame), worker_columns="judge_?").report.notes
    )


def test_columns_of_the_same_labels_that_were_not_named_are_noted(tmp_path):
    frame = table(text="t", n_agree=[1, 2], **votes("Doccano", "A1", "A2", "majority"))
    labels = read_labels(written(tmp_path, frame), worker_columns="A*")
    said = "The same labels stand in 'Doccano', 'majority'; a column of a worker must be named with --worker-columns as well."
    assert said in labels.report.notes


def test_letters_and_numbers_may_be_workers_and_questions_either_way(tmp_path):
    frame = table(unit="u", **votes(*(f"{who}{n}" for who in "CD" for n in (1, 2, 3)), values=("0", "1")))
    with pytest.raises(ColumnError) as stop:
        read_labels(written(tmp_path, frame))
    for way in ("'C1,D1'", "'C2,D2'", "'C*'", "'D*'"):
        assert f"`worker_columns` {way}" in str(stop.value)


def test_a_name_that_stands_twice_in_the_header_is_no_worker(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item,ann_x,bob_x,bob_x\n1,a,b,a\n2,b,b,a\n3,a,a,b\n")
    with pytest.raises(ColumnError, match="There are several columns named 'bob_x'; rename all but one"):
        read_labels(path, worker_columns="*_x")


def test_codes_with_commas_are_no_choices(tmp_path):
    frame = table(unit="u", **votes("Vector C", "Vector D", values=("1,0,0", "0,1,0", "0,0,1", "0,0,0")))
    labels = read_labels(written(tmp_path, frame), worker_columns="Vector C,Vector D")
    assert labels.class_names == ("0,0,0", "0,0,1", "0,1,0", "1,0,0")


def sparse(n_rows=60, known="Manip", names="ABCDEFGH"):
    """Draw a table in which most rows have one worker's label, and a column that is filled in every row."""
    draw = random.Random(4)
    rows = [{name: draw.choice("01") for name in draw.sample(names, 3 if n % 6 == 0 else 1)} for n in range(n_rows)]
    return pd.DataFrame([{"ID": f"d{n}", known: draw.choice("01"), **row} for n, row in enumerate(rows)])[["ID", known, *names]]


def test_a_column_filled_in_every_row_beside_sparse_ones_may_be_the_known_answer_and_is_no_proposed_worker(tmp_path):
    path = written(tmp_path, frame := sparse())
    with pytest.raises(ColumnError, match=r"If 'A', 'B', .* say `worker_columns` 'A,B,C,D,E,F,G,H'") as stop:
        read_labels(path)
    assert "'Manip' is filled where the others are mostly empty and may hold the known answer; if not" in str(stop.value)
    for read in (lambda: read_labels(path, format="wide"), lambda: as_labels(frame.set_index("ID"), format="wide")):
        with pytest.raises(ColumnError, match=r"'Manip' is filled where .* may hold the known answer"):
            read()
    assert read_labels(path, worker_columns="A,B,C,D,E,F,G,H").n_workers == 8
    assert read_labels(path, worker_columns="Manip,A,B,C,D,E,F,G,H").n_workers == 9
    alone = sparse(known="Eva", names="ABCD")
    alone.loc[alone[list("ABCD")].count(axis=1) > 1, list("ABCD")] = None  # who all the others meet is a worker
    with pytest.raises(ColumnError, match="If 'Eva', 'A', 'B', 'C', 'D' are workers"):
        read_labels(written(tmp_path, alone))


def rated(**more):
    draw = random.Random(6)
    marks = [draw.randrange(0, 100, 4) for _ in range(80)]
    frame = {"person": [f"p{n // 40}" for n in range(80)], "rating": marks, "week": [n % 8 + 1 for n in range(80)]}
    return pd.DataFrame(frame | {name: [of(n, mark, draw) for n, mark in enumerate(marks)] for name, of in more.items()})


@pytest.mark.parametrize(
    "more",
    [
        {"is_again": lambda n, *_: n % 7 == 0, "on_web": lambda n, *_: n % 9 == 0},
        {"scaled_rating": lambda _, mark, __: mark / 4},
        {"kept_rating": lambda _, mark, __: float(mark)},
        {"raw": lambda *more: more[-1].randrange(1, 8)},
    ],
)
def test_flags_copies_and_columns_beside_a_label_column_are_not_proposed_as_workers(tmp_path, more):
    for label in ("rating", "mark"):  # the first is called like a label
        frame = rated(**more).rename(columns={"rating": label})
        if label == "mark":
            frame = frame.drop(columns="week")
            if "raw" in more:
                continue  # which may be workers where nothing is called a label
        with pytest.raises(ColumnError) as stop:
            read_labels(written(tmp_path, frame))
        assert "are workers" not in str(stop.value), label


def test_workers_beside_a_label_column_are_proposed_by_their_names_or_if_they_answer_alike(tmp_path):
    base = {"case": "c", "vote": ["aye", "no"], "week": 9}
    alike = table(**base, **votes("ann_lee", "bob", "cy"))
    with pytest.raises(ColumnError, match="'ann_lee', 'bob', 'cy' are workers"):
        read_labels(written(tmp_path, alike))
    named = table(**base, **votes("expert_lee", "expert_kim", values=("good", "poor")))
    with pytest.raises(ColumnError, match=r"'expert_lee', 'expert_kim' are workers"):
        read_labels(written(tmp_path, named))
    topical = table(**{**base, "vote": "v", "category": ["x", "y"]}, **votes("ann", "bob", "cy"))  # a kind is no label
    with pytest.raises(ColumnError, match="'ann', 'bob', 'cy' are workers"):
        read_labels(written(tmp_path, topical))


def test_what_is_constant_or_belongs_to_the_judge_is_not_proposed_and_the_label_is(tmp_path):
    draw = random.Random(9)
    rows = [
        {"event": 7, "sample": f"s{n}", "area": "27.4", "zone": "27.4", "age": draw.choice("0123"), "grade": who % 2 + 1,
         "reader_name": f"N{who}", "reader_lastname": f"N{who}", "reader": f"R{who}", "row_no": 90 * who + n}
        for who in range(2) for n in range(40 * who - 30 * who, 40 + 10 * who)
    ]  # fmt: skip
    few = [row for row in rows if row["reader"] == "R0" or int(row["sample"][1:]) >= 30]  # ten items have both
    with pytest.raises(ColumnError, match="If 'reader' is who labelled and 'sample' tells what was labelled") as stop:
        read_labels(written(tmp_path, pd.DataFrame(few)))
    assert "`label_column` 'age'" in str(stop.value)
    assert "are workers" not in str(stop.value)
    unread = pd.DataFrame(few).drop(columns=["sample", "age", "row_no"])  # where no label can be found
    with pytest.raises(ColumnError) as stop:
        read_labels(written(tmp_path, unread))
    assert "are workers" not in str(stop.value)


def test_coders_called_by_initials_are_proposed_with_what_tells_items_apart(tmp_path):
    draw = random.Random(2)
    rows = []
    for unit in range(24):
        for topic in ("tax", "work", "care")[: 1 + unit % 3]:
            stance, two = draw.choice("LNR"), draw.sample(["NK", "AM", "KN", "NA"], 2)
            said = {who: stance if draw.random() < 0.8 else draw.choice("LNR") for who in two}
            for job, who in enumerate(two[: 1 + unit % 2]):
                rows.append({"unit_id": f"u{unit}", "topic": topic, "job": job, "text": f"Text {unit}", who: said[who]})
    frame = pd.DataFrame(rows)[["unit_id", "topic", "job", "text", "NK", "AM", "KN", "NA"]]
    frame["job"] = range(len(frame))
    path = tmp_path / "coded.csv"
    frame.to_csv(path, index=False, na_rep="NA")
    with pytest.raises(ColumnError, match=r"If 'NK', 'AM', 'KN', 'NA' are workers .* `item_column` 'unit_id,topic'"):
        read_labels(path)
    labels = read_labels(path, format="wide", item_column="unit_id,topic", missing="NA")
    assert (labels.n_items, labels.n_workers) == (48, 4)


@pytest.mark.parametrize("grid", [True, False])
def test_a_grid_of_occasions_and_judges_is_proposed_question_by_question_whatever_decimals_marks_have(tmp_path, grid):
    draw = random.Random(8)
    places = [(week, judge) for week in (1, 2, 3) for judge in (1, 2, 3, 4)]
    names = [f"week{w}_judge{j}_mark" if grid else f"w{w} mark judge_{j}" for w, j in places]
    rows = [["N/A" if j == 4 else draw.choice(["7", "8", "8.5"]) for _, j in places] for _ in range(30)]
    rows[3][8] = rows[4][8] = "8.6666"
    frame = pd.DataFrame(rows, columns=names)
    frame.insert(0, "couple", [f"c{n}" for n in range(30)])
    path = written(tmp_path, frame)
    if not grid:
        assert read_labels(path, worker_columns="w1 mark judge_*").workers.to_pylist() == [f"judge_{n}" for n in (1, 2, 3)]
        return
    with pytest.raises(ColumnError, match=r"If 'week1_judge1_mark', .* `worker_columns` 'week1_judge\*_mark'") as stop:
        read_labels(path)
    assert "`worker_columns` 'week3_judge*_mark'" in str(stop.value)
    labels = read_labels(path, worker_columns="week3_judge*_mark")
    assert (labels.n_labels, labels.workers.to_pylist()) == (90, ["judge1", "judge2", "judge3"])
    assert "'N/A' stands in 30 of 120 cells: taken for no label. If that is a class" in " ".join(labels.report.notes)


@pytest.mark.parametrize(
    ("names", "way", "called"),
    [
        (["A1 agents", "A2 agents", "A1 events", "A2 events"], "A* agents", ["A1", "A2"]),
        (["AE_L1_Size", "MK_L1_Size", "AE_L2_Kind", "MK_L2_Kind"], "*_L1_*", ["AE", "MK"]),
        (["Hate (Expert 1)", "Hate (Expert 2)", "How hateful (Expert 2)"], "Hate *", ["Expert 1", "Expert 2"]),
        (["say.rater_1.tone", "say.rater_2.tone", "say.rater_1.style"], "say.*.tone", ["rater_1", "rater_2"]),
        (["A1 agents", "A2 agents", "events"], "A* agents", ["A1 agents", "A2 agents"]),
        (["ann", "bob", "ann_sure", "bob_sure"], "ann,bob", ["ann", "bob"]),
        (["tone1", "tone2", "style1", "style2"], "tone*", ["tone1", "tone2"]),
    ],
)
def test_workers_of_several_questions_are_called_the_same_in_each(tmp_path, names, way, called):
    frame = table(id="i", **votes(*names))
    labels = read_labels(written(tmp_path, frame), worker_columns=way)
    assert labels.workers.to_pylist() == called
    noted = any(note.startswith("Workers are called by the part that differs") for note in labels.report.notes)
    assert noted == (called[0] not in names)
    assert as_labels(frame, worker_columns=way).workers.to_pylist() == called


def test_columns_that_are_different_in_every_row_are_named_where_rows_are_numbered(tmp_path):
    frame = table(address="http://a/", mean=["1.5", "2.5"], **votes("A1 tone", "A2 tone"))
    frame["mean"] = [f"{n}.25" for n in range(40)]
    labels = read_labels(written(tmp_path, frame), worker_columns="A* tone")
    said = "Items are numbered by row, from 0. 'address' is different in every row and may be named with --item-column."
    assert said in labels.report.notes


def test_columns_called_labels_with_a_number_are_workers_and_no_questions_beside_facts_of_the_same_values(tmp_path):
    marks = [[1 + n % 3 if (n + k) % 7 else 1 + (n + k) % 3 for k in range(3)] for n in range(60)]
    frame = pd.DataFrame(marks, columns=[f"Annotation_{k}" for k in (1, 2, 3)])
    facts = {"Season": 7, "Episode": 11, "Category": 3}
    for place, (name, n_values) in enumerate(facts.items()):
        frame.insert(place, name, [n % 4 % n_values + 1 if n_values == 3 else n % n_values + 1 for n in range(60)])
    frame.insert(3, "said", [f"so they said {n}" for n in range(60)])
    with pytest.raises(ColumnError, match=r"are workers who answer one question, say.*'Annotation_\*'") as error:
        read_labels(written(tmp_path, frame))
    assert "look like different questions" not in str(error.value)


def test_a_number_of_draws_beside_a_score_is_no_worker(tmp_path):
    rows = [
        {"id": str(200 + n), "k": 8, "scores": [[n % 5, n % 7]], "cost": {"in": n * 3, "out": n * 5}, "cal_score": n % 4 + 5}
        for n in range(34)
    ]
    path = tmp_path / "draws.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(ColumnError) as error:
        read_labels(path)
    assert "'k', 'cal_score' are workers" not in str(error.value)
