"""How fast is many-facet measurement, and do its standard errors hold?

python benchmarks/measure.py [--ratings 1000000]
python benchmarks/measure.py --coverage 200
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
