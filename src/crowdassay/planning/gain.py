r"""What one more label is expected to gain, in closed form.

Between its two likeliest classes the log-odds of an item move with every label: up by d in the mean if the first is true, down
by d if the second is, with a variance of 2 d, where d is how far the worker's answers to the two classes are apart (the mean of
both Kullback-Leibler divergences). Labels on one item repeat one another, so a label counts for what it adds to the number of
independent ones, :math:`\Delta = S(n + 1) - S(n)`. An error goes where the log-odds change their sign.
"""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import FloatArray, IntArray, row_max
from crowdassay.planning.state import State
from crowdassay.special import ndtr

SMALL_PROBABILITY = 1e-12


def fall_of_error(first: FloatArray, second: FloatArray, apart: FloatArray) -> FloatArray:
    r"""Return the expected fall of the chance that the likeliest class is wrong, shape (n,).

    .. math::  q_1 \Phi\Big(\frac{L + v}{\sqrt{2 v}}\Big) + q_2 \Phi\Big(\frac{v - L}{\sqrt{2 v}}\Big) - q_1,
               \qquad L = \log \frac{q_1}{q_2}, \quad v = \Delta d

    Parameters
    ----------
    first, second : ndarray of shape (n,)
        Probabilities of the two likeliest classes; if they do not add up to one, the rest stays as it is.
    apart : ndarray of shape (n,)
        v, how far the answer tells the two classes apart.

    Examples
    --------
    An answer that says all removes all doubt, one that says nothing removes none.

    >>> fall_of_error(np.array([0.6, 0.6, 0.6]), np.array([0.4, 0.4, 0.4]), np.array([1e9, 1.0, 0.0])).round(2).tolist()
    [0.4, 0.17, 0.0]
    """
    odds = np.log(first / second)
    width = np.sqrt(2 * np.maximum(apart, SMALL_PROBABILITY))
    after = first * ndtr((apart + odds) / width) + second * ndtr((apart - odds) / width)
    return np.maximum(after - first, 0.0)


def fall_of_variance(share: FloatArray, apart: FloatArray) -> FloatArray:
    r"""Return the expected fall of q (1 - q), shape (n,), for an item that is of a class with probability q.

    .. math::  \frac{4 q^2 (1 - q)^2 x^2}{1 - x^2 (2 q - 1)^2}, \qquad x^2 = \tanh(v / 2)

    That is exact for a yes or no that is right with probability (1 + x) / 2.

    >>> fall_of_variance(np.array([0.3, 0.3]), np.array([1e9, 0.0])).round(2).tolist()
    [0.21, 0.0]
    """
    told = np.tanh(apart / 2)
    both = share * (1 - share)
    return np.asarray(4 * both**2 * told / np.maximum(1 - told * (2 * share - 1) ** 2, SMALL_PROBABILITY))


def label_gain(
    state: State, items: IntArray, workers: IntArray | None = None, *, rate: int | None = None, pending: IntArray | None = None
) -> FloatArray:
    """Return what a label is expected to gain for items and workers, which broadcast against each other.

    Parameters
    ----------
    state : State
    items : ndarray of int
    workers : ndarray of int, optional
        Without, a typical worker is asked.
    rate : int, optional
        A class whose share among the items is to be known: the gain is then the expected fall of the variance of its share,
        times the square of the number of items. Otherwise the expected fall of the error, in items.
    pending : ndarray of int, shape (n_items,), optional
        Labels that are asked for and not in yet: they count among the labels an item has.
    """
    return gain_by(state, items, information(state, items, workers, rate=rate, pending=pending), rate=rate)


def gain_by(state: State, items: IntArray, apart: FloatArray, *, rate: int | None = None) -> FloatArray:
    """Return what labels are expected to gain that tell the two likeliest classes so far ``apart``, see `information`."""
    q, p = (np.maximum(state.posterior[items, code[items]], SMALL_PROBABILITY) for code in state.rivals(rate))
    return fall_of_error(q, p, apart) if rate is None else fall_of_variance(q, apart)


def information(
    state: State, items: IntArray, workers: IntArray | None = None, *, rate: int | None = None, pending: IntArray | None = None
) -> FloatArray:
    """Return v, how far a label is expected to tell the two likeliest classes apart; parameters as for `label_gain`."""
    n_labels = state.n_labels if pending is None else state.n_labels + pending
    one, other = (code[items] for code in state.rivals(rate))
    apart = state.crowd_apart[one, other] if workers is None else state.apart[workers, one, other]
    return np.asarray(apart * state.law.adds(n_labels[items]))


def expert_gain(state: State, items: IntArray, *, rate: int | None = None) -> FloatArray:
    """Return what knowing the class is expected to gain, shape (n,), measured as by `label_gain`."""
    if rate is not None:
        q = state.posterior[items, rate]
        return np.asarray(q * (1 - q))
    return np.asarray(1 - row_max(state.posterior[items]))
