"""The passes behind agreement as plain loops over labels: slow, and easy to check by eye.

The sums of `crowdassay.findings.agreement_sums` are compared with these.
"""

import numpy as np

from crowdassay.findings.coefficients import COINCIDENT, MARGINS, PAIRS, PAIRS_SAME, SHARE, SHARE_SAME


def count_classes(starts, labels, weight, n_classes):
    """Return the classes of each item and their weights, those of item j in ``first[j]:first[j + 1]``."""
    first = np.zeros(len(starts), np.int64)
    classes, votes = np.empty(len(labels), np.int16), np.empty(len(labels))
    total = np.zeros(n_classes)
    size = 0
    for j in range(len(starts) - 1):
        for n in range(starts[j], starts[j + 1]):
            if total[labels[n]] == 0.0:
                classes[size] = labels[n]
                size += 1
            total[labels[n]] += weight[n]
        for m in range(first[j], size):
            votes[m] = total[classes[m]]
            total[classes[m]] = 0.0
        first[j + 1] = size
    return first, classes[:size].copy(), votes[:size].copy()


def add_items(starts, workers, labels, weight, raters, first, classes, votes, lot, x, nominal, sums, spread, full, apart):
    """Add each item's pairs of judgements by different workers to its lot.

    ``sums`` (n_lots, 6, n_classes) holds by class: agreeing pairs and pairs; the same over m - 1 (Krippendorff's
    coincidences and margins); the same over m (m - 1) (Fleiss' shares). ``spread`` (n_lots,) is the coincidences' squared
    distance at the positions ``x``, ``full`` (n_lots, n_classes, n_classes) the coincidences, or empty. ``apart`` (n_items,)
    is each item's sum of distances over ordered pairs.
    """
    own = np.zeros(sums.shape[2])
    for j in range(len(raters)):
        m = raters[j]
        if m < 2:
            continue
        u = lot[j]
        within = 0.0
        for n in range(starts[j], starts[j + 1]):
            if weight[n] == 1.0:
                own[labels[n]] += 1.0
                if len(full) > 0:
                    full[u, labels[n], labels[n]] -= 1.0 / (m - 1)
                continue
            for o in range(starts[j], starts[j + 1]):
                if workers[o] == workers[n]:  # a worker's labels are no pair
                    both = weight[n] * weight[o]
                    within += both * (x[labels[n]] - x[labels[o]]) ** 2
                    if labels[o] == labels[n]:
                        own[labels[n]] += both
                    if len(full) > 0:
                        full[u, labels[n], labels[o]] -= both / (m - 1)
        same, total, squares = 0.0, 0.0, 0.0
        for p in range(first[j], first[j + 1]):
            k, v = classes[p], votes[p]
            pairs = v * v - own[k]
            own[k] = 0.0
            same += pairs
            total += v * x[k]
            squares += v * x[k] * x[k]
            sums[u, PAIRS_SAME, k] += pairs
            sums[u, PAIRS, k] += v * (m - 1)
            sums[u, COINCIDENT, k] += pairs / (m - 1)
            sums[u, MARGINS, k] += v
            sums[u, SHARE_SAME, k] += pairs / (m * (m - 1))
            sums[u, SHARE, k] += v / m
            if len(full) > 0:
                for q in range(first[j], first[j + 1]):
                    full[u, k, classes[q]] += v * votes[q] / (m - 1)
        distance = 2.0 * (m * squares - total * total) - within
        spread[u] += distance / (m - 1)
        apart[j] = m * (m - 1) - same if nominal else distance


