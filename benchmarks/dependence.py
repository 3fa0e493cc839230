r"""Can one see in the labels how far workers share mistakes?

    python benchmarks/dependence.py [--most LABELS] [--page FILE]

For every dataset two numbers. What is needed: the factor by which the default's logits, with the dataset's group left out,
would have to be multiplied to lose least, which needs the truth. And what is seen: the correlation of two workers' answers to
one item beyond what their tables explain,

.. math::  \frac{\sum_{jc} q_{jc} \sum_{i \ne i'} z_{ijc}\, z_{i'jc}}{\sum_{jc} q_{jc} \sum_{i \ne i'} s_{ic}\, s_{i'c}}

with z the log probability of an answer less its mean, s its standard deviation, q the class probabilities of workers from a
population. If shared mistakes showed, needed factors would be small where the correlation is large. The same correlation for
simulated crowds, whose workers err independently, says where they lie among the real ones.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from scipy.stats import spearmanr

from corpus import Dataset, datasets
from crowdassay import Assay
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.labels.labels import Labels
from crowdassay.models.assay.constants import Constants, default_constants
from crowdassay.solvers.assay.members import fit_tables
from crowdassay.solvers.assay.pool import answers
from crowdassay.statistics import softmax
from page import fill
from simulated import kinds

LEFT_OUT = Path(__file__).parent / "left_out.json"
RESAMPLES = 2000


def seen(labels: Labels) -> float:
    """Return the correlation of answers beyond what the workers' tables explain."""
    found, n_classes = fit_tables(LocalEngine(labels), default_constants(), ordered=False), labels.n_classes
    log_p = log_softmax(found.log_p[1], axis=2)
    p, given = np.exp(log_p), answers(labels)

    def total(values: np.ndarray) -> np.ndarray:
        """Add up over an item's labels what they say of each class."""
        return np.asarray(given @ values.transpose(0, 2, 1).reshape(-1, n_classes))

    apart = log_p - (p * log_p).sum(axis=2, keepdims=True)
    spread = np.repeat(np.sqrt((p * apart**2).sum(axis=2, keepdims=True)), n_classes, axis=2)
    q = softmax(total(log_p) + found.log_prior[1])
    pairs = [(q * (total(x) ** 2 - total(x**2))).sum() for x in (apart, spread)]
    return float(pairs[0] / max(pairs[1], 1e-300))


def needed(one: Dataset, constants: Constants) -> float:
    """Return the logarithm of the factor on the default's logits that loses least, held a little to zero."""
    known = np.flatnonzero(one.truth >= 0)
    logits = np.log(np.maximum(Assay(constants=constants).fit(one.labels).result_.posterior[known], 1e-12))

    def loss(log_factor: float) -> float:
        log_q = log_softmax(np.exp(log_factor) * logits, axis=1)
        return float(log_factor**2 - log_q[np.arange(len(known)), one.truth[known]].sum())

    return float(minimize_scalar(loss, bounds=(-4.0, 4.0), method="bounded").x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=10**9, help="leave out datasets with more labels")
    parser.add_argument("--page", type=Path, help="a page, such as docs/accuracy.md, into which to write what was found")
    arguments = parser.parse_args()
    left_out = {name: Constants(**one) for name, one in json.loads(LEFT_OUT.read_text(encoding="utf-8")).items()}
    groups: dict[str, list[tuple[float, float]]] = {}
    for one in datasets(arguments.most):
        pair = seen(one.labels), needed(one, left_out[one.group])
        groups.setdefault(one.group, []).append(pair)
        print(f"{one.name:26s} seen {pair[0]:+.3f}  needed factor {np.exp(pair[1]):.2f}", flush=True)
    both = np.array([np.mean(pairs, axis=0) for pairs in groups.values()])
    generator = np.random.default_rng(0)
    drawn = [both[generator.integers(len(both), size=len(both))] for _ in range(RESAMPLES)]
    low, high = np.quantile([spearmanr(some)[0] for some in drawn], [0.05, 0.95])
    lines = [
        f"- Over {len(both)} groups the rank correlation between what is seen and the factor that was needed is "
        f"{spearmanr(both)[0]:+.2f} ({low:+.2f} to {high:+.2f}). If shared mistakes showed, it would be far below zero."
    ]
    for kind, crowds in kinds(10):
        found = [seen(labels) for labels, _ in crowds]
        below = np.mean(both[:, 0] < max(found))
        lines.append(
            f"- Simulated crowds ({kind}) have {np.mean(found):+.3f} in the mean and {max(found):+.3f} at most; "
            f"{below:.0%} of the real groups are below that."
        )
    print("\n".join(lines))
    if arguments.page:
        fill(arguments.page, {"dependence": lines})


if __name__ == "__main__":
    main()
