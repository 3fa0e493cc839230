"""The passes that verdicts rest on as plain loops over labels: slow, and easy to check by eye.

The sums of `crowdassay.findings` are compared with these.
"""

import numpy as np

from crowdassay.findings.others import (
    AGREED,
    AT_PAR,
    BIN_EXPECTED,
    BIN_LABELS,
    BIN_RIGHT,
    BIN_VARIANCE,
    BIN_WRONG,
    BY_CHANCE,
    EXPECTED,
    HALFWAY,
    KNOWN_LABELS,
    KNOWN_PAR,
    KNOWN_VARIANCE,
    KNOWN_WRONG,
    LABELS,
    NEGLIGIBLE,
    PAR_TYPICAL,
    PAR_VARIANCE,
    SEEN,
    SQUARES,
    TYPICAL,
    VARIANCE,
    WRONG,
)  # fmt: skip


def weigh_all(starts, workers, labels, gold, log_p, log_prior, votes, j, total):
    """Write the log weight, or the votes, of every class of item ``j`` to ``total`` (n_classes,)."""
    if gold[j] >= 0:
        return
    for c in range(len(total)):
        total[c] = log_prior[c]
    for n in range(starts[j], starts[j + 1]):
        if votes:
            total[labels[n]] += 1.0
        else:
            for c in range(len(total)):
                total[c] += log_p[workers[n], c, labels[n]]


def weigh_others(starts, workers, labels, weight, gold, log_p, votes, j, n, total, q):
    """Write to ``q`` (n_classes,) the class weights of item ``j`` without the worker of label ``n``; they sum to 1."""
    if gold[j] >= 0:
        q[:] = 0.0
        q[gold[j]] = 1.0
        return
    i, n_classes = workers[n], len(q)
    for c in range(n_classes):
        q[c] = total[c]
    low, high = (starts[j], starts[j + 1]) if weight[n] < 1.0 else (n, n + 1)
    for o in range(low, high):
        if workers[o] == i:
            if votes:
                q[labels[o]] -= 1.0
            else:
                for c in range(n_classes):
                    q[c] -= log_p[i, c, labels[o]]
    if not votes:  # loops, since array expressions would make an array for every label
        most = q[0]
        for c in range(1, n_classes):
            most = max(most, q[c])
        for c in range(n_classes):
            q[c] = np.exp(q[c] - most)
    mass = 0.0
    for c in range(n_classes):
        mass += q[c]
    for c in range(n_classes):
        q[c] /= mass


def compare_with_others(
    starts, workers, labels, weight, gold, counted, log_p, log_prior, votes, habit, crowd, sums, first, second
):
    """Add up how each worker's labels agree with class weights that leave out the worker.

    ``weight`` (n_labels,) is below 1 for a label that its worker repeated. With ``votes`` the class weights are vote shares;
    else they follow from the tables ``log_p`` (n_workers, n_classes, n_classes). ``habit`` (n_workers, n_classes) holds the
    shares of a worker's answers. Adds to ``sums`` (n_workers, 5): the weight of the worker's answer, its mean by habit and by
    the ``crowd``'s table, the square of the second, and the variance of a worker who answers half by either; ``first`` and
    ``second`` (n_workers, n_classes) sum the class weights and their squares.
    """
    n_classes = len(log_prior)
    total, q = np.empty(n_classes), np.empty(n_classes)
    held = np.empty(n_classes, np.int64)
    for j in range(len(starts) - 1):
        weigh_all(starts, workers, labels, gold, log_p, log_prior, votes, j, total)
        for n in range(starts[j], starts[j + 1]):
            if not counted[n]:
                continue
            i = workers[n]
            weigh_others(starts, workers, labels, weight, gold, log_p, votes, j, n, total, q)
            size = 0
            for c in range(n_classes):
                if q[c] > NEGLIGIBLE:
                    held[size] = c
                    size += 1
            guess, usual, squared = 0.0, 0.0, 0.0
            for s in range(size):
                k = held[s]
                answer = 0.0
                for t in range(size):
                    answer += q[held[t]] * crowd[held[t], k]
                guess += habit[i, k] * q[k]
                usual += answer * q[k]
                squared += (habit[i, k] + answer) * q[k] * q[k]
                first[i, k] += q[k]
                second[i, k] += q[k] * q[k]
            sums[i, AGREED] += q[labels[n]]
            sums[i, BY_CHANCE] += guess
            sums[i, TYPICAL] += usual
            sums[i, SQUARES] += guess * guess
            sums[i, HALFWAY] += squared / 2.0 - ((guess + usual) / 2.0) ** 2


