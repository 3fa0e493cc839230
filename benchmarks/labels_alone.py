r"""What more could labels alone say? Laws that were tried beside the one that ships, each learned with groups left out.

    python benchmarks/labels_alone.py [--most LABELS] [--page docs/accuracy.md]

Factors on the logits, :math:`\exp(\phi \cdot x)` with x made of the number of labels n, the number of classes K and what the
votes look like, are learned with all other constants as in benchmarks/left_out.json, so that they change no label. Item effects
for more than two classes take the place of the pool as far as with two, and all weights are learned anew. Votes are
over-dispersed as far as a mixture of Dirichlet-multinomials, one for each class, needs a correlation to explain them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import gammaln, log_softmax, logsumexp

from corpus import Dataset, calibration_error, datasets, mean_of_groups
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.findings.scores import error_rate
from crowdassay.labels.record import find_winners
from crowdassay.models.assay.constants import Constants
from crowdassay.models.assay.dependence import sharpening, worth
from crowdassay.solvers.assay.members import fit_effects, unlike
from learn_default import BEGIN
from page import fill
from pooling import NAMES, Lessons, Looks, features, look

LEFT_OUT = Path(__file__).parent / "left_out.json"
TEACH = 250  # items of a dataset that teach; all are scored
MANY, INDEPENDENT = 20.0, 2.0  # labels an item from which on, and design effect below which, votes are called independent
SAMPLE, ROUNDS = 1000, 60  # items and steps of the mixture
KINDS = {"all": (True, False), "people": (True,), "language models": (False,)}

Columns = Callable[[Looks, np.ndarray], list[np.ndarray]]


def logits_of(looks: Looks, constants: Constants) -> tuple[np.ndarray, np.ndarray]:
    """Return the logits of all items before they grow, (n_items, n_classes), and the numbers of labels (n_items,)."""
    labels, (x, n) = looks.data.labels, features(looks, constants)
    r = 1.0 - (1.0 - constants.correlation) * unlike(looks.tables.dissent, labels.n_labels - labels.n_items)
    tempered = x[:, :, 0] * constants.dawid_skene + x[:, :, 1] * constants.population
    return worth(n, r)[:, None] * tempered + x[:, :, 2] * constants.vote + x[:, :, 3] * constants.items, n


def learn_factor(looks: list[Looks], constants: Constants, columns: Columns, group: str) -> np.ndarray:
    """Return the coefficients of the log factor that lose least without a group, every other group counting alike."""
    others = [one for one in looks if one.group != group]
    names, rows = [one.group for one in others], []
    for one in others:
        logits, n = logits_of(one, constants)
        known = np.flatnonzero(one.data.truth >= 0)
        chosen = known[:: max(1, len(known) // TEACH)]
        rows.append((logits[chosen], np.column_stack(columns(one, n))[chosen], one.data.truth[chosen]))

    def loss(phi: np.ndarray) -> float:
        total = 0.0
        for name, (logits, x, truth) in zip(names, rows, strict=True):
            log_q = log_softmax(np.exp(x @ phi)[:, None] * logits, axis=1)
            total -= log_q[np.arange(len(truth)), truth].mean() / names.count(name)
        return total / len(set(names))

    size = rows[0][1].shape[1]
    return np.asarray(minimize(loss, np.zeros(size), method="L-BFGS-B", bounds=[(-2.0, 2.0)] * size).x)


def over_dispersion(looks: Looks) -> float:
    """Return the correlation of votes within a class, 0 where they vary no more than independent ones."""
    votes = looks.data.labels.votes().astype(float)
    votes = votes[votes.sum(axis=1) > 0]
    votes = votes[:: max(1, len(votes) // SAMPLE)]
    n, q, rho = votes.sum(axis=1), find_winners(votes).astype(float), 0.1
    q /= q.sum(axis=1, keepdims=True)

    def log_joint(rho: float, mean: np.ndarray, prior: np.ndarray) -> np.ndarray:
        a = mean * (1.0 - rho) / rho
        whole = gammaln(a.sum(axis=1)) - gammaln(n[:, None] + a.sum(axis=1))
        return np.log(prior) + whole + (gammaln(votes[:, None] + a) - gammaln(a)).sum(axis=2)

    for step in range(ROUNDS):
        mean = (q / (1.0 + rho * (n - 1.0))[:, None]).T @ votes + 0.5 * np.eye(votes.shape[1]) + 0.1 / votes.shape[1]
        mean, prior = mean / mean.sum(axis=1, keepdims=True), (q.sum(axis=0) + 1.0) / (q.sum() + votes.shape[1])
        if step % 5 == 0:
            found = minimize_scalar(
                lambda z, mean=mean, prior=prior: -logsumexp(log_joint(np.exp(z), mean, prior), axis=1).sum(),
                bounds=np.log([1e-4, 0.9]), method="bounded",
            )  # fmt: skip
            rho = float(np.exp(found.x))
        q = np.exp(log_softmax(log_joint(rho, mean, prior), axis=1))
    return rho


def with_effects(looks: Looks, most_classes: int) -> Looks:
    """Return the looks with the member whose items have effects, also for more than two classes."""
    labels = looks.data.labels
    if not 2 < labels.n_classes <= most_classes:
        return looks
    found = fit_effects(LocalEngine(labels), BEGIN)
    return looks if found is None else replace(looks, effects=found.log_posterior(labels), gate=found.item_effect_weight)


def line(name: str, sets: list[Dataset], all_logits: list[np.ndarray]) -> str:
    """Return a row of the table: error, log-loss and calibration error, means over groups."""
    scores = []
    for one, logits in zip(sets, all_logits, strict=True):
        q, known = np.exp(log_softmax(logits, axis=1)), np.flatnonzero(one.truth >= 0)
        loss = -np.log(np.maximum(q[known, one.truth[known]], 1e-6)).mean()
        winners = find_winners(q)
        scores.append((100 * error_rate(winners, one.truth), float(loss), calibration_error(q, winners, one.truth)))
    cells = []
    for people in KINDS.values():
        kept = [at for at, one in enumerate(sets) if one.people in people]
        error, loss, off = (mean_of_groups([sets[at] for at in kept], [scores[at][k] for at in kept]) for k in range(3))
        cells.append(f"{error:.2f} · {loss:.4f} · {off:.4f}")
    row = f"| {name} | " + " | ".join(cells) + " |"
    print(row, flush=True)
    return row


def many_classes(looks: Looks) -> float:
    return float(np.log(looks.data.labels.n_classes / 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=10**9, help="leave out datasets with more labels")
    parser.add_argument("--page", type=Path, help="a page, such as docs/accuracy.md, into which to write the table")
    arguments = parser.parse_args()
    sets = list(datasets(arguments.most))
    looks = [look(one, BEGIN) for one in sets]
    constants = {name: Constants(**one) for name, one in json.loads(LEFT_OUT.read_text(encoding="utf-8")).items()}
    rho = {id(one): over_dispersion(one) for one in looks}

    def independent(one: Looks) -> float:
        n = one.data.labels.n_labels / one.data.labels.n_items
        return float(n >= MANY and 1.0 + rho[id(one)] * (n - 1.0) < INDEPENDENT)

    factors: dict[str, Columns] = {
        "log K": lambda one, n: [np.full(len(n), many_classes(one))],
        "log K and log K log n": lambda one, n: [np.full(len(n), many_classes(one)), many_classes(one) * np.log(n)],
        "log K, log n and their product": lambda one, n: [
            np.full(len(n), many_classes(one)), np.log(n), many_classes(one) * np.log(n)
        ],
        "where votes are no more spread than independent ones": lambda one, n: [np.full(len(n), independent(one))],
    }  # fmt: skip
    lines = ["| law | " + " | ".join(KINDS) + " |", "|---" * (len(KINDS) + 1) + "|"]
    plain = {one.data.name: logits_of(one, constants[one.group]) for one in looks}
    lines.append(line("no factor", sets, [plain[one.name][0] for one in sets]))
    grown = []
    for one in sets:
        (logits, n), own = plain[one.name], constants[one.group]
        factor = sharpening(n, own.few, own.growth if one.labels.n_classes > 2 else 0.0)
        grown.append(factor[:, None] * logits)
    lines.append(line("as it is: beyond ten labels, more than two classes", sets, grown))
    for name, columns in factors.items():
        phi = {group: learn_factor(looks, constants[group], columns, group) for group in constants}
        grown = []
        for one in looks:
            logits, n = plain[one.data.name]
            grown.append(np.exp(np.column_stack(columns(one, n)) @ phi[one.group])[:, None] * logits)
        lines.append(line(f"factor by {name}" if "log" in name else f"factor {name}", sets, grown))
    for most, name in ((4, "item effects up to four classes"), (10**6, "item effects for all numbers of classes")):
        more = [with_effects(one, most) for one in looks]
        lessons = Lessons(more, BEGIN)
        start, own = lessons.fit()[0], {}
        for group in constants:
            weights = map(float, lessons.fit(group, start)[0])
            own[group] = replace(BEGIN, **dict(zip(NAMES, weights, strict=True)))
        lines.append(line(name, sets, [logits_of(one, own[one.group])[0] for one in more]))
    if arguments.page:
        fill(arguments.page, {"labels alone": lines})


if __name__ == "__main__":
    main()
