"""How accurate and how honest are the methods on real data, ours and others'?

    python benchmarks/accuracy.py [--methods NAME ...] [--most LABELS] [--add FILE ...] [--json FILE] [--page FILE]
    python benchmarks/accuracy.py --known [--draws 3]     with 20, 50, 100 and 200 known items

Every dataset found (CROWDASSAY_DATA, else ../shared/data) is given to every method with its default settings and never the
truth. The default, some of whose constants are learned from such datasets, is scored with those learned without the dataset's
group (benchmarks/left_out.json, by benchmarks/learn_default.py), and so is the law of its errors (left_out_law.json, by
benchmarks/learn_sizing.py). Means are over groups, which count as one. Errors are in
percent, a tie among m classes counting 1 - 1/m if one is right. Log-loss takes probabilities below 1e-6 for 1e-6; calibration
is the expected calibration error in ten bins; confidence is the mean probability of the labels less their accuracy.
Intervals are 90 %, from a bootstrap over groups.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from corpus import Dataset, calibration_error, datasets
from crowdassay import Assay
from crowdassay.errors import DataError
from crowdassay.estimators.methods import METHODS
from crowdassay.findings.scores import distance_errors, error_rate
from crowdassay.labels.labels import shares
from crowdassay.labels.record import find_winners
from crowdassay.models.assay.constants import Constants
from crowdassay.planning.stop import Law, limit_of, shipped_law
from crowdassay.results.report.chart import save_chart
from crowdassay.results.result import Result
from known_items import as_text as known_text
from known_items import measure
from page import fill
from peers import peers
from summary import SCALE_ONLY, as_text, regret_chart, sections

USUAL = ("assay", "majority", "wawa", "dawid-skene", "one-coin", "two-coin", "mean-field", "dawid-skene-mean-field", "minimax")
LEAST = 1e-6
LEFT_OUT, LEFT_OUT_LAW = (Path(__file__).parent / name for name in ("left_out.json", "left_out_law.json"))

Fit = Callable[[Dataset], Any]


def score(one: Dataset, winners: np.ndarray, posterior: np.ndarray) -> dict[str, Any]:
    """Return the scores of one method on one dataset."""
    known = np.flatnonzero(one.truth >= 0)
    p, truth, n_classes = posterior[known], one.truth[known], posterior.shape[1]
    code = winners.argmax(axis=1)
    error, sure = error_rate(winners, one.truth), posterior[known, code[known]]
    return {
        "error": 100 * error,
        "log_loss": float(-np.log(np.maximum(p[np.arange(len(known)), truth], LEAST)).mean()),
        "brier": float(((p - np.eye(n_classes)[truth]) ** 2).sum(axis=1).mean()),
        "calibration": calibration_error(posterior, winners, one.truth),
        "confidence": float(sure.mean() - (1 - error)),
        "expected": float((1 - sure).sum()),
        "wrong": error * len(known),
        "truths": len(known),
        "rmse": distance_errors(winners, one.truth)[0] if one.ordered else None,
    }


def promises(one: Dataset, result: Result) -> dict[str, Any]:
    """Return what became of the labels called settled, and whether the number of errors lies in its interval."""
    known = np.flatnonzero(one.truth >= 0)
    settled = known[np.array(result.insight.standings, dtype=object)[known] == "settled"]
    limit = limit_of(float((1 - result.probability[known]).mean()), law_without(one.group))
    low, high = limit.low * len(known), limit.high * len(known)
    wrong = int((result.code[known] != one.truth[known]).sum())
    return {
        "settled": len(settled),
        "settled_wrong": int((result.code[settled] != one.truth[settled]).sum()),
        "inside": bool(low - 0.5 <= wrong <= high + 0.5),
    }


def law_without(group: str) -> Law:
    """Return the law of errors that was learned without a group; three groups are too small to have taught it anything."""
    learned = json.loads(LEFT_OUT_LAW.read_text(encoding="utf-8")).get(group)
    return shipped_law() if learned is None else Law(**learned)


def ours(name: str) -> Fit:
    """Return a function that fits one of our methods."""
    left_out = json.loads(LEFT_OUT.read_text(encoding="utf-8")) if name.startswith("assay") else {}

    def fit(one: Dataset) -> Result:
        if name.startswith("assay"):
            constants = Constants(**left_out[one.group])
            scale = {"ordered": True, "decide": "mean"} if name in SCALE_ONLY else {}
            return Assay(constants=constants, **scale).fit(one.labels).result_
        return METHODS[name].make().fit(one.labels).result_

    return fit


def rounded_mean(one: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the class nearest to the mean of the labels, halves upwards, as if it were certain."""
    place = np.arange(one.labels.n_classes)
    code = np.floor(shares(one.labels.votes()) @ place + 0.5 + 1e-9).astype(int)
    return code, np.eye(len(place))[code]


