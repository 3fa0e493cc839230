"""Whether items deserve effects of their own: the evidence decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.data.labels import Labels
from crowdassay.engines.random_items import RandomItemsEngine
from crowdassay.solvers.anchored import FIRST_PRECISION, Anchored, learn_precision

STRONG = 30.0  # odds on which an item's label is turned round: very strong evidence on Jeffreys' scale
MOST_CELLS = 20_000_000  # of the items' effects, 160 MB
MOST_CLASSES = 10  # an item costs the fourth power of the number of classes
TRIAL_LABELS = 20_000  # about as many, of a sample of the items, say whether a fit is worth its time
TRIAL_SWEEPS = 6


@dataclass(frozen=True)
class Trial:
    """What the trial of item effects found.

    Attributes
    ----------
    chosen : bool
    reason : str
        One sentence for the user.
    gain : float or None
        Logarithm of the odds for effects; None where they were not fitted.
    turned : int or None
        Items whose label they change.
    """

    chosen: bool
    reason: str
    gain: float | None = None
    turned: int | None = None


def soften(posterior: FloatArray, labels: Labels, anchor: float) -> FloatArray:
    r"""Return the probabilities to report, shape (n_items, n_classes): what the labels say by the model and by themselves.

    .. math::  (1 - a)\, Q_{jc} + a\, \frac{v_{jc} + 1 / K}{n_j + 1}

    with one vote more, split evenly, so that no class is impossible. Known classes stay certain.
    """
    votes = labels.votes() + 1.0 / labels.n_classes
    mixed = posterior + anchor * (votes / votes.sum(axis=1, keepdims=True) - posterior)
    return np.where(labels.gold[:, None] >= 0, posterior, mixed)


def compare(plain: Anchored, effects: Anchored) -> Trial:
    r"""Weigh the evidence for item effects against what they change.

    .. math::  \log P(x \mid \text{effects}) - \log P(x \mid \text{none}) \ge (1 + t) \log 30

    with t the number of items whose label the effects turn round. Where the effects found something else than the labels
    are about, many labels are turned round and little is gained.
    """
    gain = effects.evidence - plain.evidence
    turned = int((plain.posterior.argmax(axis=1) != effects.posterior.argmax(axis=1)).sum())
    chosen = gain >= (1 + turned) * np.log(STRONG)
    what = f"change {turned} of {len(plain.posterior)} labels" if turned else "change no label"
    if chosen:
        return Trial(True, f"Workers and items: effects of the items {what} and the evidence for them is strong.", gain, turned)
    if gain <= 0:
        return Trial(False, "Workers only: effects of the items explain nothing more.", gain, turned)
    return Trial(False, f"Workers only: effects of the items would {what} on weak evidence.", gain, turned)


def refuse_items(labels: Labels, plain: Anchored, threads: int | None) -> Trial | None:
    """Say without a fit why items have no effects; None where only a fit can tell."""
    if labels.n_classes > MOST_CLASSES or labels.n_items * labels.n_classes**2 > MOST_CELLS:
        return Trial(False, "Workers only: effects of the items would take too much time and memory.")
    gain, n_items = sample_gain(labels, plain, threads)
    if gain > 0:
        return None
    some = f" in a sample of {n_items}" if n_items < labels.n_items else ""
    return Trial(False, f"Workers only: effects of the items explain nothing more{some}.", gain)


def sample_gain(labels: Labels, plain: Anchored, threads: int | None) -> tuple[float, int]:
    """Return what effects gain on some of the items, in nats and with the workers as they are, and how many items these are."""
    sample = every_nth_item(labels, -(-labels.n_labels // TRIAL_LABELS))
    engine = RandomItemsEngine(sample, threads=threads)
    p, effects = plain.population.tables(plain.counts), np.zeros((sample.n_items, sample.n_classes, sample.n_classes))
    without, gain, precision = engine.count(np.log(p), plain.log_prior).objective, -np.inf, FIRST_PRECISION
    for _ in range(TRIAL_SWEEPS):
        sums = engine.integrate(p, plain.log_prior, anchor=0.0, precision=precision, effects=effects)
        gain = max(gain, sums.objective - without)
        precision = learn_precision(precision, sums.spread, sample.n_classes)
    return gain, sample.n_items


def every_nth_item(labels: Labels, step: int) -> Labels:
    """Return the labels of the first item and of every ``step``-th after it, of the same workers and classes."""
    taken = np.arange(labels.n_items) % step == 0
    chosen = taken[labels.label_item]
    return Labels.from_codes(
        labels.label_item[chosen] // step,
        labels.worker[chosen],
        labels.label[chosen],
        items=labels.items.filter(pa.array(taken)),
        workers=labels.workers,
        classes=labels.classes,
    ).with_gold(labels.gold[taken])
