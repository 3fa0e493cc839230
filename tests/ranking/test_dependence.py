"""Effects that the comparisons cannot tell apart, and intervals where comparisons depend on each other."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import stdtrit

from crowdassay import BradleyTerry, load_model
from crowdassay.errors import ColumnError
from crowdassay.ranking.clusters import dependent_comparisons
from crowdassay.ranking.intervals import find_degrees
from crowdassay.ranking.pairs import Pairs, read_pairs
from support.comparisons import draw_pairs


def against_baseline(rng, n=2000, models=6, judges=3, baseline_wins=0.8):
    """Return comparisons with a baseline, always on the right, that wins most; the models' scores fall from the first on."""
    names = [f"m{i}" for i in range(models)]
    left = rng.integers(models, size=n)
    chance = 1 - baseline_wins + 0.15 * (1 - left / models)
    won = rng.random(n) < chance
    return pa.table(
        {
            "left": np.array(names)[left],
            "right": ["base"] * n,
            "winner": np.where(won, "left", "right"),
            "worker": [f"j{i}" for i in rng.integers(judges, size=n)],
        }
    )


@pytest.mark.parametrize("reliability", [True, False])
def test_a_baseline_on_one_side_is_no_side_effect(reliability):
    """W11: side and competitor cannot be told apart, so that the side is fixed at zero and the baseline ranked by its wins."""
    model = BradleyTerry(reliability=reliability).fit(against_baseline(np.random.default_rng(0)))
    assert model.ranking_["item"][0].as_py() == "base"
    assert model.position_bias_ == 0.0
    told = [note for note in model.notes_ if "advantage of a side" in note]
    assert len(told) == 1
    assert "since 'base' is always on the right" in told[0]
    assert not any("side is favoured" in note for note in model.notes_)
    assert np.isnan(model.workers_["left_bias"].to_numpy()).all()
    if reliability:
        assert model.spread_["bias"] == 0.0


def test_one_pair_in_both_orders_identifies_the_side():
    """W11: a triangle, or one pair turned round, is enough for the side to be estimated, and nothing is said."""
    table = against_baseline(np.random.default_rng(0), n=300)
    turned = pa.table({"left": ["base"] * 9, "right": ["m0"] * 9, "winner": ["left"] * 9, "worker": ["j0"] * 9})
    model = BradleyTerry().fit(pa.concat_tables([table, turned]))
    assert model.position_bias_ != 0.0
    assert not any("advantage of a side" in note for note in model.notes_)


def test_a_judge_who_alone_compares_one_item_and_in_one_order_has_no_side():
    """W11: what only this judge compared cannot be told from the judge's side; others tell theirs."""
    pairs, _ = draw_pairs(np.random.default_rng(1), n=1500, items=5, workers=4, bias=0.0, position=0.4)
    extra = 200
    left = np.random.default_rng(2).integers(5, size=extra)
    outcome = (np.random.default_rng(3).random(extra) < 0.8).astype(np.int64)
    both = dataclasses.replace(
        pairs,
        left=np.concatenate([pairs.left, left]),
        right=np.concatenate([pairs.right, np.full(extra, 5)]),
        outcome=np.concatenate([pairs.outcome, outcome]),
        worker=np.concatenate([pairs.worker, np.full(extra, 4)]),
        items=pa.array([*pairs.items.to_pylist(), "new"]),
        workers=pa.array([*pairs.workers.to_pylist(), "one-sided"]),
        style=np.zeros((1700, 0)),
    )
    model = BradleyTerry().fit(both)
    side = {row["worker"]: row["left_bias"] for row in model.workers_.to_pylist()}
    assert np.isnan(side.pop("one-sided"))
    assert np.mean(list(side.values())) == pytest.approx(0.4, abs=0.15)
    assert "whether the worker 'one-sided' favours a side" in " ".join(model.notes_)
    assert model.ranking_["item"][0].as_py() == "new"


