from __future__ import annotations

import pandas as pd
import pytest

from crowdassay.errors import ColumnError
from crowdassay.labels.columns import find_columns
from crowdassay.labels.files import read_labels
from crowdassay.labels.frames import as_labels
from crowdassay.labels.roles import ITEM_WORKER_LABEL, ROLES, TRUTH_ROLES
from support.exports import rows_of, write


def choose(*names, roles=ITEM_WORKER_LABEL, **given):
    return list(find_columns(names, roles, given).values())


@pytest.mark.parametrize(
    "names",
    [
        ("item", "worker", "label"),
        ("Task ID", "Annotator-Id", "ANSWER"),
        ("taskId", "workerId", "answer"),
        ("HITId", "WorkerId", "Response"),
        ("_unit_id", "_worker_id", "judgment"),
        ("question", "rater", "vote"),
        ("prompt", "model", "score"),
        ("id", "annotator_email", "grade"),
        ("image_url", "worker name", "preference"),
        ("conversation_id", "judge", "score"),
        ("text", "LLM", "verdict"),
    ],
)
def test_names_people_use_are_found_in_any_order(names):
    item, worker, label = names
    assert choose(label, "other", worker, item) == [item, worker, label]


def test_an_earlier_word_wins():
    assert choose("question", "task", "user", "worker", "answer", "label") == ["task", "worker", "label"]
    assert choose("item_id", "item", "worker", "label")[0] == "item"


def test_words_of_many_meanings_are_a_last_resort():
    assert choose("id", "text", "score", "task_id", "model", "user", "label") == ["task_id", "user", "label"]
    assert choose("id", "text", "image_url", "model", "annotator_email", "score") == ["image_url", "annotator_email", "score"]
    assert choose("id", "score", roles=TRUTH_ROLES) == ["id", "score"]


def test_the_id_of_an_annotation_is_no_label():
    with pytest.raises(ColumnError, match="No label column"):
        choose("item", "worker", "annotation_id")


def test_a_given_name_overrides():
    assert choose("item", "text", "worker", "label", item="text")[0] == "text"


def test_truth_words_win_over_label_words_in_truth_files():
    assert choose("task", "label", "gold", roles=TRUTH_ROLES) == ["task", "gold"]
    assert choose("task", "label", roles=TRUTH_ROLES) == ["task", "label"]


def test_two_equal_matches_name_both_and_the_option():
    with pytest.raises(ColumnError, match=r"'task_id', 'taskId'.*`item_column`"):
        choose("task_id", "taskId", "worker", "label")


def test_a_missing_column_is_named_with_the_nearest_and_the_option():
    with pytest.raises(ColumnError) as error:
        choose("item", "wroker", "label")
    assert str(error.value) == (
        "No worker column found among 'item', 'wroker', 'label'; the nearest is 'wroker'; name it with `worker_column`."
    )
    assert error.value.message.endswith("name it with --worker-column.")
    with pytest.raises(ColumnError) as error:
        choose("item", "x", "label")
    assert "nearest" not in str(error.value)


def test_every_missing_column_has_its_option_named():
    with pytest.raises(ColumnError) as error:
        choose("item", "a", "b")
    assert error.value.message.startswith("No worker or label column found among 'item', 'a', 'b'; name them with ")
    assert error.value.message.endswith("name them with --worker-column and --label-column.")


def test_a_column_of_another_role_is_never_the_nearest():
    with pytest.raises(ColumnError) as error:
        choose("item", "coder", "order")  # "order" is near "coder", which is taken
    assert "nearest" not in str(error.value)


def test_nothing_matching_is_one_sentence():
    with pytest.raises(ColumnError) as error:
        choose("x1", "w1", "yes")
    message = str(error.value)
    assert message.startswith("None of the columns ('x1', 'w1', 'yes') looks like an item, worker or label column")
    assert "name them with `item_column`" in message
    assert message.count(".") == 1


def test_truth_files_are_told_to_rename():
    with pytest.raises(ColumnError, match="rename it 'truth'"):
        choose("item", "x", roles=TRUTH_ROLES)


def test_a_given_name_that_is_not_there_lists_the_columns_and_the_nearest():
    with pytest.raises(ColumnError, match=r"no column 'Wrkr'.*'item', 'worker', 'label'; did you mean 'worker'\?"):
        choose("item", "worker", "label", worker="Wrkr")


def test_one_column_cannot_have_two_roles():
    with pytest.raises(ColumnError, match="both the item and the worker"):
        choose("a", "label", item="a", worker="a")
    with pytest.raises(ColumnError, match="which `item_column` names; name it with `worker_column`"):
        choose("item", "worker", "label", item="worker")


def test_a_given_name_must_be_unique():
    with pytest.raises(ColumnError, match="several columns named 'label'"):
        choose("item", "worker", "label", "label", label="label")


def test_no_word_stands_for_two_roles():
    words = [word for role in ITEM_WORKER_LABEL for word in (*ROLES[role].words, *ROLES[role].late_words)]
    assert len(words) == len(set(words))


def test_two_columns_of_one_name_cannot_be_told_apart():
    with pytest.raises(ColumnError, match="several columns named 'label'; rename all but one"):
        find_columns(["item", "worker", "label", "label"], ["item", "worker", "label"], {})


