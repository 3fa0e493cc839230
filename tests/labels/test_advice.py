"""What is said where a table cannot be read as it is: only ways that read it right, and else what it seems to be."""

from __future__ import annotations

import pandas as pd
import pytest

from crowdassay.errors import ColumnError, CrowdassayError
from crowdassay.labels.files import read_labels
from support.exports import csv_text, write

N = range(12)
NOT_WORKERS = {
    "criteria of one rater": (
        {"reply_id": N, "clarity": [n % 3 for n in N], "politeness": [n % 3 for n in N], "tone": [n % 2 for n in N]},
        "'clarity', 'politeness', 'tone' look like different questions",
    ),
    "criteria named after a rater who is not there": (
        {"id": N, "judge_clarity": [n % 3 for n in N], "judge_empathy": [(n + 1) % 3 for n in N]},
        "'judge_clarity', 'judge_empathy' look like different questions",
    ),
    "questions by number": ({"id": N, "q1": [n % 2 for n in N], "q2": [n % 2 for n in N]}, "'q1', 'q2' look like different"),
    "means": ({"id": N, "ann": ["3.667", "2.5", "1"] * 4, "bob": ["2.5", "3.667", "1"] * 4}, "numbers that were computed"),
    "counts of votes": (
        {"id": N, "yes": [n % 4 for n in N], "no": [n // 4 for n in N], "both": [5 - n % 4 - n // 4 for n in N]},
        "The rows of 'yes', 'no', 'both' sum to nearly the same number",
    ),
    "one class of many, each a column": (
        {"id": N, **{name: [int(n % 3 == k) for n in N] for k, name in enumerate(("cats", "dogs", "birds"))}},
        "The rows of 'cats', 'dogs', 'birds' sum to nearly the same number",
    ),
    "pairs of things": (
        {"i": [n % 3 for n in N], "j": [(n + 1) % 3 for n in N], "far": [f"0.{n}" for n in N]},
        "No two of 'i', 'j' ever hold the same value",
    ),
    "two sides": (
        {"id": N, "rude_a": [n % 2 for n in N], "rude_b": [n % 3 % 2 for n in N]},
        "'rude_a', 'rude_b' look like the two sides of comparisons",
    ),
    "agreement between raters": (
        {"rater1": ["u", "u", "v"] * 2, "rater2": ["v", "w", "w"] * 2, "n": [9] * 6, "kappa": ["0.5"] * 6},
        "'rater1', 'rater2' and 'kappa' make a table of results",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", NOT_WORKERS)
def test_columns_that_are_no_workers_are_not_proposed_but_said(tmp_path, kind):
    columns, said = NOT_WORKERS[kind]
    path = tmp_path / "table.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    for options in ({}, {"format": "wide"}):
        with pytest.raises(ColumnError) as stop:
            read_labels(path, **options)
        assert said in str(stop.value)
        assert "say `format='wide'`" not in str(stop.value)
        assert "say `worker_columns`" not in str(stop.value)


def test_workers_who_answer_one_question_are_proposed_in_any_language(tmp_path):
    for names in (("ann", "bob"), ("원익", "수민"), ("модель_1", "модель_2"), ("eva@x.org", "max@x.org")):
        path = tmp_path / "table.csv"
        pd.DataFrame({"id": N, names[0]: [n % 3 for n in N], names[1]: [n % 4 % 3 for n in N]}).to_csv(path, index=False)
        with pytest.raises(ColumnError, match="say `format='wide'`"):
            read_labels(path)
        assert read_labels(path, format="wide").workers.to_pylist() == list(names)


def test_every_set_of_columns_that_could_be_workers_is_proposed(tmp_path):
    path = tmp_path / "table.csv"
    table = {
        f"{stem}{coder}": [f"{stem}{(n * (k + 1)) % 3}" for n in N]
        for stem in ("mood", "kind")
        for k, coder in enumerate(" 12")
    }
    pd.DataFrame({name.strip(): column for name, column in table.items()}).to_csv(path, index=False)
    with pytest.raises(ColumnError, match=r"`worker_columns` 'mood\*' or `worker_columns` 'kind\*'"):
        read_labels(path)


def test_a_table_of_persons_is_no_form(tmp_path):
    rows = [(f"r{n}", ("lenient", "strict")[n % 2], f"{n}.5", f"field {n}") for n in range(6)]
    path = write(tmp_path / "people.csv", csv_text(["rater_id", "tendency", "base", "expertise"], rows))
    with pytest.raises(ColumnError) as stop:
        read_labels(path)
    assert "forms" not in str(stop.value)


def test_a_header_of_three_names_is_no_line_of_worker_item_and_label(tmp_path):
    path = write(tmp_path / "t.csv", csv_text(["command", "mood", "sure"], [(f"c{n % 4}", "ab"[n % 2], n % 2) for n in N]))
    with pytest.raises(ColumnError) as stop:
        read_labels(path)
    assert "nltk" not in str(stop.value)


@pytest.mark.parametrize(
    ("names", "proposed"),
    [
        (["annotator1.csv"], True),
        (["wave2_rater_b.csv"], True),
        (["maria.csv", "piotr.csv"], True),
        (["survey_2024.csv"], False),
        (["raters.csv"], False),
        (["chapter1.csv"], False),
    ],
)
def test_files_named_after_workers_are_told_how_to_be_read_whatever_their_columns_are_called(tmp_path, names, proposed):
    for name in names:
        write(tmp_path / name, csv_text(["headline", "verdict of mine"], [(f"h{n}", n % 2) for n in N]))
    with pytest.raises(ColumnError) as stop:
        read_labels(tmp_path)
    assert ("`worker_from_filename=True` and name the other columns" in str(stop.value)) == proposed
    if proposed:
        found = read_labels(tmp_path, worker_from_filename=True, item_column="headline", label_column="verdict of mine")
        assert found.n_workers == len(names)


def test_results_of_mechanical_turk_without_workers_are_told_what_is_missing(tmp_path):
    path = write(tmp_path / "batch.csv", csv_text(["Input.url", "Answer.tone", "Answer.fit"], [(n, n % 2, n % 2) for n in N]))
    with pytest.raises(CrowdassayError, match="Mechanical Turk without WorkerId"):
        read_labels(path)
