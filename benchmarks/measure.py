"""How fast is many-facet measurement, and do its standard errors hold?

python benchmarks/measure.py [--ratings 1000000]
python benchmarks/measure.py --coverage 200    of severities; also of measures, where ratings of one question are alike
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay import ManyFacet

FACETS = ["task", "rater", "criterion"]


def draw(rng: np.random.Generator, tasks: int, raters: int, criteria: int, each: int, top: int = 4) -> tuple[pa.Table, Any]:
    """Draw ratings from the model."""
    theta, severity, hard = rng.normal(0.3, 1, tasks), rng.normal(0, 0.7, raters), rng.normal(0, 0.5, criteria)
    severity, hard = severity - severity.mean(), hard - hard.mean()
    steps = np.concatenate([[0.0], np.cumsum(np.linspace(-1.5, 1.5, top))])
    task = np.repeat(np.arange(tasks), each)
    rater, criterion = rng.integers(raters, size=len(task)), rng.integers(criteria, size=len(task))
    logit = np.arange(top + 1) * (theta[task] - severity[rater] - hard[criterion])[:, None] - steps
    score = (logit + rng.gumbel(size=logit.shape)).argmax(axis=1)
    return pa.table({"task": task, "rater": rater, "criterion": criterion, "score": score}), severity


def answered(
    rng: np.random.Generator, questions: int, models: int = 8, judges: int = 4, top: int = 4
) -> tuple[pa.Table, Any, Any]:
    """Draw ratings of models on questions by judges, and return the measures and severities.

    Every single rating is as the model has it. With a chance of 0.4 a judge follows the others' view of an answer, and with
    one of 0.3 the judge's own view of the question.
    """
    theta, severity = rng.normal(0.3, 1, models), rng.normal(0, 0.7, judges)
    severity -= severity.mean()
    steps = np.concatenate([[0.0], np.cumsum(np.linspace(-1.5, 1.5, top))])
    question, model, judge = (part.ravel() for part in np.indices((questions, models, judges)))
    logit = np.arange(top + 1) * (theta[model] - severity[judge])[:, None] - steps
    chance = np.exp(logit - logit.max(axis=1, keepdims=True))
    lots = rng.random((questions, models)), rng.random((questions, judges)), rng.random(len(question))
    kind = rng.random(len(question))
    lot = np.select([kind < 0.4, kind < 0.7], [lots[0][question, model], lots[1][question, judge]], lots[2])
    score = (lot[:, None] * chance.sum(axis=1, keepdims=True) > np.cumsum(chance, axis=1)).sum(axis=1)
    return pa.table({"question": question, "model": model, "judge": judge, "score": score}), theta, severity


def cover_questions(rng: np.random.Generator, draws: int) -> None:
    """Print how often intervals hold where the ratings of one question are alike."""
    print("\n| 8 models, 4 judges | questions | severity | measure of models |\n|---|---|---|---|")
    for questions in (60, 200):
        for known in (True, False):
            hits: list[list[bool]] = [[], []]
            for _ in range(draws):
                table, theta, severity = answered(rng, questions)
                model = ManyFacet(facets=["judge", "model"]).fit(table if known else table.drop_columns(["question"]))
                rows = model.measures_.to_pylist()
                for n, (facet, truth) in enumerate((("judge", severity), ("model", theta))):
                    found = [(row["measure"], row["standard_error"]) for row in rows if row["facet"] == facet]
                    hits[n] += [abs(value - real) < 1.96 * error for (value, error), real in zip(found, truth, strict=True)]
            told = "known" if known else "not known"
            print(f"| questions {told} | {questions} | {np.mean(hits[0]):.1%} | {np.mean(hits[1]):.1%} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", type=int, default=1_000_000)
    parser.add_argument("--coverage", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    ManyFacet(facets=FACETS).fit(draw(rng, 20, 3, 2, 6)[0])  # compiles
    if options.coverage:
        print("| estimation | ratings for each task | 95% intervals that hold the severity |")
        print("|---|---|---|")
        for estimation, correct in (("marginal", False), ("joint", False), ("joint", True)):
            for each in (4,):
                hits = []
                for _ in range(options.coverage):
                    table, severity = draw(rng, 100, 10, 3, each, top=3)
                    model = ManyFacet(facets=FACETS, estimation=estimation, correct=correct).fit(table)
                    rows = [row for row in model.measures_.to_pylist() if row["facet"] == "rater"]
                    errors = [(row["measure"], row["standard_error"]) for row in rows]
                    hits += [abs(value - truth) < 1.96 * error for (value, error), truth in zip(errors, severity, strict=True)]
                print(f"| {estimation}{', corrected' if correct else ''} | {each} | {np.mean(hits):.3f} |", flush=True)
        cover_questions(np.random.default_rng(1), options.coverage)
        return
    table, _ = draw(rng, options.ratings // 10, 500, 5, 10)
    for estimation in ("joint", "marginal"):
        begin = time.perf_counter()
        model = ManyFacet(facets=FACETS, estimation=estimation).fit(table)
        fitted = time.perf_counter() - begin
        rows = model.measures_.num_rows
        told = f"{fitted:.1f} s | {time.perf_counter() - begin:.1f} s"
        print(f"| {options.ratings:,} ratings, {rows:,} elements, {estimation} | {told} |", flush=True)


if __name__ == "__main__":
    main()