ASKED = [(f"t{n // 3}", f"w{n % 3}", str((n // 3) * (n % 3) % 2)) for n in range(18)]


def table_of(path, names, cells):
    lines = [names, *([item, worker, f"about {item}", f"born {worker}", *cells(label)] for item, worker, label in ASKED)]
    return write(path, "".join(",".join(line) + "\n" for line in lines))


def test_the_only_column_that_differs_within_items_and_workers_is_the_label(tmp_path):
    path = table_of(tmp_path / "a.csv", ["tweet_id", "user_id", "words", "born", "offensiveness"], lambda label: [label])
    labels = read_labels(path)
    assert rows_of(labels) == sorted(ASKED)
    frame = pd.read_csv(path, dtype=str)
    assert rows_of(as_labels(frame)) == sorted(ASKED)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    for other in ("a.parquet", "a.jsonl"):
        assert rows_of(read_labels(tmp_path / other)) == sorted(ASKED)


def test_of_several_such_columns_none_is_chosen(tmp_path):
    names = ["tweet_id", "user_id", "words", "born", "rude", "sure"]
    with pytest.raises(ColumnError, match=r"Several columns could be the label \('rude', 'sure'\).*`label_column`\.$"):
        read_labels(table_of(tmp_path / "a.csv", names, lambda label: [label, label]))


def test_the_id_of_what_is_judged_wins_over_its_text_and_over_the_row():
    assert choose("id", "text", "tweet_id", "annotator", "label")[0] == "tweet_id"
    assert choose("id", "comment", "annotator", "label")[0] == "id"


def test_an_error_says_which_roles_have_no_column():
    with pytest.raises(ColumnError) as one:
        choose("item", "label", "x")
    assert (one.value.missing, one.value.found_nothing) == (("worker",), False)
    with pytest.raises(ColumnError, match="looks like an item, worker or label column") as none:
        choose("x", "y")
    assert (none.value.missing, none.value.found_nothing) == (("item", "worker", "label"), True)
    with pytest.raises(ColumnError, match="could both be") as both:
        choose("item", "worker", "label", "Label")
    assert both.value.missing == ()


@pytest.mark.parametrize(
    ("columns", "worker"),
    [
        (["item", "Voter ID", "label"], "Voter ID"),
        (["item", "turkID", "label"], "turkID"),
        (["item", "validator", "label"], "validator"),
        (["item", "Your Name:", "label"], "Your Name:"),
        (["item", "ann", "annotator", "label"], "annotator"),
        (["audio_id", "listener_id", "rating"], "listener_id"),
        (["text", "!amt_worker_ids", "response"], "!amt_worker_ids"),
        (["stimulus", "Participant Public ID", "Participant Private ID", "Response"], "Participant Private ID"),
        (["image_path", "reviewed_by", "label"], "reviewed_by"),
        (["filename", "PROLIFIC_PID", "answer"], "PROLIFIC_PID"),
        (["question_id", "model", "grader_model", "score"], "grader_model"),
    ],
)
def test_names_of_workers_as_they_are_in_the_wild(columns, worker):
    found = find_columns(columns, ["item", "worker", "label"], {})
    assert (found["item"], found["worker"], found["label"]) == (columns[0], worker, columns[-1])


def test_subjects_and_ann_are_workers_where_each_judges_several_items_once():
    rows = [{"subject": s, "stimulus": t, "rating": s * t % 3} for s in range(3) for t in range(4)]
    found = find_columns(list(rows[0]), ["item", "worker", "label"], {}, lambda: rows)
    assert found == {"item": "stimulus", "worker": "subject", "label": "rating"}
    rows = [{"instance_id": t, "ann": s, "label": s * t % 3} for s in range(3) for t in range(4)]
    assert find_columns(list(rows[0]), ["item", "worker", "label"], {}, lambda: rows)["worker"] == "ann"
    wide = [{"item": n, "ann": n % 2, "bob": n % 3} for n in range(12)]  # where Ann is a person
    with pytest.raises(ColumnError, match="No worker or label column"):
        find_columns(list(wide[0]), ["item", "worker", "label"], {}, lambda: wide)
    mails = [{"subject": f"re: {n}", "text": f"mail {n}", "label": n % 2} for n in range(12)]
    with pytest.raises(ColumnError, match="No worker column"):
        find_columns(list(mails[0]), ["item", "worker", "label"], {}, lambda: mails)
    assert find_columns(["subject_id", "user", "label"], ["item", "worker", "label"], {})["item"] == "subject_id"


def test_of_several_columns_that_are_equally_near_none_is_named_as_the_nearest():
    with pytest.raises(ColumnError) as error:
        find_columns(["id", "annotator1", "annotator2"], ["item", "worker", "label"], {})
    assert "nearest" not in str(error.value)
    with pytest.raises(ColumnError, match="the nearest is 'anotator'"):
        find_columns(["id", "anotator", "label"], ["item", "worker", "label"], {})


@pytest.mark.parametrize("name", ["is_valid", "paid", "Valid", "rank"])
def test_an_answer_that_ends_like_an_id_or_is_a_rank_is_the_label_where_nothing_else_is(name):
    rows = [{"item": n // 3, "worker": n % 3, name: (n // 3) * (n % 3) % 2} for n in range(18)]
    assert find_columns(list(rows[0]), ITEM_WORKER_LABEL, {}, lambda: rows)["label"] == name
    rows = [{"id": n, "worker": n % 3, "verdict": n % 2, name: n // 5 % 2} for n in range(18)]
    assert find_columns(list(rows[0]), ITEM_WORKER_LABEL, {}, lambda: rows)["item"] == "id"
    beside = [{"item": n // 3, "worker": n % 3, "rude": (n // 3) * (n % 3) % 2, "rank": n * n % 5 % 3} for n in range(18)]
    assert find_columns(list(beside[0]), ITEM_WORKER_LABEL, {}, lambda: beside)["label"] == "rude"