def asked_for(arguments: argparse.Namespace) -> dict[str, Fit]:
    """Return the methods to measure by name."""
    others = {} if arguments.no_peers else peers()
    if not others and not arguments.no_peers:
        print("Neither crowd-kit nor cleanlab is installed: only our own methods are measured.")
    named = list(METHODS) if "all" in arguments.methods else [name for name in arguments.methods if name in METHODS]
    named += ["assay --ordered --decide mean"] if "assay" in named else []
    others |= {"rounded mean of the labels": rounded_mean} if "assay" in named else {}
    wanted = [name for name in arguments.methods if name.startswith(("crowd-kit ", "cleanlab "))]
    kept = {name: fit for name, fit in others.items() if not wanted or name in {*wanted, "rounded mean of the labels"}}
    return {name: ours(name) for name in named} | kept


def measured(one: Dataset, name: str, fit: Fit) -> dict[str, Any]:
    """Return the row of a method on a dataset."""
    started = time.perf_counter()
    found = fit(one)
    row: dict[str, Any] = {
        "dataset": one.name, "group": one.group, "people": one.people, "method": name, "seconds": time.perf_counter() - started
    }  # fmt: skip
    if isinstance(found, Result):
        winners, posterior = found.winners, found.posterior
        row |= promises(one, found) if name == "assay" else {}
    else:
        code, posterior = found
        tied, lone = find_winners(posterior), np.eye(one.labels.n_classes, dtype=bool)[code]
        winners = np.where((tied & lone).any(axis=1, keepdims=True), tied, lone)  # a peer's choice, ties already broken
    return row | score(one, winners, posterior)


def compare(arguments: argparse.Namespace, done: set[tuple[str, str]]) -> list[dict[str, Any]]:
    """Give every dataset to every method that has not had it, and return their rows."""
    rows, fits = [], asked_for(arguments)
    for one in datasets(arguments.most):
        for name, fit in fits.items():
            if (one.name, name) in done or (name in SCALE_ONLY and not one.ordered):
                continue
            try:
                rows.append(measured(one, name, fit))
            except (DataError, ValueError) as refusal:
                print(f"{one.name:26s} {name:30s} not taken: {refusal}", flush=True)
                continue
            print(f"{one.name:26s} {name:30s} {rows[-1]['error']:6.2f} % {rows[-1]['seconds']:7.2f} s", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=USUAL, help="ours, 'crowd-kit NAME' and 'cleanlab NAME'; 'all' of ours")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--known", action="store_true", help="the default with known items, beside what else can use them")
    parser.add_argument("--draws", type=int, default=3, help="--known: how often known items are drawn")
    parser.add_argument("--most", type=int, default=10**9, help="leave out datasets with more labels")
    parser.add_argument("--add", type=Path, nargs="*", default=[], help="--json of earlier runs, whose rows are taken in")
    for kind in ("json", "chart", "text"):
        parser.add_argument(f"--{kind}", type=Path)
    parser.add_argument("--page", type=Path, help="a page, such as docs/accuracy.md, into which to write the tables")
    arguments = parser.parse_args()
    rows = [row for path in arguments.add for row in json.loads(path.read_text(encoding="utf-8"))]
    if arguments.known:
        done = {row["dataset"] for row in rows}
        left = (one for one in datasets(arguments.most) if one.name not in done)
        rows += [row for one in left for row in measure(one, LEFT_OUT, arguments.draws)]
        text = known_text(rows)
        tables = {"known items": text.replace("## ", "### ").split("\n")}
    else:
        rows += compare(arguments, {(row["dataset"], row["method"]) for row in rows})
        text, tables = as_text(rows), sections(rows)
    print(text)
    if arguments.text:
        arguments.text.write_text(text + "\n", encoding="utf-8")
    if arguments.page:
        fill(arguments.page, tables)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    if arguments.chart and not arguments.known:
        save_chart(regret_chart(rows), arguments.chart)


if __name__ == "__main__":
    main()
