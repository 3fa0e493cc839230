"""How many of the accused are innocent by the truth, on real data, and how many copies of real workers are found.

    python benchmarks/verdicts.py --real [--most LABELS] [--show]      (CROWDASSAY_DATA names the folder of the data)

The default is fitted to every real dataset whose truth is known, without the truth and with constants learned
without the dataset's group. A verdict is then held against the truth, on the items of known class that the
worker labelled, five or more. The accused is innocent if the worker is, or has,

    one answer, spammer, below par  right at least as often as the other workers were on the same items;
    fails gold                      the same on the other half of the known items: one half is given to the fit;
    adversary                       right at least as often as the same answers dealt out over the same items at random;
    biased                          says the one class to what is the other no more often than the other workers do;
    copy                            fewer than half of the errors, of the one who has fewer, in common with the other worker.

No dataset has times. Copies are then made: of up to three workers with 50 labels or more on shared items of each dataset,
everything is copied by one worker more. An item can tell of a copy if not everybody gives it the same label.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from accuracy import ours
from corpus import Dataset, datasets
from crowdassay import Labels

KINDS = ("adversary", "one answer", "spammer", "copy", "biased", "below par")
KNOWN_TO_JUDGE, SHARED_ITEMS, COPIED = 5, 50, 3


def others_right(one, mine):
    """Return how often the worker of the marked labels is right, the others on the same items, and how many items."""
    labels, truth = one.labels, one.truth
    right = labels.label == truth[labels.label_item]
    total, hits = (np.bincount(labels.label_item, column, labels.n_items) for column in (None, right))
    rows = np.flatnonzero(mine & (truth[labels.label_item] >= 0))
    item = labels.label_item[rows]
    others = total[item] - np.bincount(labels.label_item[mine], minlength=labels.n_items)[item]
    theirs = hits[item] - np.bincount(labels.label_item[mine], right[mine], labels.n_items)[item]
    shared = others > 0
    if not shared.any():
        return np.nan, np.nan, 0
    return right[rows][shared].mean(), (theirs[shared] / others[shared]).mean(), int(shared.sum())


def contradicts(one, mine):
    """Return how often the worker is right, and how often by chance, and how many labels can tell."""
    labels, truth = one.labels, one.truth
    rows = np.flatnonzero(mine & (truth[labels.label_item] >= 0))
    answer, known = labels.label[rows], truth[labels.label_item[rows]]
    shares = [np.bincount(codes, minlength=labels.n_classes) / max(len(rows), 1) for codes in (answer, known)]
    return (answer == known).mean() if len(rows) else np.nan, shares[0] @ shares[1], len(rows)


def confuses(one, mine, cell):
    """Return how often the others, and the worker, say the one class to what is the other, and how many labels can tell."""
    labels, (c, k) = one.labels, cell
    here = one.truth[labels.label_item] == c
    said = labels.label == k
    n = int((here & mine).sum())
    return said[here & ~mine].mean() if (here & ~mine).any() else np.nan, said[here & mine].mean() if n else np.nan, n


def common_errors(one, worker, other):
    """Return the share of errors in common, of the one who has fewer, one half, and how many items both labelled."""
    labels, said = one.labels, np.full((2, one.labels.n_items), -1)
    for row, code in zip(said, (worker, other), strict=True):
        mine = np.flatnonzero((labels.worker == code) & labels.first_judgements)
        row[labels.label_item[mine]] = labels.label[mine]
    both = (said >= 0).all(axis=0) & (one.truth >= 0)
    (x, y), truth = said[:, both], one.truth[both]
    fewer = min((x != truth).sum(), (y != truth).sum())
    return 0.5, ((x == y) & (x != truth)).sum() / max(fewer, 1), int(both.sum())


def hold_against_truth(one, found, kinds):
    """Yield kind, worker, and a pair of shares, the first of which is the larger, or equal, for the innocent; and n."""
    excess = found.counts - found.counts.sum(axis=2, keepdims=True) * found.crowd
    excess[:, np.eye(found.crowd.shape[0], dtype=bool)] = 0.0
    for worker, reasons in enumerate(found.reasons):
        mine = one.labels.worker == worker
        for kind in (str(reason.kind) for reason in reasons):
            if kind not in kinds:
                continue
            if kind == "adversary":
                yield kind, worker, *contradicts(one, mine)
            elif kind == "biased":
                yield kind, worker, *confuses(one, mine, np.unravel_index(excess[worker].argmax(), excess[worker].shape))
            elif kind == "copy":
                pair = next(pair for pair in found.copies[0] if worker in (pair.worker, pair.other))
                yield kind, worker, *common_errors(one, pair.worker, pair.other)
            else:
                yield kind, worker, *others_right(one, mine)


def accuse(one, fit):
    """Return what is said against workers, with and without half of the known items, and how many pairs look like copies."""
    found = fit(one).insight
    rows = list(hold_against_truth(one, found, KINDS))
    known = np.random.default_rng(1).permutation(np.flatnonzero(one.truth >= 0))
    gold, rest = np.full(one.labels.n_items, -1), one.truth.copy()
    half = known[: len(known) // 2]
    gold[half], rest[half] = one.truth[half], -1
    given = Dataset(one.name, one.group, one.people, one.ordered, one.labels.with_gold(gold), rest)
    return rows + list(hold_against_truth(given, fit(given).insight, ("fails gold",))), len(found.copies[0])


def copy_workers(one, fit, generator):
    """Yield for some workers how often they leave the majority of the others, how many items can tell, and how a copy is found.

    That is 0 if not at all, 1 as a copy or somebody who is right as well, 2 as a copy.
    """
    labels = one.labels
    often = np.flatnonzero(np.bincount(labels.worker[labels.compared], minlength=labels.n_workers) >= SHARED_ITEMS)
    for worker in generator.choice(often, min(COPIED, len(often)), replace=False):
        mine = np.flatnonzero(labels.worker == worker)
        more = Labels.from_codes(
            np.append(labels.label_item, labels.label_item[mine]),
            np.append(labels.worker, np.full(len(mine), labels.n_workers)),
            np.append(labels.label, labels.label[mine]), items=labels.items,
            workers=pa.array([f"w{i}" for i in range(labels.n_workers + 1)]), classes=labels.classes,
        )  # fmt: skip
        found = fit(Dataset(one.name, one.group, one.people, one.ordered, more, one.truth)).insight
        votes = labels.votes()[labels.label_item[mine]].astype(int)
        votes[np.arange(len(mine)), labels.label[mine]] -= 1
        left = (votes.max(axis=1) > votes[np.arange(len(mine)), labels.label[mine]]).sum()
        can_tell = (np.count_nonzero(labels.votes(), axis=1)[np.unique(labels.label_item[mine])] > 1).sum()
        pairs = {(pair.worker, pair.other): 1 + (not pair.may_be_right) for pair in found.copies[0]}
        yield int(left), int(can_tell), pairs.get((int(worker), labels.n_workers), 0)


def measure_real(most, show):
    """Print how many of the accused are innocent by the truth, and how many of the copies made are found."""
    fit, generator, rows, copies, shown = ours("assay"), np.random.default_rng(0), [], [], 0
    for one in datasets(most=most):
        here, pairs = accuse(one, fit)
        shown += pairs
        rows += [(one.name, *row) for row in here]
        copies += copy_workers(one, fit, generator)
        for kind, worker, share, other, n in here if show else ():
            if n >= KNOWN_TO_JUDGE and share >= other:
                print(f"{one.name}: {kind}, worker {worker}: {share:.2f} beside {other:.2f} on {n} items")
    print("| verdict | accused | the truth can tell | innocent | share |\n|---|---|---|---|---|")
    for kind in (*KINDS, "fails gold"):
        accused = [row for row in rows if row[1] == kind]
        told = [row for row in accused if row[5] >= KNOWN_TO_JUDGE and not np.isnan(row[3] + row[4])]
        innocent = sum(row[3] >= row[4] for row in told)
        print(f"| {kind} | {len(accused)} | {len(told)} | {innocent} | {innocent / max(len(told), 1):.1%} |")
    print(f"\nPairs that look like copies before any copy is made: {shown}.")
    print("\n| copies | made | found | called copies |\n|---|---|---|---|")
    left, can_tell, how = np.array(copies).T
    rows_of_copies = {
        "all": left >= 0,
        f"who share {SHARED_ITEMS} items or more that can tell": can_tell >= SHARED_ITEMS,
        "of workers who leave the majority of the others 5 times or more": left >= 5,
        "10 times or more": left >= 10,
        "20 times or more": left >= 20,
    }
    for name, some in rows_of_copies.items():
        print(f"| {name} | {some.sum()} | {(how[some] > 0).mean():.0%} | {(how[some] > 1).mean():.0%} |")