def compare_workers(
    starts, workers, labels, weight, raters, first, classes, votes, apart, x, nominal, margin, observed, low, out
):
    """Compare some workers, from ``low`` on, each with the others on the same items.

    ``out`` (n_some, 5): shared items, pairs, mean share of the others who agree, the agreement expected by chance, and
    alpha of all labels but the worker's, NaN where undefined. ``margin`` (n_classes,) and ``observed`` are the sums over all.
    Goes by item, since the items of a worker lie far apart in memory.
    """
    n_some, n_classes = len(out), len(margin)
    mine, theirs, gone = np.zeros((n_some, n_classes)), np.zeros((n_some, n_classes)), np.zeros((n_some, n_classes))
    left, own = np.full(n_some, observed), np.zeros(n_classes)
    out[:] = 0.0
    for j in range(len(raters)):
        m = raters[j]
        if m < 2:
            continue
        for n in range(starts[j], starts[j + 1]):
            i = workers[n] - low
            if i < 0 or i >= n_some or not _is_first(workers, weight, starts[j], n):
                continue
            for o in range(n, starts[j + 1] if weight[n] < 1.0 else n + 1):
                if workers[o] == workers[n]:
                    own[labels[o]] += weight[o]
            alike, x1, x2, total, squares = 0.0, 0.0, 0.0, 0.0, 0.0
            for p in range(first[j], first[j + 1]):
                k = classes[p]
                other = votes[p] - own[k]
                alike += own[k] * other
                mine[i, k] += own[k]
                theirs[i, k] += other / (m - 1)
                gone[i, k] += own[k] if m > 2 else votes[p]  # without the worker the other label stands alone
                x1 += own[k] * x[k]
                x2 += own[k] * x[k] * x[k]
                total += other * x[k]
                squares += other * x[k] * x[k]
                own[k] = 0.0
            out[i, 0] += 1
            out[i, 1] += m - 1
            out[i, 2] += alike / (m - 1)
            across = m - 1 - alike if nominal else (m - 1) * x2 - 2.0 * x1 * total + squares
            left[i] -= apart[j] / (m - 1)
            if m > 2:
                left[i] += (apart[j] - 2.0 * across) / (m - 2)
    for i in range(n_some):
        chance, n_left, total, squares, same = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(n_classes):
            chance += mine[i, k] * theirs[i, k]
            rest = max(margin[k] - gone[i, k], 0.0)
            n_left += rest
            total += rest * x[k]
            squares += rest * x[k] * x[k]
            same += rest * rest
        expected = n_left * n_left - same if nominal else 2.0 * (n_left * squares - total * total)
        defined = n_left > 1.5 and expected > 1e-9 * n_left * n_left
        items = out[i, 0]
        out[i, 2] = out[i, 2] / items if items else np.nan
        out[i, 3] = chance / (items * items) if items else np.nan
        out[i, 4] = 1.0 - left[i] * (n_left - 1.0) / expected if defined else np.nan


def _is_first(workers, weight, start, n):
    """Whether a label is the first of its worker on an item whose labels begin at ``start``."""
    if weight[n] < 1.0:
        for o in range(start, n):
            if workers[o] == workers[n]:
                return False
    return True


def _keep(rows, key, record):
    """Insert a record into rows sorted by falling key, then by falling shared items; the last row falls out."""
    place = len(rows)
    while place > 0 and (key > rows[place - 1, 0] or (key == rows[place - 1, 0] and record[1] > rows[place - 1, 2])):
        place -= 1
    if place == len(rows):
        return
    for r in range(len(rows) - 1, place, -1):
        rows[r] = rows[r - 1]
    rows[place, 0] = key
    rows[place, 1:] = record


def _meet(i, starts, workers, labels, weight, by_worker, order, item, slot, mates, shared, agreed, mine, theirs):
    """Add up what worker i and each later worker said on the same items; return the number of those workers."""
    size = 0
    for p in range(by_worker[i], by_worker[i + 1]):
        n = order[p]
        for o in range(starts[item[n]], starts[item[n] + 1]):
            if workers[o] <= i:
                continue
            s = slot[workers[o]]
            if s < 0:
                s = slot[workers[o]] = size
                mates[s] = workers[o]
                shared[s], agreed[s] = 0.0, 0.0
                size += 1
            both = weight[n] * weight[o]
            shared[s] += both
            mine[s, labels[n]] += both
            theirs[s, labels[o]] += both
            if labels[n] == labels[o]:
                agreed[s] += both
    return size


