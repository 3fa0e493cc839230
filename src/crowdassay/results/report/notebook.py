"""How results show themselves in a notebook: a card with the four answers, two charts, and who needs attention."""

from __future__ import annotations

from contextlib import suppress
from html import escape

import numpy as np

from crowdassay.errors import CrowdassayError
from crowdassay.findings.insight import Insight
from crowdassay.findings.items import ItemStanding
from crowdassay.findings.tables import ITEMS
from crowdassay.findings.verdicts import ACTION_ORDER
from crowdassay.labels.record import LIKELIEST
from crowdassay.labels.values import counted
from crowdassay.results.report.chart import ACTION_COLOURS, render_svg
from crowdassay.results.report.gallery import Gallery
from crowdassay.results.report.overview import cards, worth_knowing
from crowdassay.tables import Column
from crowdassay.text import short

ROWS_IN_NOTEBOOK = 8
CHART_WIDTH = 300
BOX = "border:1px solid rgba(128,128,128,.35);border-radius:8px;padding:.6rem .8rem;flex:1 1 11rem;min-width:11rem"
SMALLER = "font-size:.85em;opacity:.85"
LEAST_SURE = ("item", ITEMS.column("probability", format="precise share"), "standing", Column("label", format="name"))


def result_html(insight: Insight) -> str:
    """Return what was found as a card: what is known, how wrong it is, who needs attention, what it will cost."""
    labels, totals, method = insight.record.labels, insight.totals, insight.record.method
    method += "" if insight.record.decide == LIKELIEST else f", labels by the {insight.record.decide}"
    head = (
        f"<div><b>{escape(method)}</b>: {counted(totals.labels, 'label')} of {counted(totals.items, 'item')} by "
        f"{counted(labels.n_workers, 'worker')}</div>"
    )
    boxes = "".join(
        f"<div style='{BOX}'><div style='{SMALLER}'>{escape(card['title'])}</div>"
        f"<div style='font-size:1.5em;font-weight:600'>{escape(card['value'])}</div>"
        f"<div style='{SMALLER}'>{escape(card['text'])}</div></div>"
        for card in cards(insight, None)
    )
    told = worth_knowing((*insight.record.notes, *insight.notes))
    notes = "".join(f"<div style='{SMALLER}'>{escape(note)}</div>" for note in told)
    charts, gallery = "", Gallery(insight)
    with suppress(CrowdassayError):  # where what draws them is not installed
        for chart in [*([gallery.workers()] if insight.estimable.any() else []), gallery.confidence()]:
            charts += f"<div style='overflow-x:auto'>{render_svg({**chart.spec, 'width': CHART_WIDTH})}</div>"
    return (
        f"<div class='crowdassay' style='display:flex;flex-direction:column;gap:.7rem;max-width:64rem'>{head}"
        f"<div style='display:flex;flex-wrap:wrap;gap:.6rem'>{boxes}</div>"
        f"{_attention(insight)}<div style='display:flex;flex-wrap:wrap;gap:1rem'>{charts}</div>"
        f"<details><summary>The {ROWS_IN_NOTEBOOK} least sure items</summary>{_least_sure(insight)}</details>{notes}</div>"
    )


def _attention(insight: Insight) -> str:
    """Return a line for each worker that needs attention: what to do, who, and why."""
    chosen, workers = insight.attention[:ROWS_IN_NOTEBOOK], insight.record.labels.workers
    lines = "".join(
        f"<div><b style='color:{ACTION_COLOURS[insight.actions[i]]}'>{insight.actions[i].capitalize()}</b> "
        f"<bdi>{escape(short(workers[i].as_py()))}</bdi>: {escape(insight.evidence[i])}</div>"
        for i in sorted(chosen, key=lambda i: ACTION_ORDER.index(insight.actions[i]))
    )
    more = len(insight.attention) - len(chosen)
    return f"<div>{lines}{f'<div>and {more:,} more.</div>' if more else ''}</div>" if lines else ""


def _least_sure(insight: Insight) -> str:
    record = insight.record
    rows = [
        {
            "item": record.labels.items[int(j)].as_py(),
            "probability": record.probability[j],
            "standing": "cannot be told" if insight.standing[j] == ItemStanding.UNIDENTIFIABLE else insight.standings[j],
            "label": record.labels.class_names[int(record.code[j])],
        }
        for j in np.argsort(record.probability, kind="stable")[:ROWS_IN_NOTEBOOK]
    ]
    return ITEMS.html(rows, LEAST_SURE)