def add_behaviour(  # noqa: PLR0915
    starts, workers, labels, weight, gold, counted, log_p, log_prior, habit, crowd, share, posterior, bins,
    sums, cells, answers, paces,
):  # fmt: skip
    """Add up what the verdicts are made of; q are the class weights of an item without the worker's own label.

    ``crowd`` (n_classes, n_classes) is a typical worker's table and ``habit`` (n_workers, n_classes) the shares of a worker's
    answers. Par is a worker who answers as is typical with probability ``share`` and by habit else. ``posterior``
    (n_items, n_classes) are the class probabilities, and ``bins`` (n_labels,) says in which part of the worker's time a label
    was given, -1 if that is not known; it is empty where no time is known.

    Adds to ``sums`` (n_workers, 9): labels; the weight of classes other than the answer, its mean and its variance at par; the
    probability that a typical worker is right; and, on items of known class, labels, wrong ones, their mean and variance at
    par. To ``cells`` (n_workers, n_classes, n_classes, 3): labels by class weight and answer, as seen, as a typical worker
    would give them, and the variance of the latter. To ``answers`` (n_workers, n_classes, 3): the same without the class. To
    ``paces`` (n_workers, n_bins, 5): labels, right ones, the weight of classes other than the answer, and its mean and
    variance by the worker's own table.
    """
    n_classes = len(log_prior)
    total, q, usual, own = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    held = np.empty(n_classes, np.int64)
    for j in range(len(starts) - 1):
        weigh_all(starts, workers, labels, gold, log_p, log_prior, False, j, total)
        for n in range(starts[j], starts[j + 1]):
            if not counted[n]:
                continue
            i, x = workers[n], labels[n]
            weigh_others(starts, workers, labels, weight, gold, log_p, False, j, n, total, q)
            size = 0
            for c in range(n_classes):
                if q[c] > NEGLIGIBLE:
                    held[size] = c
                    size += 1
            usual[:] = 0.0
            for s in range(size):
                c = held[s]
                for k in range(n_classes):
                    usual[k] += q[c] * crowd[c, k]
                sums[i, PAR_TYPICAL] += q[c] * crowd[c, c]
            mean, square = 0.0, 0.0
            for s in range(size):
                k = held[s]
                chance = share * usual[k] + (1.0 - share) * habit[i, k]
                mean += chance * q[k]
                square += chance * q[k] * q[k]
            sums[i, LABELS] += 1.0
            sums[i, WRONG] += 1.0 - q[x]
            sums[i, AT_PAR] += 1.0 - mean
            sums[i, PAR_VARIANCE] += square - mean * mean
            if gold[j] >= 0:
                sums[i, KNOWN_LABELS] += 1.0
                sums[i, KNOWN_WRONG] += 1.0 - q[x]
                sums[i, KNOWN_PAR] += 1.0 - mean
                sums[i, KNOWN_VARIANCE] += square - mean * mean
            for k in range(n_classes):
                spread = usual[k] * (1.0 - usual[k])
                answers[i, k, EXPECTED] += usual[k]
                answers[i, k, VARIANCE] += spread
                for s in range(size):
                    c = held[s]
                    cells[i, c, k, EXPECTED] += q[c] * usual[k]
                    cells[i, c, k, VARIANCE] += q[c] * q[c] * spread
            answers[i, x, SEEN] += 1.0
            for s in range(size):
                cells[i, held[s], x, SEEN] += q[held[s]]
            if len(bins) and bins[n] >= 0:
                own[:] = 0.0
                for s in range(size):
                    for t in range(size):
                        own[held[t]] += q[held[s]] * np.exp(log_p[i, held[s], held[t]])
                mean, square = 0.0, 0.0
                for s in range(size):
                    mean += own[held[s]] * q[held[s]]
                    square += own[held[s]] * q[held[s]] ** 2
                pace = paces[i, bins[n]]  # a view
                pace[BIN_LABELS] += 1.0
                pace[BIN_RIGHT] += posterior[j, x]
                pace[BIN_WRONG] += 1.0 - q[x]
                pace[BIN_EXPECTED] += 1.0 - mean
                pace[BIN_VARIANCE] += square - mean * mean


def leave_together(labels, counts, tables, crowd, prior):
    """Return, for every two workers one of whom leaves the others, 0, both, matches, how often either leaves, and expected."""
    rows = {}
    for i, k, matches, away, chances in meetings_by_item(labels, counts, tables, crowd, prior):
        if away:
            row = rows.setdefault((min(i, k), max(i, k)), np.zeros(5))
            row += [matches / 2, i < k, i > k, max(chances) * (i < k), max(chances) * (i > k)]
    return np.array([(0.0, *pair, *row, 0.0) for pair, row in rows.items()])


def meetings_by_item(labels, counts, tables, crowd, prior):
    """Yield, for every two workers of an item that tells, both ways round, the two, whether they match, whether the first
    leaves the others, and how likely the second gives the answer of the first: as others do, and by habit.
    """
    n_classes = labels.n_classes
    for j in range(labels.n_items):
        here = [n for n in range(labels.starts[j], labels.starts[j + 1]) if labels.first_judgements[n]]
        gold, said = labels.gold[j], [labels.label[n] for n in here]
        same_as = {gold} if gold >= 0 else set(said[:1])
        if set(said) <= same_as or len(here) < (2 if gold >= 0 else 3):
            continue
        full = np.log(prior) + sum(np.log(tables[labels.worker[n], :, labels.label[n]]) for n in here)
        weight = np.eye(n_classes)[gold] if gold >= 0 else np.exp(full - full.max()) / np.exp(full - full.max()).sum()
        for n in here:
            for o in here:
                i, k, x, y = labels.worker[n], labels.worker[o], labels.label[n], labels.label[o]
                if i == k:
                    continue
                rest = [labels.label[m] for m in here if m not in (n, o)]
                without = full - np.log(tables[i, :, x]) - np.log(tables[k, :, y])
                first = np.maximum(counts[i, :, x] - weight, 0) + 2 * crowd[:, x]
                first /= np.maximum(counts[i].sum(axis=1) - weight, 0) + 2
                second = np.maximum(counts[k, :, x] - weight * (x == y), 0) + 2 * crowd[:, x]
                second /= np.maximum(counts[k].sum(axis=1) - weight, 0) + 2
                log_q = sum((np.log(crowd[:, z]) for z in rest), np.zeros(n_classes)) + np.log(first)
                q = prior * np.exp(log_q / (1 + 0.8 * len(rest)))
                q = weight if gold >= 0 else q / q.sum()
                as_others = (rest.count(x) + 2 * q @ second) / (len(rest) + 2)
                sharp = np.exp(full - np.log(tables[k, :, y]))
                sharp = weight if gold >= 0 else sharp / sharp.sum()
                away = x != (gold if gold >= 0 else without.argmax())
                yield i, k, x == y, away, (as_others, max(q @ second, sharp @ second))