def test_a_style_of_the_items_themselves_has_no_effect():
    """W11: what goes with the items, such as their size, cannot be told from their scores."""
    pairs, _ = draw_pairs(np.random.default_rng(4), n=600, items=5)
    size = np.array([1.0, 2.0, 4.0, 7.0, 11.0])
    styled = dataclasses.replace(pairs, style=(size[pairs.left] - size[pairs.right])[:, None], styles=("size",))
    model = BradleyTerry().fit(styled)
    assert np.isnan(model.style_["effect"].to_numpy()).all()
    assert "style 'size' cannot be told from the scores" in " ".join(model.notes_)
    np.testing.assert_allclose(model.scores_, BradleyTerry().fit(pairs).scores_, atol=1e-4)


def test_a_judge_who_answers_alike_in_both_orders_has_no_bias():
    """W13: a judge's left bias is the judge's own, not what is left after the mean judge's."""
    rng = np.random.default_rng(5)
    score, side = np.array([1.0, 0.4, -0.4, -1.0]), np.array([0.0, 1.0, 1.0, 1.0])
    left, worker = rng.integers(4, size=4000), rng.integers(4, size=4000)
    right = (left + rng.integers(1, 4, size=4000)) % 4
    won = rng.random(4000) < 1 / (1 + np.exp(score[right] - score[left] - side[worker]))
    names = [pa.array(list(letters)) for letters in ("abcd", "wxyz")]
    model = BradleyTerry().fit(Pairs(left, right, np.where(won, 0, 1), worker, *names, np.zeros((4000, 0))))
    found, error = (model.workers_[name].to_numpy() for name in ("left_bias", "left_bias_error"))
    np.testing.assert_allclose(found, side, atol=0.25)
    assert (np.abs(found - side) < 3 * error).all()
    assert (error < 0.15).all()


def answered(rng, questions=150, items=5, each=3, alike=0.8):
    """Return comparisons in which three people answer one question, and mostly alike."""
    score = np.linspace(1, -1, items)
    one = rng.integers(items, size=questions)
    two = (one + rng.integers(1, items, size=questions)) % items
    lot = np.where(rng.random((questions, each)) < alike, rng.random((questions, 1)), rng.random((questions, each)))
    outcome = (lot > 1 / (1 + np.exp(score[two] - score[one]))[:, None]).astype(np.int64).ravel()
    left, right, question = (np.repeat(part, each) for part in (one, two, np.arange(questions)))
    workers = np.tile(np.arange(each), questions)
    names = [pa.array([f"{kind}{i}" for i in range(size)]) for kind, size in (("m", items), ("w", each))]
    return Pairs(left, right, outcome, workers, *names, np.zeros((len(left), 0)), question=question), score


def errors_of(model):
    return np.median(model.ranking_["standard_error"].to_numpy())


def test_answers_to_one_question_widen_intervals():
    """W12: three people who answer a question alike know hardly more than one."""
    pairs, _ = answered(np.random.default_rng(6))
    known = errors_of(BradleyTerry().fit(pairs))
    assert known > 1.3 * errors_of(BradleyTerry().fit(dataclasses.replace(pairs, question=None)))
    drawn = errors_of(BradleyTerry(intervals="bootstrap", resamples=100).fit(pairs))
    assert known == pytest.approx(drawn, rel=0.2)


@pytest.mark.slow
def test_intervals_hold_with_three_people_on_a_question():
    """W12: of 500 intervals of 95 %; the standard deviation of the share is about 0.01 (`benchmarks/ranking.py --coverage`)."""
    rng, hits = np.random.default_rng(7), []
    for _ in range(100):
        pairs, score = answered(rng)
        table = BradleyTerry().fit(pairs).ranking_
        place = np.array([int(name[1:]) for name in table["item"].to_pylist()])
        hits += ((table["low"].to_numpy() < score[place]) & (score[place] < table["high"].to_numpy())).tolist()
    assert 0.92 < np.mean(hits) < 0.98


