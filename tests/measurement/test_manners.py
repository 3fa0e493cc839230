"""Studies keep the manners of every estimator: parameters, cloning, cards, saving, and not being fitted."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdassay import BradleyTerry, ManyFacet, PartialCredit, Rasch, RatingScale, as_labels, load_model
from crowdassay.errors import CrowdassayError, DataError, NotFittedError, ParameterError
from crowdassay.estimators.load import load_estimator
from crowdassay.results.saved import folder, study
from support.draws import draw_scores

RNG = np.random.default_rng(0)
SCORES = draw_scores(0, 40, np.linspace(-1, 1, 6)[:, None] + np.array([-0.5, 0.5]))[0]
RIGHT = draw_scores(0, 40, np.linspace(-1, 1, 6)[:, None])[0]
RATINGS = pa.table(
    {
        "essay": [f"e{n // 4}" for n in range(160)],
        "rater": [f"r{n % 4}" for n in range(160)],
        "lang": [f"l{n % 3}" for n in range(160)],
        "score": np.clip(RNG.integers(4, size=160) + (np.arange(160) % 4 == 2), 0, 3),
    }
)
PAIRS = pa.table(
    {
        "left": list("abcdab") * 30,
        "right": list("bcdacd") * 30,
        "winner": RNG.choice(["left", "right", "tie"], 180),
        "worker": [f"w{n % 5}" for n in range(180)],
        "length": RNG.normal(size=180),
    }
)
CASES = {
    "many facets": (ManyFacet(facets=("essay", "rater")), RATINGS, {"group_column": "lang"}, ["measures_", "group_shifts_"]),
    "joint": (ManyFacet(facets=["essay", "rater"], estimation="joint", correct=True), RATINGS, {}, ["measures_", "facets_"]),
    "partial credit by rater": (ManyFacet(facets=["essay", "rater"], steps="rater"), RATINGS, {}, ["thresholds_"]),
    "rasch": (Rasch(), RIGHT, {}, ["abilities_", "difficulties_", "thresholds_"]),
    "rating scale": (RatingScale(spread=1.0), SCORES, {}, ["abilities_", "difficulties_", "thresholds_"]),
    "partial credit": (PartialCredit(prior=2.0), SCORES, {}, ["abilities_", "difficulties_", "thresholds_"]),
    "ranking": (BradleyTerry(), PAIRS, {"style": ["length"]}, ["ranking_", "workers_", "style_"]),
    "plain ranking": (BradleyTerry(reliability=False, prior=1.0, ties="rao-kupper"), PAIRS, {}, ["ranking_"]),
}


def fresh(name):
    model, data, options, tables = CASES[name]
    return type(model)(**model.get_params()), data, options, tables


def same(one, two, tables):
    for table in tables:
        first, second = getattr(one, table), getattr(two, table)
        assert first.column_names == second.column_names
        for name in first.column_names:
            left, right = (np.asarray(frame[name].to_pylist()) for frame in (first, second))
            np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("name", CASES)
def test_a_saved_model_comes_back_as_it_was(name, tmp_path):
    model, data, options, tables = fresh(name)
    model.fit(data, **options).save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert type(again) is type(model)
    assert {key: list(v) if isinstance(v, tuple) else v for key, v in again.get_params().items()} == {
        key: list(v) if isinstance(v, tuple) else v for key, v in model.get_params().items()
    }
    same(model, again, tables)
    assert (again.log_likelihood_, again.spread_, again.converged_) == (model.log_likelihood_, model.spread_, model.converged_)
    assert getattr(again, "notes_", None) == getattr(model, "notes_", None)
    model.save(tmp_path / "model")  # over itself
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["data.parquet", "fit.parquet", "model.json"]


@pytest.mark.parametrize("name", CASES)
def test_parameters_cloning_cards_and_pickles(name):
    sklearn = pytest.importorskip("sklearn.base")
    model, data, options, tables = fresh(name)
    copy = sklearn.clone(model)
    assert repr(copy) == repr(model)
    assert repr(model).startswith(type(model).__name__ + "(")
    assert "<table>" not in model._repr_html_()
    with pytest.raises(NotFittedError, match=r"has not been fitted; call fit\("):
        getattr(model, tables[0])
    with pytest.raises(NotFittedError):
        model.save("nowhere")
    with pytest.raises(ParameterError, match="has no parameter 'nonsense'"):
        model.set_params(nonsense=1)
    copy.fit(data, **options)
    assert "<table>" in copy._repr_html_()
    same(copy, pickle.loads(pickle.dumps(copy)), tables)
    same(copy, sklearn.clone(copy).fit(data, **options), tables)


def test_set_params_changes_the_next_fit():
    one = Rasch().fit(RIGHT)
    two = Rasch().set_params(prior=0.3).fit(RIGHT)
    spread = [np.std(model.difficulties_["difficulty"].to_numpy()) for model in (one, two)]
    assert spread[1] < spread[0]


def test_a_study_is_no_model_of_labels(tmp_path, run):
    Rasch().fit(RIGHT).save(tmp_path / "model")
    with pytest.raises(DataError, match="is a Rasch, which is not fitted to labels"):
        load_estimator(tmp_path / "model")
    code, _, error = run("update", tmp_path / "model", "--refit")
    assert (code, "is a Rasch" in error) == (1, True)


@pytest.mark.parametrize(
    ("name", "part", "column", "value"),
    [
        ("rasch", "data.parquet", "item", 99),
        ("rasch", "data.parquet", "worker", -1),
        ("rasch", "data.parquet", "score", 7),
        ("many facets", "data.parquet", "code", 10_000),
        ("many facets", "data.parquet", "score", -2),
        ("ranking", "data.parquet", "left", 77),
        ("ranking", "data.parquet", "worker", 77),
        ("ranking", "data.parquet", "outcome", 3),
    ],
)
def test_forged_codes_are_refused(name, part, column, value, tmp_path):
    """The sums are right, but another hand wrote codes that name nothing."""
    model, data, options, _ = fresh(name)
    model.fit(data, **options).save(tmp_path / "model")
    path = tmp_path / "model" / part
    table = pq.read_table(path)
    codes = table[column].to_pylist()[0]
    codes[0] = value
    table = table.set_column(table.column_names.index(column), column, pa.array([codes], table[column].type))
    head = json.loads((tmp_path / "model" / "model.json").read_text())
    parts = {one: table if one == part else pq.read_table(tmp_path / "model" / one) for one in folder.STUDY_PARTS}
    folder.write_model(tmp_path / "model", model, {key: v for key, v in head.items() if key != "checksum"}, parts)
    with pytest.raises(DataError, match="do not fit together"):
        load_model(tmp_path / "model")


ODD = [
    None,
    -1,
    10**12,
    0.5,
    "x",
    [],
    {},
    [None],
    {"value": 3},
    {"shape": [2, 2]},
    {"shape": None},
    {"names": 2},
    {"names": None},
]


@pytest.mark.parametrize("name", ["many facets", "joint", "rating scale", "ranking"])
def test_whatever_is_signed_again_works_or_is_refused_in_one_sentence(name, tmp_path, monkeypatch):
    """Every value of the head and every column, changed: the model comes back with its tables, or a sentence does."""
    model, data, options, tables = fresh(name)
    place = tmp_path / "model"
    model.fit(data, **options).save(place)
    head = {key: v for key, v in json.loads((place / "model.json").read_text()).items() if key != "checksum"}
    parts = {one: pq.read_table(place / one) for one in folder.STUDY_PARTS}
    changes = [({**head, key: odd}, parts) for key in ("settings", "records") for odd in ODD]
    for n, record in enumerate(head["records"]):
        for field in record:
            for odd in ODD:
                records = [{**one, field: odd} if k == n else one for k, one in enumerate(head["records"])]
                changes.append(({**head, "records": records}, parts))
    for part, table in parts.items():
        for n, column in enumerate(table.column_names):
            size = len(table[column][0])
            for odd in (pa.array([[1.5] * size]), pa.array([["x"] * size]), pa.array([[-7] * size]), pa.nulls(1)):
                changes.append((head, parts | {part: table.set_column(n, column, odd)}))
    refused = []
    for changed, tabled in changes:
        monkeypatch.setattr(study, "read_part", lambda _, part, files, tabled=tabled: tabled[part])
        try:
            again = study.read_study(place, changed, type(model))
        except CrowdassayError as error:
            refused.append(error.message)
            continue
        for table in tables:
            getattr(again, table)
    assert len(refused) > len(changes) / 2
    assert not any("\n" in message for message in refused)


def test_estimates_of_other_data_and_damage_are_refused(tmp_path):
    Rasch().fit(RIGHT).save(tmp_path / "one")
    Rasch().fit(draw_scores(1, 30, np.zeros((4, 1)))[0]).save(tmp_path / "two")
    heads = [json.loads((tmp_path / name / "model.json").read_text()) for name in ("one", "two")]
    parts = {
        "data.parquet": pq.read_table(tmp_path / "one" / "data.parquet"),
        "fit.parquet": pq.read_table(tmp_path / "two" / "fit.parquet"),
    }
    head = {**heads[0], "records": [heads[0]["records"][0], heads[1]["records"][1]]}
    folder.write_model(tmp_path / "mixed", Rasch(), {key: v for key, v in head.items() if key != "checksum"}, parts)
    with pytest.raises(DataError, match="do not fit together"):
        load_model(tmp_path / "mixed")
    (tmp_path / "one" / "fit.parquet").write_bytes(b"nonsense")
    with pytest.raises(DataError, match="damaged or has been changed"):
        load_model(tmp_path / "one")


def test_sliders_are_measured_in_bins():
    rng = np.random.default_rng(0)
    rows = [(r, c, int(np.clip(rng.normal(20 + 4 * c, 20), 0, 100))) for r in range(10) for c in range(15)]
    rater, clip, score = zip(*rows, (11, 0, 0), (11, 1, 100), strict=True)
    table = pa.table({"rater": rater, "clip": clip, "score": score})
    for bins in (5, "5", [0, 20, 40, 60, 80, 100]):
        model = ManyFacet(facets=["rater", "clip"]).fit(table, bins=bins)
        assert model._ratings.values.tolist() == [10, 30, 50, 70, 90]
        assert any("5 classes with the edges 0, 20, 40, 60, 80, 100" in note for note in model._ratings.notes)
    many = pa.table(
        {"rater": [n % 7 for n in range(707)], "clip": [n % 31 for n in range(707)], "score": [n % 101 for n in range(707)]}
    )
    with pytest.raises(DataError, match=r"101 different values, .* `bins` 10 makes ten classes"):
        ManyFacet(facets=["rater", "clip"]).fit(many)
    with pytest.raises(DataError, match="outside the edges"):
        ManyFacet(facets=["rater", "clip"]).fit(many, bins=[0, 50])


def test_labels_that_are_encoded_have_no_columns_to_name():
    items, workers, scores = (["a", "b", "a"], ["ann", "ann", "bob"], [0, 2, 1])
    with pytest.raises(ParameterError, match="encoded already; give columns"):
        PartialCredit().fit(as_labels((items, workers, scores)), item_column="a")


def test_ratings_that_are_words_are_asked_for_their_order_and_count_as_places(tmp_path):
    grades = ("poor", "fair", "good")
    rows = [f"r{r},t{t},{grades[(r + t * (r + 2)) % 3]}" for r in range(4) for t in range(6)]
    (tmp_path / "a.csv").write_text("\n".join(["rater,task,rating", *rows]))
    with pytest.raises(
        DataError, match=r"The ratings of 'a.csv' are no numbers but 'fair', 'good', 'poor'; give them in their"
    ):
        ManyFacet(facets=["rater", "task"]).fit(tmp_path / "a.csv")
    with pytest.raises(DataError, match="hold 'poor', which `classes` does not name"):
        ManyFacet(facets=["rater", "task"]).fit(tmp_path / "a.csv", classes=["fair", "good"])
    named = ManyFacet(facets=["rater", "task"]).fit(tmp_path / "a.csv", classes=grades)
    assert "Ratings are words, and count as their places: poor = 1, fair = 2, good = 3." in named.notes_
    text = (tmp_path / "a.csv").read_text()
    for n, grade in enumerate(grades, 1):
        text = text.replace(grade, str(n))
    (tmp_path / "b.csv").write_text(text)
    numbered = ManyFacet(facets=["rater", "task"]).fit(tmp_path / "b.csv")
    assert named.measures_.equals(numbered.measures_)
