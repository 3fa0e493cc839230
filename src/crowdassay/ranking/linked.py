"""Which items comparisons link, and which scores they leave infinite."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from crowdassay.arrays import IntArray
from crowdassay.errors import DataError
from crowdassay.labels.values import listed
from crowdassay.ranking.outcomes import LEFT, RIGHT
from crowdassay.ranking.pairs import Pairs


def find_parts(pairs: Pairs) -> IntArray:
    """Return which connected part each item belongs to, the largest 0; shape (n_items,)."""
    shape = (pairs.n_items, pairs.n_items)
    graph = sparse.coo_array((np.ones(pairs.n_pairs, np.int8), (pairs.left, pairs.right)), shape=shape)
    label = connected_components(graph, directed=False)[1]
    order = np.argsort(-np.bincount(label), kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return np.asarray(place[label])


def refuse_infinite(pairs: Pairs) -> None:
    """Refuse comparisons in which some items were never beaten by the rest: their maximum likelihood scores are infinite."""
    winner = np.concatenate([pairs.left[pairs.outcome != RIGHT], pairs.right[pairs.outcome != LEFT]])
    loser = np.concatenate([pairs.right[pairs.outcome != RIGHT], pairs.left[pairs.outcome != LEFT]])
    shape = (pairs.n_items, pairs.n_items)
    graph = sparse.coo_array((np.ones(len(winner), np.int8), (winner, loser)), shape=shape)
    n_parts, label = connected_components(graph, directed=True, connection="strong")
    if n_parts > 1:
        small = np.argsort(np.bincount(label), kind="stable")[0]
        names = listed(pairs.items.filter(pa.array(label == small)).to_pylist(), limit=3)
        raise DataError(
            f"Without a prior some scores are infinite: {names} always won against the rest, or always lost, or never met "
            "them. Leave --prior out, and it is estimated, or give it as a number."
        )
