"""The tables of the report: workers to look at, items to look at, what the model chose."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdassay.data.result import Result
from crowdassay.insight.items import hardness
from crowdassay.insight.verdicts import ADVERSARY, SPAMMER, WEAK
from crowdassay.io.values import counted
from crowdassay.report.text import short

SHOWN = 12
NAMES = 6  # workers named for one answer

Rows = list[dict[str, Any]]


def flagged_workers(result: Result) -> tuple[Rows, str]:
    """Return adversaries, spammers and weak workers, those with most labels first, and a note on how many are left out."""
    found, labels = result.insight, result.labels
    n_labels = found.n_labels
    rank = {ADVERSARY: 0, SPAMMER: 1, WEAK: 2}
    chosen = sorted(
        (i for i, name in enumerate(found.verdicts) if name in rank), key=lambda i: (rank[found.verdicts[i]], -n_labels[i], i)
    )
    rows = [
        {
            "worker": short(labels.workers[i].as_py()),
            "labels": f"{n_labels[i]:,}",
            "accuracy": f"{found.accuracy[i]:.0%}",
            "interval": f"{found.low[i]:.0%} to {found.high[i]:.0%}",
            "verdict": found.verdicts[i],
            "evidence": found.evidence[i],
        }
        for i in chosen[:SHOWN]
    ]
    return rows, "" if len(chosen) <= SHOWN else f"{len(chosen) - SHOWN:,} more are in the workers table."


def copied_workers(result: Result) -> Rows:
    """Return the pairs of workers that look most like copies."""
    workers = result.labels.workers
    return [
        {
            "worker": short(workers[pair.worker].as_py()),
            "other": short(workers[pair.other].as_py()),
            "items": f"{pair.items:,}",
            "agreed": f"{pair.agreed:,}",
            "expected": f"{pair.expected:,.1f}",
        }
        for pair in result.insight.copies[0][:SHOWN]
    ]


def worth_items(result: Result) -> tuple[Rows, str]:
    """Return the items most worth another label, and a note on how many are left out."""
    if not result.insight.connection.identified.any() or result.insight.chance:
        return [], ""
    worth, labels = result.insight.worth, result.labels
    rows = [
        {
            "item": short(labels.items[one.item].as_py()),
            "label": short(labels.class_names[int(result.code[one.item])]),
            "probability": f"{result.probability[one.item]:.1%}",
            "labels": "more than 25" if one.labels is None else f"{one.labels}",
            "rate": f"{one.rate:.3f}",
            "expert": f"{one.expert:.2f}",
        }
        for one in worth[:SHOWN]
    ]
    return rows, "" if len(worth) <= SHOWN else "The column standing of the items table says which other items are open."


def hardest_items(result: Result) -> tuple[Rows, str]:
    """Return the items that workers get wrong most, or are least sure, who said what about them, and the measure's name."""
    labels, hard = result.labels, hardness(result)
    chosen = [int(j) for j in np.argsort(-hard, kind="stable")[:SHOWN] if labels.starts[j + 1] > labels.starts[j]]
    rows = [
        {
            "item": short(labels.items[j].as_py()),
            "label": short(labels.class_names[int(result.code[j])]),
            "probability": f"{result.probability[j]:.1%}",
            "measure": f"{hard[j]:.2f}",
            "said": said(result, j),
        }
        for j in chosen
    ]
    return rows, "entropy" if result.difficulty is None else "difficulty"


def said(result: Result, item: int) -> Rows:
    """Return who gave an item which label, the most common label first."""
    labels = result.labels
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


def model_facts(result: Result) -> dict[str, Any]:
    """Return what was fitted, with which parameters, and how it ended."""
    end = "converged" if result.converged else "did not converge: raise --max-iter"
    objective = "" if result.objective is None else f" at an objective of {result.objective:,.4f}"
    text = f"The method {result.method} {end} after {counted(result.n_iter, 'iteration')}{objective}."
    chosen = result.selection
    return {
        "text": text if result.n_iter else f"The method {result.method} takes one pass over the labels.",
        "parameters": [(name, short(_brief(value), 80)) for name, value in result.parameters.items() if value is not None],
        "selection": "" if chosen is None else f"Chosen by {chosen['criterion']}: {chosen['best']}.",
    }


def _brief(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_brief, value[:6])) + (", ..." if len(value) > 6 else "")
    return f"{value:.4g}" if isinstance(value, float) else str(value)
