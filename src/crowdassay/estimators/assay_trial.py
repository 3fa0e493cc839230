"""Whether items deserve effects of their own: labels held out decide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.data.labels import Labels
from crowdassay.engines.local import log_softmax
from crowdassay.engines.random_items import RandomItemsEngine
from crowdassay.selection.folds import deal, keep
from crowdassay.solvers.anchored import Anchored, fit_anchored

LEAST_GAIN = 0.025  # where effects find something other than the truth they gain about 1 %, where they help 3 to 20 %
SURE = 3.0  # standard errors by which a gain must be positive
LEAST_LABELS = 5.0  # an item with fewer labels says too little about itself
LEAST_ITEMS = 10  # of them for each class, or effects explain whatever they are asked to
MOST_CELLS = 20_000_000  # of the items' effects, 160 MB
MOST_CLASSES = 10  # an item costs the fourth power of the number of classes
TRIAL_SWEEPS = 30  # a gain that matters shows early
N_FOLDS, FEW_FOLDS = 5, 2
FEW_LABELS = 20_000  # up to which all folds are tried; beyond, two tell as much
TRIAL_LABELS = 50_000  # the trial takes a sample of the items where there are more labels


@dataclass(frozen=True)
class Trial:
    """What the trial of item effects found.

    Attributes
    ----------
    chosen : bool
    reason : str
        One sentence for the user.
    gain : float or None
        Relative gain in log-likelihood of held-out labels; None where there was nothing to try.
    standard_errors : float or None
        The gain divided by its standard error over items.
    """

    chosen: bool
    reason: str
    gain: float | None = None
    standard_errors: float | None = None


def soften(posterior: FloatArray, labels: Labels, anchor: float) -> FloatArray:
    r"""Return the probabilities to report, shape (n_items, n_classes): what the labels say by the model and by themselves.

    .. math::  (1 - a)\, Q_{jc} + a\, \frac{v_{jc} + 1 / K}{n_j + 1}

    with one vote more, split evenly, so that no class is impossible. Known classes stay certain.
    """
    votes = labels.votes() + 1.0 / labels.n_classes
    mixed = posterior + anchor * (votes / votes.sum(axis=1, keepdims=True) - posterior)
    return np.where(labels.gold[:, None] >= 0, posterior, mixed)


def try_items(
    labels: Labels, *, anchor: float, precision: float, max_sweeps: int, tolerance: float, threads: int | None, seed: int
) -> Trial:
    """Fit part of the labels with and without item effects and compare what the rest is worth to each."""
    reason = _not_worth_trying(labels)
    if reason:
        return Trial(False, f"Workers only: {reason}.")
    generator = np.random.default_rng(seed)
    sample = _in_order(_sample(labels, generator))
    fold = deal(sample, N_FOLDS, generator)
    plain, differences, items = [], [], []
    for number in range(N_FOLDS if labels.n_labels <= FEW_LABELS else FEW_FOLDS):
        held = np.flatnonzero(fold == number)
        training = keep(sample, fold != number)
        engine = RandomItemsEngine(training, threads=threads)
        without, effects = (
            fit_anchored(engine, anchor=anchor, precision=beta, max_sweeps=min(max_sweeps, TRIAL_SWEEPS), tolerance=tolerance)
            for beta in (None, precision)
        )
        scores = log_predictions(without, training, sample, held, anchor)
        plain.append(scores)
        differences.append(log_predictions(effects, training, sample, held, anchor) - scores)
        items.append(sample.label_item[held])
    gain = np.bincount(np.concatenate(items), weights=np.concatenate(differences), minlength=sample.n_items)
    loss = -float(np.concatenate(plain).sum())
    relative = float(gain.sum()) / max(loss, 1e-9)
    errors = float(gain.sum() / max(np.sqrt(len(gain)) * gain.std(), 1e-9))
    said = f"effects of the items predict held-out labels {100 * abs(relative):.1f} % {'better' if relative >= 0 else 'worse'}"
    if relative < LEAST_GAIN:
        return Trial(False, f"Workers only: {said} (needed: {100 * LEAST_GAIN:g} % better).", relative, errors)
    if errors < SURE:
        return Trial(False, f"Workers only: {said}, but by {errors:.1f} standard errors only.", relative, errors)
    return Trial(True, f"Workers and items: {said}.", relative, errors)


def log_predictions(fitted: Anchored, training: Labels, labels: Labels, held: np.ndarray, anchor: float) -> FloatArray:
    """Return the log probability of the held labels, shape (n_held,), under a fit to the others."""
    item, worker, label = labels.label_item[held], labels.worker[held], labels.label[held]
    tables = fitted.log_p[worker] if fitted.effects is None else fitted.log_p[worker] + fitted.effects[item]
    p = np.exp(log_softmax(tables)[np.arange(len(held)), :, label])
    weights = soften(fitted.posterior, training, anchor)[item]
    return np.asarray(np.log(np.maximum((weights * p).sum(axis=1), 1e-12)))


def _not_worth_trying(labels: Labels) -> str | None:
    """Return why effects of the items are out of the question, if they are."""
    per_item = labels.n_labels / labels.n_items
    if labels.n_classes < 2 or labels.n_labels < N_FOLDS:
        return "there is too little to tell apart"
    if per_item < LEAST_LABELS:
        return f"with {per_item:.1f} labels an item, below {LEAST_LABELS:g}, items cannot be told apart"
    if labels.n_items < LEAST_ITEMS * labels.n_classes:
        return f"with fewer than {LEAST_ITEMS} items for each class, effects of the items could explain anything"
    if labels.n_classes > MOST_CLASSES or labels.n_items * labels.n_classes**2 > MOST_CELLS:
        return "effects of the items would take too much time and memory"
    return None


def _sample(labels: Labels, generator: np.random.Generator) -> Labels:
    """Return some items with all their labels, about `TRIAL_LABELS` of them."""
    if labels.n_labels <= TRIAL_LABELS:
        return labels
    taken = generator.random(labels.n_items) < TRIAL_LABELS / labels.n_labels
    return keep(labels, taken[labels.label_item])


def _in_order(labels: Labels) -> Labels:
    """Sort each item's labels, so that the folds do not depend on the order of the rows."""
    order = np.lexsort((labels.label, labels.worker, labels.label_item))
    return Labels.from_codes(
        labels.label_item[order],
        labels.worker[order],
        labels.label[order],
        items=labels.items,
        workers=labels.workers,
        classes=labels.classes,
    ).with_gold(labels.gold)
