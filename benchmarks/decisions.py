"""What does it cost, and gain, to take the median or the mean class instead of the likeliest on scales?

    python benchmarks/decisions.py [--most LABELS] [--page docs/tasks/ordered.md]

Every ordered dataset found (CROWDASSAY_DATA, else ../shared/data) is fitted by the default, with and without its model of a
scale, with the constants learned without the dataset's group (benchmarks/left_out.json). Each decision is scored against the
truth: wrong labels, and the mean absolute and root mean square error in steps of the scale. Means are over groups, which count
as one; intervals of the differences from the first row are 90 %, from a bootstrap over groups.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

from corpus import Dataset, by_group, datasets
from crowdassay import Assay
from crowdassay.findings.scores import distance_errors, error_rate
from crowdassay.labels.record import DECISIONS, class_values, decide_classes
from crowdassay.models.assay.constants import Constants
from page import fill

LEFT_OUT = Path(__file__).parent / "left_out.json"
MEASURES = ("wrong", "MAE", "RMSE")
CHOICES = [(ordered, decide) for ordered in (False, True) for decide in DECISIONS]
DRAWS = 2000


def scores(one: Dataset, constants: Constants) -> np.ndarray:
    """Return wrong labels in percent, MAE and RMSE of every choice on one dataset, (n_choices, 3)."""
    rows = []
    for ordered in (False, True):
        posterior = Assay(constants=constants, ordered=ordered).fit(one.labels).result_.posterior
        for decide in DECISIONS:
            winners = decide_classes(posterior, decide, class_values(one.labels))
            rmse, mae = distance_errors(winners, one.truth)
            rows.append((100 * error_rate(winners, one.truth), mae, rmse))
    return np.array(rows)


def table(sets: list[Dataset], found: np.ndarray) -> list[str]:
    """Return the lines of the table: means over groups, and what is gained over the likeliest class without a scale."""
    generator = np.random.default_rng(0)
    size = len({one.group for one in sets})
    drawn = generator.integers(size, size=(DRAWS, size))
    lines = ["| model, decision | wrong labels | MAE | RMSE |", "|---|---|---|---|"]
    for at, (ordered, decide) in enumerate(CHOICES):
        cells = []
        for measure in range(len(MEASURES)):
            groups = np.array(list(by_group(sets, found[:, at, measure]).values()))
            less = groups - np.array(list(by_group(sets, found[:, 0, measure]).values()))
            low, high = np.quantile(less[drawn].mean(axis=1), (0.05, 0.95))
            value = f"{groups.mean():.1f} %" if measure == 0 else f"{groups.mean():.3f}"
            form = "+.1f" if measure == 0 else "+.3f"
            cells.append(value if at == 0 else f"{value} ({low:{form}} to {high:{form}})")
        name = f"{'--ordered ' if ordered else ''}--decide {decide}"
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=10**9, help="leave out datasets with more labels")
    parser.add_argument("--page", type=Path, help="a page, such as docs/tasks/ordered.md, into which to write the table")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # how the labels were read is not the question here
    left_out = json.loads(LEFT_OUT.read_text(encoding="utf-8"))
    sets, found = [], []
    for one in datasets(arguments.most):
        if one.ordered:
            sets.append(one)
            found.append(scores(one, Constants(**left_out[one.group])))
            print(f"{one.name:24s} wrong, by decision: {', '.join(f'{value:.1f}' for value in found[-1][:, 0])}", flush=True)
    lines = table(sets, np.array(found))
    lines += ["", f"{len(sets)} datasets in {len({one.group for one in sets})} groups."]
    print("\n".join(lines))
    if arguments.page:
        fill(arguments.page, {"decisions": lines})


if __name__ == "__main__":
    main()
