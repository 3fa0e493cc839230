"""The report: what a result says, on one page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from crowdassay.findings.insight import Insight
from crowdassay.findings.money import Money, count_money
from crowdassay.findings.scores import Against, calibration_error
from crowdassay.labels.values import counted
from crowdassay.results.report import overview, sections
from crowdassay.results.report.gallery import Gallery
from crowdassay.results.report.page import Findings


def build_report(
    insight: Insight,
    *,
    truth: object = None,
    title: str | None = None,
    money: Money | None = None,
    contents: Mapping[Any, Any] | None = None,
    folder: Path | None = None,
    expert: pa.Table | None = None,
) -> Findings:
    """Return the report.

    Parameters
    ----------
    insight : Insight
    truth : path, frame, mapping, ndarray of int of shape (n_items,), or Against, optional
        Known classes to compare with, codes being -1 where unknown; or what a comparison of all items has found.
    title : str, optional
    money : Money, optional
        What labels and an expert cost; without, no prices are known.
    contents : mapping, optional
        What items are, by item: a text, or the path of a picture in ``folder``.
    folder : Path, optional
        Where the report will be.
    expert : pa.Table, optional
        The sheet for an expert that the page offers: `crowdassay.results.expert.expert_table`.
    """
    if not isinstance(truth, Against | None):
        codes = Gallery(insight).match(truth)
        assert codes is not None
        truth = Against.of(insight.record, codes)
    against = truth if truth is not None and truth.known else None
    only_gold = truth is not None and truth.gold and against is None
    labels, totals = insight.record.labels, insight.totals
    money = money or count_money(insight)
    held = sections.shown_contents(insight, money, contents or {}, folder)
    flagged, flagged_note = sections.flagged_workers(insight)
    workers, workers_note = sections.all_workers(insight)
    notes = [*labels.report.notes, *insight.record.notes]
    if only_gold:
        notes.append("Every item of the truth was given as gold, so that there is nothing left to score.")
    return Findings(
        title or f"Report on {labels.report.source}",
        f"{counted(totals.labels, 'label')} of {counted(totals.items, 'item')} by "
        f"{counted(labels.n_workers, 'worker')}, {counted(labels.n_classes, 'class')}.",
        notes=[*notes, *insight.notes],
        cards=overview.cards(insight, against, money),
        charts=Gallery(insight).page(against),
        template="report.html",
        more={
            "steps": overview.next_steps(insight, money),
            "settled": f"A label counts as settled when it is at least {100 * insight.record.settled:g}% sure.",
            "bands": sections.sure_bands(insight),
            "agreement": overview.agreement_note(insight),
            "truth": None if against is None else _beside(against),
            "flagged": flagged,
            "flagged_note": flagged_note,
            "workers": workers,
            "workers_note": workers_note,
            "timed": any(row["seconds"] for row in workers),
            "copies": sections.copied_workers(insight),
            "worth": sections.worth_items(insight, money, held),
            "hardest": sections.hardest_items(insight, held),
            "model": sections.model_facts(insight),
            "cost": overview.costs(money),
            "files": sections.downloads(insight, money, expert),
        },
    )


def _beside(against: Against) -> str:
    return (
        f"Of {counted(against.known, 'item')} whose class is known{overview.told(against)}, "
        f"{against.mean('error_rate'):.2%} are labelled wrong; by the probabilities of their labels "
        f"{1 - against.mean('mean_probability'):.2%} would be. On average, how sure labels are and how often they are right "
        f"differ by {100 * calibration_error(against.records):.1f} points."
    )
