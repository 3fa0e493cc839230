"""Answers that are no classes: scores, "unsure" and several votes."""

import numpy as np
import pytest

from crowdassay import as_labels
from crowdassay.errors import DataError
from crowdassay.judges.people import gather_people
from crowdassay.judges.prediction import fit_answers, predict_people, verdict_weights
from crowdassay.judges.rate import rate
from crowdassay.judges.verdicts import split_verdicts


def scored(seed, binary, n_items=300, n_judges=5, n_seen=60):
    """Return verdicts as scores, or as the classes that 5 and more stand for, and the truth."""
    generator = np.random.default_rng(seed)
    passes = generator.random(n_items) < 0.65
    quality = np.where(passes, 1.0, -1.0) + 0.7 * generator.normal(size=n_items)
    noise = 0.8 * generator.normal(size=(n_items, n_judges))
    score = np.clip(np.round(4.5 + 1.8 * (quality[:, None] + noise) + generator.normal(size=n_judges)), 0, 9).astype(int)
    rows = []
    for i in range(n_judges):
        for j in range(n_items):
            rows.append((f"i{j}", f"m{i}", ("pass" if score[j, i] >= 5 else "fail") if binary else str(score[j, i])))
    rows += [(f"i{j}", "ann", "pass" if passes[j] else "fail") for j in range(n_seen)]
    return split_verdicts(as_labels(tuple(zip(*rows, strict=True))), ["ann"], classes=["pass", "fail"]), passes


def right_of(seed, binary):
    verdicts, passes = scored(seed, binary)
    people = gather_people(verdicts)
    _, blind = predict_people(verdicts, people, None, np.random.default_rng(seed))
    rest = np.setdiff1d(np.arange(len(passes)), people.item)
    return float(((blind[rest, 0] > 0.5) == passes[rest]).mean())


@pytest.mark.slow
def test_scores_say_more_than_what_they_stand_for():
    gain = np.mean([right_of(seed, False) - right_of(seed, True) for seed in range(15)])
    assert gain > 0.01


def test_unsure_informs_where_it_goes_with_a_class():
    generator = np.random.default_rng(0)
    passes = generator.random(400) < 0.5
    rows = []
    for i in range(3):
        unsure = ~passes & (generator.random(400) < 0.6)  # unsure of what fails, and says pass of all else
        rows += [(j, f"m{i}", "unsure" if unsure[j] else "pass") for j in range(400)]
    rows += [(j, "ann", "pass" if passes[j] else "fail") for j in range(60)]
    found = rate(tuple(zip(*rows, strict=True)), people=["ann"], classes=["pass", "fail"])
    assert found.rate["pass"].low <= passes.mean() <= found.rate["pass"].high
    assert found.rates[0].width < 0.6 * found.alone[0].width
    assert found.verdicts.answers == ("pass", "fail", "unsure")
    assert all(judge.abstains > 0.2 for judge in found.judges)


def test_several_votes_of_one_judge_are_hardly_more_than_one():
    rows = [("a", "m", "pass")] * 5 + [("a", "n", "fail"), ("b", "m", "pass"), ("b", "ann", "pass"), ("a", "ann", "fail")]
    verdicts = split_verdicts(as_labels(tuple(zip(*rows, strict=True))), ["ann"])
    weights = verdict_weights(verdicts)
    assert weights[(verdicts.item == 0) & (verdicts.judge == 0)].sum() == pytest.approx(5 / (1 + 0.83 * 4))
    assert weights[(verdicts.item == 1)].tolist() == [1.0]


def test_votes_given_again_and_rows_left_out_are_told(tmp_path):
    rows = [f"i{j},m{k},{'pass' if (j + k) % 3 else 'fail'}" for j in range(40) for k in range(2) for _ in range(1 + (j == 0))]
    rows += [f"i{j},ann,{'pass' if j % 3 else 'fail'}" for j in range(20)] + ["i1,m1,"]
    (tmp_path / "v.csv").write_text("\n".join(["item,worker,label", *rows]))
    notes = " ".join(rate(tmp_path / "v.csv", people=["ann"]).notes)
    assert "2 labels repeat a worker and item" in notes
    assert "Rows left out (missing label): 1." in notes


def test_tables_are_found_again():
    generator = np.random.default_rng(3)
    truth = generator.integers(2, size=3000)
    table = np.array([[0.6, 0.1, 0.3], [0.1, 0.8, 0.1]])
    rows = [(j, f"m{i}", "xyz"[generator.choice(3, p=table[truth[j]])]) for j in range(3000) for i in range(3)]
    rows += [(j, "ann", "xy"[truth[j]]) for j in range(300)]
    verdicts = split_verdicts(as_labels(tuple(zip(*rows, strict=True))), ["ann"], classes=["x", "y"])
    people = gather_people(verdicts)
    panel = fit_answers(verdicts, people.item, people.share)
    assert np.abs(np.exp(panel.says[0]).T - table).max() < 0.05


def test_many_scores_are_put_into_ranges():
    generator = np.random.default_rng(1)
    rows = [(j, "m", f"{generator.random():.4f}") for j in range(200)] + [
        (j, "ann", ["pass", "fail"][j % 2]) for j in range(20)
    ]
    verdicts = split_verdicts(as_labels(tuple(zip(*rows, strict=True))), ["ann"])
    assert len(verdicts.answers) == 2 + 10
    assert any("10 ranges" in note for note in verdicts.notes)
    counts = np.bincount(verdicts.answer)[2:]
    assert counts.min() >= 15


def test_whole_texts_are_refused():
    rows = [(j, "m", f"I think answer {j} is fine because it is") for j in range(60)] + [(j, "ann", "pass") for j in range(20)]
    with pytest.raises(DataError, match="are these whole texts"):
        split_verdicts(as_labels(tuple(zip(*rows, strict=True))), ["ann"], classes=["pass", "fail"])
