"""How accurate and how honest are the methods on real data, ours and others'?

    python benchmarks/accuracy.py [--methods NAME ...] [--most LABELS] [--add FILE] [--json FILE] [--chart FILE] [--text FILE]
    python benchmarks/accuracy.py --ablation      the default with each piece left out, and each by itself
    python benchmarks/accuracy.py --family        the paper's model with a population, a learned prior and a learned penalty
    python benchmarks/accuracy.py --optimism      what looking at these datasets while choosing is worth

Every dataset found (CROWDASSAY_DATA, else ../shared/data) is given to every method, with its default settings and never the
truth. Errors are in percent, a tie among m classes counting 1 - 1/m if one is right. Log-loss takes probabilities below
1e-6 for 1e-6; calibration is the expected calibration error in ten bins. Over ordered classes there is the root mean square
error of the labels, and that of the mean class by the probabilities, rounded. Near-copies of the same data count as one in
all means.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from crowdassay import read_labels
from crowdassay.data.labels import Labels
from crowdassay.data.record import find_winners
from crowdassay.errors import DataError
from crowdassay.estimators.methods import METHODS
from crowdassay.io.truth import match_truth
from crowdassay.metrics.calibration import calibration, calibration_error
from crowdassay.metrics.scores import distance_errors, error_rate
from crowdassay.report.chart import save_chart
from peers import peers
from summary import as_text, regret_chart, summarise
from variants import family, optimism, variants

DATA = Path(os.environ.get("CROWDASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
USUAL = ("assay", "majority", "dawid-skene", "one-coin", "mean-field", "minimax", "minimax-ordinal")
LEAST = 1e-6


def score(winners: np.ndarray, posterior: np.ndarray, truth: np.ndarray, *, ordered: bool) -> dict[str, Any]:
    """Return the scores of one method on one dataset."""
    known = np.flatnonzero(truth >= 0)
    p = posterior[known]
    code = winners.argmax(axis=1)
    shown = SimpleNamespace(probability=posterior[np.arange(len(code)), code], winners=winners)
    middle = np.rint(posterior @ np.arange(posterior.shape[1])).astype(int)
    return {
        "error": 100 * error_rate(winners, truth),
        "rmse": distance_errors(winners, truth)[0] if ordered else None,
        "rmse_mean": distance_errors(np.eye(posterior.shape[1], dtype=bool)[middle], truth)[0] if ordered else None,
        "log_loss": float(-np.log(np.maximum(p[np.arange(len(known)), truth[known]], LEAST)).mean()),
        "brier": float(((p - np.eye(p.shape[1])[truth[known]]) ** 2).sum(axis=1).mean()),
        "calibration": calibration_error(calibration(shown, truth, np.linspace(0, 1, 11) - [1e-9, *[0] * 10])),
    }


def ours(name: str) -> Callable[[Labels], tuple[np.ndarray, np.ndarray]]:
    """Return a function that fits one of our methods and returns its winners and probabilities."""

    def fit(labels: Labels) -> tuple[np.ndarray, np.ndarray]:
        result = METHODS[name].make().fit(labels).result_
        return result.winners, result.posterior

    return fit


def asked_for(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the methods to measure by name."""
    if arguments.ablation or arguments.optimism or arguments.family:
        inside = family() if arguments.family else variants(constants=arguments.optimism)
        return {"majority": ours("majority")} | inside
    others = {} if arguments.no_peers else peers()
    if not others and not arguments.no_peers:
        print("crowd-kit is not installed: only our own methods are measured.")
    named = list(METHODS) if "all" in arguments.methods else [name for name in arguments.methods if name in METHODS]
    wanted = [name for name in arguments.methods if name.startswith("crowd-kit ")]
    return {name: ours(name) for name in named} | {name: fit for name, fit in others.items() if not wanted or name in wanted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=USUAL, help="ours by name, and 'crowd-kit NAME'; 'all' for everything")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--ablation", action="store_true", help="the default method piece by piece, and the vote")
    parser.add_argument("--family", action="store_true", help="options of the family that the paper does not have")
    parser.add_argument("--optimism", action="store_true", help="the same with other constants too, chosen on half of the data")
    parser.add_argument("--most", type=int, default=10**9, help="leave out datasets with more labels")
    parser.add_argument("--add", type=Path, help="a --json of an earlier run, whose rows are taken in")
    for kind in ("json", "chart", "text"):
        parser.add_argument(f"--{kind}", type=Path)
    arguments = parser.parse_args()
    fits = asked_for(arguments)
    rows: list[dict[str, Any]] = json.loads(arguments.add.read_text(encoding="utf-8"))["rows"] if arguments.add else []
    for folder in sorted(path for path in DATA.iterdir() if (path / "meta.json").is_file()):
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        labels = read_labels(folder / "labels.csv", classes=meta["classes"])
        if labels.n_labels > arguments.most:
            continue
        truth = match_truth(labels, folder / "truth.csv")[0]
        for name, fit in fits.items():
            started = time.perf_counter()
            try:
                winners, posterior = fit(labels)
            except (DataError, ValueError) as refusal:
                print(f"{folder.name:26s} {name:30s} not taken: {refusal}", flush=True)
                continue
            seconds = time.perf_counter() - started
            if winners.ndim == 1:  # a peer's choice, ties already broken
                tied = find_winners(posterior)
                lone = np.eye(labels.n_classes, dtype=bool)[winners]
                winners = np.where((tied & lone).any(axis=1, keepdims=True), tied, lone)
            row = {"dataset": folder.name, "method": name, "seconds": seconds}
            rows.append(row | score(winners, posterior, truth, ordered=meta["kind"] == "ordinal"))
            print(f"{folder.name:26s} {name:30s} {rows[-1]['error']:6.2f} % {seconds:7.2f} s", flush=True)
    records = summarise(rows)
    text = as_text(rows, records)
    if arguments.optimism:
        text += "\n\n" + optimism(rows)
    print(text)
    if arguments.text:
        arguments.text.write_text(text + "\n", encoding="utf-8")
    if arguments.json:
        arguments.json.write_text(json.dumps({"methods": records, "rows": rows}, indent=2), encoding="utf-8")
    if arguments.chart:
        save_chart(regret_chart(rows, records), arguments.chart)


if __name__ == "__main__":
    main()