def test_few_questions_widen_intervals_by_students_quantile():
    """W12: the variance is itself estimated, from as many questions as an item was compared in."""
    pairs, _ = answered(np.random.default_rng(1), questions=60)
    table = BradleyTerry().fit(pairs).ranking_
    reach = (table["high"].to_numpy() - table["low"].to_numpy()) / 2 / table["standard_error"].to_numpy()
    place = [pairs.items.to_pylist().index(name) for name in table["item"].to_pylist()]
    questions = [len(np.unique(pairs.question[(pairs.left == i) | (pairs.right == i)])) for i in place]
    assert reach == pytest.approx(stdtrit(np.array(questions) - 1, 0.975))
    assert (reach > 2).all()


def few_questions():
    """Return comparisons of which one item, that won them all, is in those of two questions alone."""
    pairs, _ = answered(np.random.default_rng(1), questions=60, items=4)
    left, right = np.repeat([0, 4, 4], [0, 10, 10]), np.repeat([0, 0, 1], [0, 10, 10])
    added = {
        "left": left, "right": right, "outcome": np.zeros(20, np.int64), "worker": np.zeros(20, np.int64),
        "question": np.repeat([60, 61], 10),
    }  # fmt: skip
    whole = {name: np.concatenate([getattr(pairs, name), values]) for name, values in added.items()}
    size = len(whole["left"])
    return dataclasses.replace(pairs, **whole, items=pa.array([*pairs.items.to_pylist(), "new"]), style=np.zeros((size, 0)))


def test_an_item_whose_interval_covers_all_others_may_be_any_of_them():
    """Intervals and tests take one law: that of the questions in which an item was compared."""
    model = BradleyTerry().fit(few_questions())
    rows = {row["item"]: row for row in model.ranking_.to_pylist()}
    new, others = rows.pop("new"), rows.values()
    assert all(new["low"] < row["score"] < new["high"] for row in others)
    assert (new["best_rank"], new["worst_rank"]) == (1, 5)
    assert set(new["group"].split()) & set(max(others, key=lambda row: row["score"])["group"].split())
    wrong = [row["order_may_be_wrong"] for row in model.next_pairs(10).to_pylist() if "new" in (row["left"], row["right"])]
    assert min(wrong) > 0.01
    sure = BradleyTerry(intervals="model").fit(few_questions()).ranking_.to_pylist()
    assert sure[0]["item"] == "new"
    assert sure[0]["high"] - sure[0]["low"] < (new["high"] - new["low"]) / 2


@pytest.mark.parametrize("kept", [300, 100])
def test_clusters_of_an_item_are_counted_once(kept):
    """In a table of all where comparisons are many, and in a list where they are few."""
    pairs, _ = draw_pairs(np.random.default_rng(5), n=300, items=6, workers=100)
    pairs = pairs.only(np.arange(kept))
    model = BradleyTerry(reliability=False).fit(dataclasses.replace(pairs, question=pairs.worker))
    met = [len(np.unique(pairs.worker[(pairs.left == i) | (pairs.right == i)])) for i in range(6)]
    assert find_degrees(model).tolist() == [max(count - 1, 1) for count in met]


def test_few_workers_of_an_item_widen_its_interval():
    """Where variances are summed over workers, those who compared an item are its clusters."""
    pairs, _ = draw_pairs(np.random.default_rng(3), n=2000, items=5, workers=40)
    kept = pairs.only(((pairs.left != 4) & (pairs.right != 4)) | (pairs.worker < 3))
    model = BradleyTerry().fit(kept)
    assert dependent_comparisons(kept, by_worker=True, halves=False) is None
    rows = {row["item"]: row for row in model.ranking_.to_pylist()}
    reach = {name: (row["high"] - row["score"]) / row["standard_error"] for name, row in rows.items()}
    names = kept.items.to_pylist()
    assert reach.pop(names[4]) == pytest.approx(stdtrit(2, 0.975))
    assert list(reach.values()) == pytest.approx([stdtrit(39, 0.975)] * 4)


