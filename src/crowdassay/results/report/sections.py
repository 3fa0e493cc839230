"""The tables of the report: all workers, those to look at, items to look at, and how the labels were found."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdassay.findings.insight import Insight
from crowdassay.findings.items import hardest
from crowdassay.findings.reasons import shown_seconds
from crowdassay.findings.verdicts import ORDER, UNKNOWN
from crowdassay.labels.values import counted
from crowdassay.results.report.contents import ROWS_SHOWN, Contents
from crowdassay.text import short

MOST_ROWS = 400  # workers in the table
NAMES = 6  # workers named for one answer

Rows = list[dict[str, Any]]


def flagged_workers(insight: Insight) -> tuple[Rows, str]:
    """Return the workers that need attention, the most urgent first, and a note on how many are left out."""
    chosen = insight.attention
    rows = [_worker(insight, i) for i in chosen[:ROWS_SHOWN]]
    return rows, "" if len(chosen) <= ROWS_SHOWN else f"{len(chosen) - ROWS_SHOWN:,} more are marked in the table of workers."


def all_workers(insight: Insight) -> tuple[Rows, str]:
    """Return a row for every worker, those that need attention first, then by accuracy; and a note on those left out."""
    rank = np.array([ORDER.index(action) for action in insight.actions])
    shown = np.where(insight.estimable, insight.accuracy, 2.0)
    order = np.lexsort((-insight.n_labels, shown, rank))
    order = order[insight.n_labels[order] > 0]
    note = "" if len(order) <= MOST_ROWS else f"The first {MOST_ROWS:,} of {len(order):,} workers; the file has all of them."
    return [_worker(insight, int(i)) for i in order[:MOST_ROWS]], note


def _worker(insight: Insight, i: int) -> dict[str, Any]:
    seconds = insight.seconds
    known = bool(insight.estimable[i])
    pace = None if seconds is None or not np.isfinite(seconds[i]) else float(seconds[i])
    return {
        "worker": short(insight.record.labels.workers[i].as_py()),
        "labels": f"{insight.n_labels[i]:,}",
        "n_labels": int(insight.n_labels[i]),
        "accuracy": f"{insight.accuracy[i]:.0%}" if known else "",
        "share": round(float(insight.accuracy[i]), 6) if known else -1,
        "interval": f"{insight.low[i]:.0%} to {insight.high[i]:.0%}" if known else "",
        "seconds": "" if pace is None else shown_seconds(pace),
        "pace": -1 if pace is None else round(pace, 3),
        "action": insight.actions[i],
        "rank": ORDER.index(insight.actions[i]),
        "verdict": insight.verdicts[i],
        "reasons": [reason.words for reason in insight.advice.reasons[i]],
        "text": _standing(insight, i),
    }


def _standing(insight: Insight, i: int) -> str:
    """Say how a worker stands against whom nothing was found."""
    return "" if insight.advice.reasons[i] or insight.actions[i] != UNKNOWN else insight.verdicts[i]


def copied_workers(insight: Insight) -> Rows:
    """Return the pairs of workers that look most like copies."""
    workers = insight.record.labels.workers
    return [
        {
            "worker": short(workers[pair.worker].as_py()),
            "other": short(workers[pair.other].as_py()),
            "items": f"{pair.items:,}",
            "agreed": f"{pair.agreed:,}",
            "expected": f"{pair.expected:,.1f}",
        }
        for pair in insight.copies[0][:ROWS_SHOWN]
    ]


def worth_items(insight: Insight, contents: Contents) -> tuple[Rows, str]:
    """Return the items most worth another label, and a note on how many are left out."""
    if not insight.connection.identified.any() or insight.chance:
        return [], ""
    worth, labels = insight.next_items, insight.record.labels
    rows = [
        {
            "item": short(labels.items[one.item].as_py()),
            "content": contents.get(labels.items[one.item].as_py()),
            "label": short(labels.class_names[int(insight.record.code[one.item])]),
            "probability": f"{insight.record.probability[one.item]:.0%}",
            "labels": "ask an expert" if one.labels is None else f"{one.labels}",
        }
        for one in worth[:ROWS_SHOWN]
    ]
    return rows, "" if len(worth) <= ROWS_SHOWN else "The file of items to label next has more."


def hardest_items(insight: Insight, contents: Contents) -> Rows:
    """Return the items that workers get wrong most, or are least sure, and who said what about them."""
    labels = insight.record.labels
    chosen = [int(j) for j in hardest(insight.record, ROWS_SHOWN) if labels.starts[j + 1] > labels.starts[j]]
    return [
        {
            "item": short(labels.items[j].as_py()),
            "content": contents.get(labels.items[j].as_py()),
            "label": short(labels.class_names[int(insight.record.code[j])]),
            "probability": f"{insight.record.probability[j]:.0%}",
            "said": said(insight, j),
        }
        for j in chosen
    ]


def said(insight: Insight, item: int) -> Rows:
    """Return who gave an item which label, the most common label first."""
    labels = insight.record.labels
    part = slice(int(labels.starts[item]), int(labels.starts[item + 1]))
    label, worker = labels.label[part], labels.worker[part]
    counts = np.bincount(label, minlength=labels.n_classes)
    return [
        {
            "label": short(labels.class_names[int(k)], 24),
            "count": f"{counts[k]:,}",
            "workers": [short(labels.workers[int(i)].as_py(), 24) for i in worker[label == k][:NAMES]],
            "more": max(0, int(counts[k]) - NAMES),
        }
        for k in np.argsort(-counts, kind="stable")
        if counts[k]
    ][:8]


def model_facts(insight: Insight) -> dict[str, str]:
    """Return how the labels were found, in words."""
    text = f"The labels were found by the method {insight.record.method}"
    if insight.record.n_iter:
        text += f", in {counted(insight.record.n_iter, 'pass')} over the data"
    if not insight.record.converged:
        text += "; it was stopped before it had finished, so the figures are not final"
    chosen = insight.record.selection
    return {"text": text + ".", "selection": "" if chosen is None else f"Chosen by {chosen['criterion']}: {chosen['best']}."}
