"""Errors of measures where the ratings of one question are alike."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import ManyFacet, load_model


def answered(rng, questions=80, models=5, judges=4, alike=0.5):
    """Return ratings of models on questions; judges often share the view of an answer; each rating is as the model has it."""
    theta, severity = np.linspace(-1, 1, models), np.linspace(-0.6, 0.6, judges)
    question, model, judge = (part.ravel() for part in np.indices((questions, models, judges)))
    shared, own = rng.random((questions, models))[question, model], rng.random(len(question))
    lot = np.where(rng.random(len(question)) < alike, shared, own)
    steps = np.array([0.0, -1.0, -1.0, 0.0])
    chance = np.exp(np.arange(4) * (theta[model] - severity[judge])[:, None] - steps)
    score = (lot[:, None] * chance.sum(axis=1, keepdims=True) > np.cumsum(chance, axis=1)).sum(axis=1)
    return pa.table({"prompt": question, "model": model, "judge": judge, "score": score}), theta


def errors(model, facet):
    return np.array([row["standard_error"] for row in model.measures_.to_pylist() if row["facet"] == facet])


def fit(table, **reading):
    return ManyFacet(facets=["judge", "model"]).fit(table, **reading)


def test_ratings_of_one_question_widen_errors():
    """W12: a prompt column clusters, by its name or by question_column; without dependence it changes little."""
    table, _ = answered(np.random.default_rng(0))
    alone = table.drop_columns(["prompt"])
    known, unknown = fit(table), fit(alone)
    assert (errors(known, "model") > 1.15 * errors(unknown, "model")).all()
    np.testing.assert_allclose(
        [row["measure"] for row in known.measures_.to_pylist()], [row["measure"] for row in unknown.measures_.to_pylist()]
    )
    renamed = fit(alone.append_column("stem", table["prompt"]), question_column="stem")
    np.testing.assert_allclose(errors(renamed, "judge"), errors(known, "judge"))
    free, _ = answered(np.random.default_rng(1), questions=300, alike=0.0)
    for facet in ("model", "judge"):
        np.testing.assert_allclose(errors(fit(free), facet), errors(fit(free.drop_columns(["prompt"])), facet), rtol=0.2)


@pytest.mark.slow
def test_intervals_of_measures_hold_where_judges_share_a_view():
    """W12: of 300 intervals of 95 % (`benchmarks/measure.py --coverage`)."""
    rng, hits = np.random.default_rng(2), []
    for _ in range(60):
        table, theta = answered(rng)
        model = fit(table)
        found = [row["measure"] for row in model.measures_.to_pylist() if row["facet"] == "model"]
        hits += (np.abs(np.array(found) - theta) < 1.96 * errors(model, "model")).tolist()
    assert 0.91 < np.mean(hits) < 0.99


def test_few_questions_are_said_and_a_model_keeps_its_questions(tmp_path):
    """W12: under 30 questions nothing is clustered, with a note; a saved model has the same errors."""
    table, _ = answered(np.random.default_rng(3), questions=12)
    model = fit(table)
    assert any("12 questions" in note for note in model.notes_)
    np.testing.assert_allclose(errors(model, "judge"), errors(fit(table.drop_columns(["prompt"])), "judge"))
    model = fit(answered(np.random.default_rng(4))[0])
    model.save(tmp_path / "model")
    np.testing.assert_allclose(errors(load_model(tmp_path / "model"), "model"), errors(model, "model"))


def test_objects_within_one_question_keep_the_models_errors():
    """W12: an answer that was rated for one question only has no others to be compared with; raters' errors are clustered."""
    table, _ = answered(np.random.default_rng(5))
    answer = [f"{q}-{m}" for q, m in zip(table["prompt"].to_pylist(), table["model"].to_pylist(), strict=True)]
    nested = ManyFacet(facets=["judge", "answer"]).fit(table.append_column("answer", pa.array(answer)))
    plain = ManyFacet(facets=["judge", "answer"]).fit(table.append_column("answer", pa.array(answer)).drop_columns(["prompt"]))
    np.testing.assert_allclose(errors(nested, "answer"), errors(plain, "answer"))
    assert not np.allclose(errors(nested, "judge"), errors(plain, "judge"), rtol=1e-6)
    np.testing.assert_allclose(errors(nested, "judge"), errors(plain, "judge"), rtol=0.35)