def _part(i, starts, workers, labels, weight, by_worker, order, item, slot, shared, agreed, kappa, chance, mine, theirs, slope):
    """Add the derivatives by the items' weights."""
    for p in range(by_worker[i], by_worker[i + 1]):
        n = order[p]
        for o in range(starts[item[n]], starts[item[n] + 1]):
            if workers[o] <= i or np.isnan(kappa[slot[workers[o]]]):
                continue
            s = slot[workers[o]]
            both, rate, free = weight[n] * weight[o], agreed[s] / shared[s], 1.0 - chance[s]
            same = 1.0 if labels[n] == labels[o] else 0.0
            more = (theirs[s, labels[n]] + mine[s, labels[o]]) / shared[s] - 2.0 * chance[s]
            slope[item[n], 0] += both
            slope[item[n], 1] += both * (kappa[s] + ((same - rate) * free - (1.0 - rate) * more) / (free * free))


def _clear(i, starts, workers, labels, by_worker, order, item, slot, mine, theirs):
    """Clear what `_meet` touched and nothing else: classes may be many."""
    for p in range(by_worker[i], by_worker[i + 1]):
        n = order[p]
        for o in range(starts[item[n]], starts[item[n] + 1]):
            if workers[o] > i:
                mine[slot[workers[o]], labels[n]] = 0.0
                theirs[slot[workers[o]], labels[o]] = 0.0


def compare_pairs(starts, workers, labels, weight, by_worker, order, item, n_classes, least, slots, numbers, slope, high, low):
    """Add Cohen's kappa of every two workers who share at least ``least`` items.

    ``numbers`` (5,): pairs, pairs without a kappa, pairs that share less, sum of shared items, sum of shared items times
    kappa. ``slope`` (n_items, 2): derivative of the last two by each item's weight. ``high`` and ``low`` (shown, 6) keep the
    pairs of highest and lowest kappa: key, kappa, shared items, agreement, worker, worker. ``slots`` bounds co-workers.
    """
    n_workers = len(by_worker) - 1
    slot, mates = np.full(n_workers, -1, np.int64), np.empty(slots, np.int64)
    shared, agreed, kappa, chance = np.zeros(slots), np.zeros(slots), np.empty(slots), np.empty(slots)
    mine, theirs = np.zeros((slots, n_classes)), np.zeros((slots, n_classes))
    record = np.empty(5)
    for i in range(n_workers):
        size = _meet(i, starts, workers, labels, weight, by_worker, order, item, slot, mates, shared, agreed, mine, theirs)
        for s in range(size):
            kappa[s] = np.nan
            if shared[s] < least - 0.5:
                numbers[2] += 1
                continue
            chance[s] = 0.0
            for k in range(n_classes):
                chance[s] += mine[s, k] * theirs[s, k] / (shared[s] * shared[s])
            if chance[s] > 1.0 - 1e-12:
                numbers[1] += 1
                continue
            kappa[s] = (agreed[s] / shared[s] - chance[s]) / (1.0 - chance[s])
            numbers[0] += 1
            numbers[3] += shared[s]
            numbers[4] += shared[s] * kappa[s]
            record[0], record[1], record[2] = kappa[s], shared[s], agreed[s] / shared[s]
            record[3], record[4] = i, mates[s]
            _keep(high, kappa[s], record)
            _keep(low, -kappa[s], record)
        _part(
            i,
            starts,
            workers,
            labels,
            weight,
            by_worker,
            order,
            item,
            slot,
            shared,
            agreed,
            kappa,
            chance,
            mine,
            theirs,
            slope,
        )
        if n_classes <= 32:
            mine[:size], theirs[:size] = 0.0, 0.0
        else:
            _clear(i, starts, workers, labels, by_worker, order, item, slot, mine, theirs)
        for s in range(size):
            slot[mates[s]] = -1
