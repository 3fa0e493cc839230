"""How results show themselves in a notebook."""

from __future__ import annotations

from html import escape

import numpy as np

from crowdassay.data.html import table
from crowdassay.insight.describe import Insight
from crowdassay.io.values import counted

ROWS = 8


def result_html(insight: Insight) -> str:
    """Return what was found in a few lines, with the least sure items and the busiest workers."""
    labels, found = insight.record.labels, insight
    totals = insight.totals
    least = np.argsort(insight.record.probability, kind="stable")[:ROWS]
    items = [
        (
            labels.items[int(j)].as_py(),
            labels.class_names[int(insight.record.code[j])],
            f"{insight.record.probability[j]:.1%}",
            found.standings[j],
        )
        for j in least
    ]
    n_labels = found.n_labels
    workers = [
        (
            labels.workers[int(i)].as_py(),
            f"{n_labels[i]:,}",
            f"{found.accuracy[i]:.1%}" if found.estimable[i] else "unknown",
            f"{found.low[i]:.1%} to {found.high[i]:.1%}" if found.estimable[i] else "",
            found.actions[i],
        )
        for i in np.argsort(-n_labels, kind="stable")[:ROWS]
    ]
    return (
        f"<p><b>{escape(insight.record.method)}</b>: {counted(totals.labels, 'label')} of "
        f"{counted(totals.items, 'item')} by {counted(labels.n_workers, 'worker')}; "
        f"{totals.settled / totals.items:.0%} of the items are settled.</p>"
        f"<div style='display:flex;flex-wrap:wrap;gap:2rem'>{table('Least sure items', ITEMS, items)}"
        f"{table('Busiest workers', WORKERS, workers)}</div>"
        + "".join(f"<p>{escape(note)}</p>" for note in (*insight.record.notes, *found.notes))
    )


ITEMS = ("item", "label", "probability", "standing")
WORKERS = ("worker", "labels", "accuracy", "95% interval", "what to do")
