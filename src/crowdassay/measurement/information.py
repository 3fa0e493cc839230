"""Standard errors of item parameters."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from crowdassay.arrays import FloatArray
from crowdassay.measurement.marginal import N_NODES, Marginal

DENSE = 3000  # parameters up to which the information matrix is inverted as a whole


def covariance(problem: Marginal, parameters: FloatArray, *, fixed_spread: bool) -> sparse.csr_array:
    r"""Return the inverse of the observed information about beta, shape (n_parameters, n_parameters).

    .. math::  I = \sum_i E_i[-\nabla^2 \ell_i(\theta)] - \sum_i \mathrm{Var}_i[\nabla \ell_i(\theta)]

    Both under worker i's ability given the responses (Louis 1982). Beyond `DENSE` parameters only the diagonal is used,
    which takes the other items for known and so makes the errors a little too small.
    """
    data, basis, (_, weight) = problem.responses, problem.basis, problem.expect(parameters)
    n_steps, mine = data.n_steps, weight[data.worker]
    chance = problem.chances(parameters[:-1], problem.theta[data.worker])
    reached = np.cumsum(chance[:, :, ::-1], axis=2)[:, :, -2::-1]  # P(x >= l) for l = 1, 2 ...
    mean = np.einsum("nq,nql->nl", mine, reached)
    # Cov(1[x >= l], 1[x >= m]) = P(x >= max(l, m)) - P(x >= l) P(x >= m)
    later = np.maximum.outer(np.arange(n_steps), np.arange(n_steps))
    both = mean[:, later] - np.einsum("nq,nql,nqm->nlm", mine, reached, reached)
    blocks = np.zeros((problem.n_items, n_steps, n_steps))
    np.add.at(blocks, data.item, both)
    row = np.arange(problem.n_items + 1)
    complete = basis.T @ sparse.bsr_array((blocks, row[:-1], row)).tocsr() @ basis

    column = (data.item[:, None] * n_steps + np.arange(n_steps)).ravel()
    cells, shape = (np.repeat(data.worker, n_steps), column), (problem.n_workers, problem.n_items * n_steps)
    root, deviation = np.sqrt(weight), reached - mean[:, None, :]

    def scores(q: int) -> sparse.csr_array:
        """Return each worker's score by beta at node q, less its mean and weighted; (n_workers, n_parameters)."""
        table = sparse.coo_array((deviation[:, q].ravel(), cells), shape=shape).tocsr()
        return sparse.diags_array(root[:, q]) @ table @ basis

    if basis.shape[1] > DENSE:
        lost = sum(scores(q).power(2).sum(axis=0) for q in range(N_NODES))
        own = problem.precision * (1.0 - problem.shift**2)
        return sparse.diags_array(1.0 / (complete.diagonal() - lost + own)).tocsr()
    centred = np.eye(basis.shape[1]) - np.outer(problem.shift, problem.shift)
    information = complete.toarray() + problem.precision * centred
    width = problem.theta**2 * np.exp(-2 * parameters[-1])  # the score by log s, plus one
    own = 2 * float(np.sum(weight * width))
    width = root * (width - np.sum(weight * width, axis=1, keepdims=True))
    cross = np.zeros(len(information))
    for q in range(N_NODES):
        part = scores(q)
        information -= (part.T @ part).toarray()
        cross -= part.T @ width[:, q]
    if fixed_spread:
        return sparse.csr_array(np.linalg.inv(information))
    whole = np.block([[information, cross[:, None]], [cross[None, :], own - np.sum(width**2)]])
    return sparse.csr_array(np.linalg.inv(whole)[:-1, :-1])