def test_where_all_is_independent_clusters_change_little():
    """W12: with one comparison on each question, and a model that holds, all three kinds of errors agree."""
    pairs, _ = draw_pairs(np.random.default_rng(8), n=1500, workers=8, reliability=0.3, bias=0.3)
    model = errors_of(BradleyTerry(intervals="model").fit(pairs))
    alone = errors_of(BradleyTerry().fit(dataclasses.replace(pairs, question=np.arange(1500))))
    assert alone == pytest.approx(errors_of(BradleyTerry().fit(pairs)), rel=1e-6)
    assert alone == pytest.approx(model, rel=0.1)
    many, _ = draw_pairs(np.random.default_rng(9), n=2000, workers=60)
    by_worker = errors_of(BradleyTerry().fit(many))
    assert errors_of(BradleyTerry().fit(dataclasses.replace(many, question=np.arange(2000)))) == pytest.approx(
        by_worker, rel=1e-6
    )


def test_both_orders_of_a_pair_are_one_cluster():
    """W12: without a question, the two orders in which one worker judged two items belong together."""
    rng = np.random.default_rng(10)
    one, two = np.triu_indices(10, 1)
    left, right = np.concatenate([one, two]), np.concatenate([two, one])
    pairs = Pairs(
        left,
        right,
        rng.integers(2, size=90),
        np.zeros(90, np.int64),
        pa.array(list("abcdefghij")),
        pa.array(["j"]),
        np.zeros((90, 0)),
    )
    code = dependent_comparisons(pairs, by_worker=False, halves=False)
    np.testing.assert_array_equal(code[:45], code[45:])
    assert len(np.unique(code)) == 45
    assert dependent_comparisons(pairs.only(np.arange(90) < 45), by_worker=False, halves=False) is None


def test_a_question_column_is_found_named_or_left_out(tmp_path, run):
    """W12: a question or prompt column is used where it is there; --cluster names another; too few are said."""
    pairs, _ = answered(np.random.default_rng(11), questions=40)
    items = pairs.items.to_pylist()
    rows = [
        {
            "model_a": items[a],
            "model_b": items[b],
            "winner": ("model_a", "model_b")[won],
            "judge": f"j{w}",
            "question_id": f"q{q}",
        }
        for a, b, won, w, q in zip(pairs.left, pairs.right, pairs.outcome, pairs.worker, pairs.question, strict=True)
    ]
    path = tmp_path / "arena.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert len(np.unique(read_pairs(path).question)) == 40
    code, said, _ = run("rank", path, "--json")
    assert code == 0
    assert json.loads(said)["columns"]["question"] == "question_id"
    assert run("rank", path, "--cluster", "nothing")[0] == 2
    code, said, _ = run("rank", path, "--cluster", "judge")
    assert code == 0
    assert "With 3 questions, fewer than 30" in " ".join(said.split())
    listed = [{**row, "prompt": [{"role": "user", "content": row["question_id"]}]} for row in rows]
    for row in listed:
        del row["question_id"]
    path.write_text("\n".join(map(json.dumps, listed)), encoding="utf-8")
    assert len(np.unique(read_pairs(path).question)) == 40  # a list of messages tells questions apart as well
    with pytest.raises(ColumnError, match="both"):
        read_pairs(pa.table({"left": ["a"], "right": ["b"], "winner": ["a"]}), question_column="left", left_column="left")


def test_a_saved_ranking_keeps_its_questions(tmp_path):
    """W12: errors of a model that was saved are those of the model."""
    pairs, _ = answered(np.random.default_rng(12), questions=60)
    model = BradleyTerry().fit(pairs)
    model.save(tmp_path / "model")
    assert errors_of(load_model(tmp_path / "model")) == pytest.approx(errors_of(model), rel=1e-9)
