"""From a result to the records of its charts: binned, cut to the top, or sampled with a note."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdassay.arrays import IntArray
from crowdassay.findings.insight import Insight
from crowdassay.findings.items import disputed
from crowdassay.findings.totals import PROBABILITY_BINS
from crowdassay.text import distinct, short

MOST_WORKERS = 1500  # points of the workers' chart
MOST_CELLS = 12_000  # cells of all heat maps together
CLASSES_CHARTED = 25
SPREAD, GOLDEN = 0.12, 0.618034  # workers with as many labels are drawn a little apart

Records = list[dict[str, Any]]


def confidence_records(insight: Insight) -> Records:
    """Count the items in bins of the probability of their label, from the lowest there can be to 1."""
    edges = np.linspace(0.0, 1.0, PROBABILITY_BINS + 1)
    counts = insight.totals.bins
    first = min(int(PROBABILITY_BINS / insight.record.labels.n_classes), int(np.flatnonzero(counts)[0]))
    return [
        {
            "low": round(float(edges[b]), 4),
            "left": round(float(edges[b]) + 0.002, 4),  # a little air between the bars
            "right": round(float(edges[b + 1]) - 0.002, 4),
            "items": int(counts[b]),
            "bin": f"{edges[b]:.0%} to {edges[b + 1]:.0%}",
            "state": "settled" if edges[b + 1] > insight.record.settled + 1e-9 else "open",
        }
        for b in range(first, PROBABILITY_BINS)
    ]


def worker_records(insight: Insight) -> tuple[Records, str]:
    """Return a record for every worker whose accuracy can be estimated, those flagged always, and a note on the rest."""
    labels = insight.record.labels
    n_labels = insight.n_labels
    shown = np.flatnonzero(insight.estimable & (n_labels > 0))
    notes = []
    if len(shown) < labels.n_workers:
        notes.append(f"{labels.n_workers - len(shown):,} workers share no item with another: nothing can be said about them.")
    if len(shown) > MOST_WORKERS:
        notes.append(
            f"{MOST_WORKERS:,} of {len(shown):,} workers are shown: those flagged and, of the others, a random sample."
        )
        shown = sample_workers(shown, np.isin(np.arange(labels.n_workers), insight.attention))
    place = np.argsort(np.argsort(insight.accuracy[shown], kind="stable"))
    apart = SPREAD * (np.bincount(n_labels[shown])[n_labels[shown]] > 1)
    return [
        {
            "worker": short(labels.workers[int(i)].as_py()),
            "place": int(rank),
            "labels": int(n_labels[i]),
            "at": round(float(n_labels[i] * (1 + spread * ((rank * GOLDEN) % 1 - 0.5))), 2),
            "accuracy": round(float(insight.accuracy[i]), 4),
            "low": round(float(insight.low[i]), 4),
            "high": round(float(insight.high[i]), 4),
            "interval": f"{insight.low[i]:.1%} to {insight.high[i]:.1%}",
            "action": insight.actions[int(i)],
            "verdict": insight.verdicts[int(i)],
            "evidence": insight.evidence[int(i)],
        }
        for i, rank, spread in zip(shown, place, apart, strict=True)
    ], " ".join(notes)


def sample_workers(shown: IntArray, flagged: np.ndarray) -> IntArray:
    """Keep the flagged and fill up with others drawn at random, always the same."""
    first = shown[flagged[shown]][:MOST_WORKERS]
    rest = shown[~flagged[shown]]
    drawn = np.random.default_rng(0).choice(rest, MOST_WORKERS - len(first), replace=False)
    return np.sort(np.concatenate([first, drawn]))


def confusion_records(insight: Insight, chosen: list[int], *, crowd: bool) -> tuple[Records, list[str], list[str], str]:
    """Return cells of heat maps, the classes and workers they are of, and a note; the crowd first if asked for."""
    labels = insight.record.labels
    classes = common_classes(insight)
    names = distinct([labels.class_names[c] for c in classes])
    note = (
        "" if len(classes) == labels.n_classes else f"The {len(classes)} most common of {labels.n_classes:,} classes are shown."
    )
    share, low, high, counts = insight.confusion(np.array(chosen, np.int64))
    tables: list[tuple[str, Any, Any, Any, Any]] = []
    if crowd:
        total = insight.counts.sum(axis=0)
        rows = total / np.maximum(total.sum(axis=1, keepdims=True), 1e-12)
        tables.append(("the crowd", rows, None, None, total))
    tables += [(short(labels.workers[i].as_py()), share[n], low[n], high[n], counts[n]) for n, i in enumerate(chosen)]
    records = []
    for number, (_, p, a, b, n) in enumerate(tables):
        for c, true in zip(classes, names, strict=True):
            for k, observed in zip(classes, names, strict=True):
                record = {
                    "worker": number,
                    "true": true,
                    "observed": observed,
                    "share": round(float(p[c, k]), 4),
                    "labels": round(float(n[c, k]), 2),
                    "interval": "–" if a is None else f"{a[c, k]:.1%} to {b[c, k]:.1%}",
                }
                if n[c].sum() > 1e-9:  # a class that the worker has not met has no shares
                    records.append(record)
    return records, names, [name for name, *_ in tables], note


def common_classes(insight: Insight) -> list[int]:
    """Return the classes that are found most often, in class order."""
    mass = insight.totals.mass
    return sorted(int(c) for c in np.argsort(-mass, kind="stable")[:CLASSES_CHARTED])


def busiest_workers(insight: Insight) -> tuple[list[int], str]:
    """Return as many workers as there is room for, most labels first, and a note if some are left out."""
    labels, n_labels = insight.record.labels, insight.n_labels
    room = max(1, MOST_CELLS // min(labels.n_classes, CLASSES_CHARTED) ** 2)
    order = np.argsort(-n_labels, kind="stable")[:room]
    note = "" if room >= labels.n_workers else f"The {room:,} workers with most labels of {labels.n_workers:,} can be chosen."
    return [int(i) for i in order if n_labels[i]], note


def class_records(insight: Insight, truths: IntArray | None) -> tuple[Records, list[str], str]:
    """Return the share of each class among labels, items and, counted by class (n_classes,), truths."""
    labels, classes, totals = insight.record.labels, common_classes(insight), insight.totals
    shares = {"labels given": totals.given / totals.labels, "items found": totals.mass / totals.items}
    if truths is not None and truths.any():
        shares["truth"] = truths / truths.sum()
    names = distinct([labels.class_names[c] for c in classes])
    note = (
        "" if len(classes) == labels.n_classes else f"The {len(classes)} most common of {labels.n_classes:,} classes are shown."
    )
    records = [
        {"class": name, "of": of, "share": round(float(share[c]), 5)}
        for c, name in zip(classes, names, strict=True)
        for of, share in shares.items()
    ]
    return records, names, note


def item_records(insight: Insight, size: int) -> tuple[Records, list[str], list[str]]:
    """Return the votes of the most disputed items, their names and the classes that occur."""
    labels, rows = insight.record.labels, disputed(insight.record, size)
    votes = labels.votes()[rows]
    used = np.flatnonzero(votes.sum(axis=0))
    classes = distinct([labels.class_names[int(k)] for k in used])
    records = [
        {
            "row": number,
            "item": short(labels.items[j].as_py()),
            "label": name,
            "labels": int(votes[number, k]),
            "found": short(labels.class_names[int(insight.record.code[j])], 24),
            "probability": round(float(insight.record.probability[j]), 4),
        }
        for number, j in enumerate(rows)
        for k, name in zip(used, classes, strict=True)
        if votes[number, k]
    ]
    names = [short(labels.items[j].as_py(), 24) for j in rows]
    return records, names, classes
