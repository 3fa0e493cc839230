"""Fit the members of the default's pool, all from sums over items, and put them together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Engine, local_engine
from crowdassay.engines.blocks import ItemSelection
from crowdassay.labels.join import without_absent_workers
from crowdassay.labels.labels import Labels
from crowdassay.models.assay.constants import Constants
from crowdassay.solvers.assay.anchored import fit_anchored
from crowdassay.solvers.assay.pool import ItemMember, Pool, without_gold
from crowdassay.solvers.em import at_vote_shares, fit_em, free_tables
from crowdassay.solvers.solution import Progress

FEW_STEPS = 20  # of Dawid and Skene's EM: later ones sharpen tables, not labels
POPULATION_STEPS = 12
MEMBER_SAMPLE = 20_000  # labels, about, by which items' effects and the precision of workers on a scale are learned
EFFECT_STEPS, EFFECT_CHANGE = 40, 1e-3
LEAST_GAIN = 0.01  # nats for each item below which effects are not worth the time they take
PATIENCE = 10.0  # labels' worth of belief that a worker on a scale is as precise as the others
PRECISION_ROUNDS = 20
LEAST_DISSENT = 0.01  # share of labels that differ from an item's first; in every real crowd without copies more do


@dataclass(frozen=True, eq=False)
class MemberTables:
    """What the members whose tables are added say of the workers.

    Attributes
    ----------
    log_p : list of array of shape (n_workers, n_classes, n_classes)
        Of Dawid and Skene's model, and of workers from a population, where the labels are.
    log_prior : list of ndarray of shape (n_classes,)
    stranger : ndarray of shape (n_classes, n_classes)
        Log probabilities of a worker never seen, by the population.
    habit : ndarray of shape (n_classes,)
        How often each class is given.
    label_weight : ndarray of shape (n_workers,)
        How much of a label each worker's label counts for.
    stranger_weight : float
        The same for a worker never seen.
    dissent : float
        About how many labels differ from the others of their item.
    mean : ndarray of shape (n_workers, n_classes, n_classes)
        Mean confusion of the workers.
    n_iter : int
    """

    log_p: list[FloatArray]
    log_prior: list[FloatArray]
    stranger: FloatArray
    habit: FloatArray
    label_weight: FloatArray
    stranger_weight: float
    dissent: float
    mean: FloatArray
    n_iter: int


def fit_tables(engine: Engine, constants: Constants, *, ordered: bool, progress: Progress | None = None) -> MemberTables:
    """Fit Dawid and Skene's model, and workers from a population.

    Parameters
    ----------
    engine : Engine
        One that does not look at known classes.
    constants : Constants
    ordered : bool
        Whether wrong answers may be the rarer the farther away they are.
    progress : callable, optional
    """
    place, votes = engine.xp.asarray, at_vote_shares(engine)
    cells = engine.to_host(votes.counts).sum(axis=0)
    given = cells.sum(axis=0) + 1.0
    plain = fit_em(
        engine,
        estimate_prior=True,
        update=free_tables(constants.smoothing),
        max_iter=FEW_STEPS,
        tol=1e-6,
        progress=progress,
        votes=votes,
        prior_items=1.0,  # as for the population: few items alike do not make their class the only one
    )
    assert plain.sigma is not None
    assert plain.log_prior is not None
    later = None if progress is None else (lambda done, value: progress(plain.n_iter + done, value))
    crowd = fit_anchored(
        engine, anchor=constants.anchor, average=True, ordered=ordered, belief=constants.belief,
        concentration=constants.concentration, max_iter=POPULATION_STEPS, tol=1e-4, progress=later, votes=votes,
    )  # fmt: skip
    mean = crowd.counts + place(crowd.population.prior)
    stranger = crowd.population.log_tables(np.zeros((engine.n_classes, engine.n_classes)))
    everyone = engine.xp.concatenate([crowd.log_p, place(stranger)[None]])
    label_weight = engine.to_host(label_weights(everyone, place(crowd.log_prior), place(np.append(engine.worker_counts, 0))))
    return MemberTables(
        [plain.sigma, crowd.log_p],
        [plain.log_prior, crowd.log_prior],
        stranger,
        given / given.sum(),
        label_weight[:-1],
        float(label_weight[-1]),
        float(cells.sum() - np.trace(cells)) / 2,
        engine.to_host(mean / mean.sum(axis=2, keepdims=True)),
        plain.n_iter + crowd.n_iter,
    )


def make_pool(engine: Engine, tables: MemberTables, constants: Constants, *, ordered: bool) -> Pool:
    """Weigh the members; with two classes there is one more, and with ordered ones the precision of the workers."""
    weights = (constants.dawid_skene, constants.population)
    own = unlike(tables.dissent, engine.n_labels - engine.n_items)
    place = engine.xp.asarray  # tables are large where there are many workers, so all is computed where the labels are

    def weigh(log_tables: FloatArray, weight: float) -> FloatArray:
        return weight * np.log(slipped(np.exp(place(log_tables)), place(tables.habit), constants.slip))

    return Pool(
        tables=engine.to_host(weigh(tables.log_p[0], weights[0]) + weigh(tables.log_p[1], weights[1])),
        stranger=engine.to_host(weigh(tables.stranger, weights[1])),
        offset=weights[0] * tables.log_prior[0] + weights[1] * tables.log_prior[1],
        bias=np.zeros(engine.n_classes),
        vote=constants.vote,
        correlation=1.0 - (1.0 - constants.correlation) * own,
        many=constants.many,
        label_weight=tables.label_weight,
        stranger_weight=tables.stranger_weight,
        items=fit_effects(engine, constants) if engine.n_classes == 2 else None,
        precision=fit_precision(sample_of(engine)) if ordered else None,
        scale=constants.scale,
        few=constants.few,
        growth=constants.growth * own if engine.n_classes > 2 else 0.0,
    )


def unlike(dissent: float, chances: float) -> float:
    r"""Return how far an item's labels are answers of their own, from 0 to 1: 1 unless they agree more than in any real crowd.

    .. math::  u = \min\Big(1, \frac{d + 1}{0.01\, m}\Big)

    for d labels that differ where m could. Labels that never differ are one answer, repeated: m of them count for one. So the
    correlation is :math:`1 - (1 - r)\, u`.

    >>> [round(unlike(dissent, 10_000), 3) for dissent in (0.0, 9.0, 200.0)]
    [0.01, 0.1, 1.0]
    """
    return min((dissent + 1.0) / max(LEAST_DISSENT * chances, 1e-9), 1.0)


def label_weights(log_p: FloatArray, log_prior: FloatArray, n_labels: IntArray) -> FloatArray:
    r"""Return how much of a label each worker's label counts for, from 0 to 1, shape (n_workers,).

    .. math::  u_i = \min\Big(1, \frac{I_i}{\bar I}\Big), \qquad
               I_i = \sum_{ck} \pi_c\, p_i(c, k) \log \frac{p_i(c, k)}{\sum_{c'} \pi_{c'}\, p_i(c', k)}

    the information, in nats, that an answer gives about the class, beside that of the average label: whoever answers regardless
    of the class says nothing. Where no label says anything, all count.
    """
    p = np.exp(log_p) + 1e-12  # an array of NumPy, or on a GPU
    p /= p.sum(axis=2, keepdims=True)
    prior = np.exp(log_prior - log_prior.max())[:, None] / np.exp(log_prior - log_prior.max()).sum()
    answers = (prior * p).sum(axis=1, keepdims=True)
    told = np.maximum((prior * p * np.log(p / answers)).sum(axis=(1, 2)), 0.0)
    usual = float(told @ n_labels) / max(float(n_labels.sum()), 1.0)
    return np.minimum(told / usual, 1.0) if usual > 1e-9 else np.ones_like(told)


def slipped(p: FloatArray, habit: FloatArray, slip: float) -> FloatArray:
    r"""Return :math:`(1 - \epsilon)\, p / |p| + \epsilon\, h` for rows p: some answers have nothing to do with the class.

    However sure a table is, one label then says only so much.

    >>> slipped(np.array([2.0, 0.0]), np.array([0.5, 0.5]), 0.2).tolist()
    [0.9, 0.1]
    """
    return (1.0 - slip) * p / p.sum(axis=-1, keepdims=True) + slip * habit


def sample_of(engine: Engine) -> Labels:
    """Return the labels of all items, or of every n-th where they are many, as if no class were known."""
    return without_gold(engine.gather(ItemSelection(step=max(1, -(-engine.n_labels // MEMBER_SAMPLE)))))


def fit_effects(engine: Engine, constants: Constants) -> ItemMember | None:
    r"""Return the member with item effects, believed by :math:`g / (1 + g)`; None where nothing speaks for it.

    g is the evidence for effects, in nats for each item of a sample.
    """
    sample = sample_of(engine)
    fewer, present = without_absent_workers(sample)
    local = local_engine(fewer, gathered=engine.gathered)
    fit = partial(fit_anchored, local, anchor=constants.hold, max_iter=EFFECT_STEPS, tol=EFFECT_CHANGE)
    plain, effects = fit(average=True), fit(items=True)
    without = local.count(np.log(plain.population.tables(plain.counts)), plain.log_prior).objective
    gain = max(effects.evidence - without, 0.0) / sample.n_items
    if gain < LEAST_GAIN:
        return None
    unseen = effects.population.tables(np.zeros((engine.n_classes, engine.n_classes)))
    p = np.broadcast_to(unseen, (engine.n_workers, *unseen.shape)).copy()
    p[present] = np.exp(effects.log_p)
    return ItemMember(p, effects.log_prior, effects.precision, gain / (1.0 + gain), constants.items)


def fit_precision(labels: Labels) -> FloatArray:
    r"""Return how precise workers are on a scale, (n_workers,): one over the variance of their labels around the items' means.

    .. math::  y_j = \frac{\sum_i x_{ij} / v_i}{\sum_i 1 / v_i}, \qquad
               v_i = \frac{\sum_j \frac{n_j}{n_j - 1} (x_{ij} - y_j)^2 + \kappa\, \bar v}{n_i + \kappa}
    """
    n_labels, item = np.diff(labels.starts), labels.label_item
    place, weight = labels.label.astype(float), np.ones(labels.n_workers)
    count = np.bincount(labels.worker, minlength=labels.n_workers)
    apart = n_labels[item] / np.maximum(n_labels[item] - 1, 1)
    for _ in range(PRECISION_ROUNDS):
        total = np.bincount(item, weight[labels.worker], labels.n_items)
        mean = np.bincount(item, weight[labels.worker] * place, labels.n_items) / np.maximum(total, 1e-300)
        squares = apart * (place - mean[item]) ** 2
        usual = max(float(squares.mean()), 1e-9) if len(squares) else 1.0
        weight = (count + PATIENCE) / (np.bincount(labels.worker, squares, labels.n_workers) + PATIENCE * usual)
    return np.asarray(weight)
