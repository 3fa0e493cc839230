"""Whether items deserve effects of their own, and how far to trust the model: the evidence decides."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.data.labels import Labels
from crowdassay.engines.base import Engine
from crowdassay.engines.random_items import RandomItemsEngine
from crowdassay.solvers.anchored import Anchored
from crowdassay.threads import available_cores, work_on_each

VOTES = 0.3  # weight of the votes in the class weights, at most
ANSWERS = 3.0  # that they are worth in each row of a worker's table where nothing speaks against the model
EACH = "Each item may mislead workers in its own way"
ALIKE = "Items were taken as alike: letting each mislead workers in its own way"
STRONG = 30.0  # odds on which an item's label is turned round: very strong evidence on Jeffreys' scale
MOST_CELLS = 20_000_000  # of the items' effects, 160 MB
MOST_CLASSES = 10  # an item costs the fourth power of the number of classes
BLOCK = 1 << 15  # items that a thread mixes at a time
TRIAL_LABELS = 20_000  # about as many, of a sample of the items, say whether a fit is worth its time
TRIAL_PRECISIONS = (32.0, 8.0, 2.0)  # effects of a fifth, a third and two thirds of a logit


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
    alike : bool
        Whether a sample of the items was looked at and showed no effects.
    """

    chosen: bool
    reason: str
    gain: float | None = None
    turned: int | None = None
    alike: bool = False


def soften(posterior: FloatArray, labels: Labels, anchor: float, threads: int | None = None) -> FloatArray:
    r"""Return the probabilities to report, shape (n_items, n_classes): what the labels say by the model and by themselves.

    .. math::  (1 - a)\, Q_{jc} + a\, \frac{v_{jc} + 1 / K}{n_j + 1}

    with one vote more, split evenly, so that no class is impossible. Votes make a label less certain and never turn it: where
    they would, they count for half of what leads to a tie. Known classes stay certain.
    """
    votes, mixed = labels.votes(), np.empty_like(posterior)

    def mix(first: int) -> None:
        block = slice(first, first + BLOCK)
        own, found = posterior[block], mixed[block]
        np.add(votes[block], 1.0 / labels.n_classes, out=found)
        found /= (np.diff(labels.starts[first : first + BLOCK + 1]) + 1.0)[:, None]
        found -= own
        found *= anchor
        found += own
        turned = np.flatnonzero(found.argmax(axis=1) != own.argmax(axis=1))
        found[turned] = _short_of_a_tie(own[turned], found[turned])
        known = labels.gold[block] >= 0
        found[known] = own[known]

    with ThreadPoolExecutor(threads or available_cores()) as pool:
        work_on_each(pool, mix, range(0, labels.n_items, BLOCK))
    return mixed


def _short_of_a_tie(own: FloatArray, mixed: FloatArray) -> FloatArray:
    """Go from the model's own probabilities towards mixed ones (n, n_classes), half of the way to where a class draws level."""
    rows, best, change = np.arange(len(own)), own.argmax(axis=1), mixed - own
    lead, lost = own[rows, best][:, None] - own, change - change[rows, best][:, None]
    level = np.where(lost > 0, lead / np.where(lost > 0, lost, 1.0), 1.0).min(axis=1, initial=1.0)
    way = np.where(level > 0, 0.5 * level, 1.0)  # among the model's own ties the votes choose
    return np.asarray(own + way[:, None] * change)


def compare(plain: Anchored, effects: Anchored) -> Trial:
    r"""Weigh the evidence for item effects against what they change.

    .. math::  \log P(x \mid \text{effects}) - \log P(x \mid \text{none}) \ge (1 + t) \log 30

    with t the number of items whose label the effects turn round. Where the effects found something else than the labels
    are about, many labels are turned round and little is gained.
    """
    gain = effects.evidence - plain.evidence
    turned = int((plain.posterior.argmax(axis=1) != effects.posterior.argmax(axis=1)).sum())
    chosen = gain >= (1 + turned) * np.log(STRONG)
    of_all = f"{turned} of {len(plain.posterior)} labels" if turned else "no label"
    if chosen:
        return Trial(True, f"{EACH}: the evidence for that is strong, and it changes {of_all}.", gain, turned)
    if gain <= 0:
        return Trial(False, f"{ALIKE} explains the labels no better.", gain, turned)
    return Trial(False, f"{ALIKE} would change {of_all}, on weak evidence.", gain, turned)


def refuse_items(labels: Labels, plain: Anchored, threads: int | None) -> Trial | None:
    """Say without a fit why items have no effects; None where only a fit can tell."""
    too_many = Trial(False, f"{ALIKE} would take too much time and memory.")
    if labels.n_classes > MOST_CLASSES:
        return too_many
    gain, n_items = sample_gain(labels, plain, threads)
    if gain < np.log(STRONG):
        better = "no better" if gain <= 0 else "hardly better"
        some = f" in a sample of {n_items} items" if n_items < labels.n_items else ""
        return Trial(False, f"{ALIKE} explains the labels {better}{some}.", gain, alike=True)
    return too_many if labels.n_items * labels.n_classes**2 > MOST_CELLS else None


def loose_anchor(engine: Engine) -> float:
    r"""Return the weight of the votes where items are alike, so that Dawid and Skene's model may be true.

    .. math::  a = \min\Big(0.3, \frac{3\, W K}{n + 3\, W K}\Big)

    for n labels of W workers and K classes: worth three answers in each row of each worker's table, and the less the more is
    known of the workers.
    """
    worth = ANSWERS * engine.n_workers * engine.n_classes
    return min(VOTES, worth / (engine.n_labels + worth))


def sample_gain(labels: Labels, plain: Anchored, threads: int | None) -> tuple[float, int]:
    """Return what effects gain on some of the items, in nats and with the workers as they are, and how many items these are."""
    sample = every_nth_item(labels, -(-labels.n_labels // TRIAL_LABELS))
    engine = RandomItemsEngine(sample, threads=threads)
    p, effects = plain.population.tables(plain.counts), np.zeros((sample.n_items, sample.n_classes, sample.n_classes))
    found = [
        engine.integrate(p, plain.log_prior, anchor=0.0, precision=precision, effects=effects).objective
        for precision in TRIAL_PRECISIONS
    ]
    return max(found) - engine.count(np.log(p), plain.log_prior).objective, sample.n_items


def every_nth_item(labels: Labels, step: int) -> Labels:
    """Return the labels of the first item and of every ``step``-th after it, of the same workers and classes."""
    taken = np.arange(0, labels.n_items, step)
    sizes = np.diff(labels.starts)[taken]
    item = np.repeat(np.arange(len(taken)), sizes)
    chosen = np.arange(len(item)) + (labels.starts[taken] - np.cumsum(sizes) + sizes)[item]
    return Labels.from_codes(
        item,
        labels.worker[chosen],
        labels.label[chosen],
        items=labels.items.take(pa.array(taken)),
        workers=labels.workers,
        classes=labels.classes,
    ).with_gold(labels.gold[taken])
