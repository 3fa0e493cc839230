"""The report: what a result says, on one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crowdassay.arrays import FloatArray
from crowdassay.findings.insight import Insight
from crowdassay.findings.money import count_money
from crowdassay.findings.scores import Against, calibration_error
from crowdassay.labels.values import counted
from crowdassay.labels.write import write_bytes
from crowdassay.results.report import overview, sections
from crowdassay.results.report.gallery import Gallery
from crowdassay.results.report.page import asset, check_report, render


def write_report(
    insight: Insight,
    path: str | Path,
    *,
    truth: Any = None,
    title: str | None = None,
    notes: Sequence[str] = (),
    cost: float | FloatArray | None = None,
    contents: Mapping[Any, Any] | None = None,
) -> None:
    """Write the report as one HTML file that opens offline.

    Parameters
    ----------
    insight : Insight
    path : str or Path
    truth : path, frame, mapping, ndarray of int of shape (n_items,), or Against, optional
        Known classes to compare with, codes being -1 where unknown; or what a comparison of all items has found.
    title : str, optional
    notes : sequence of str
        What else the reader should know.
    cost : float, optional
        The price of a label, or what each worker has been paid.
    contents : mapping, optional
        What items are, by item: a text, or the path of a picture beside the report.
    """
    path = Path(path)
    check_report(path)
    page = build_report(insight, truth=truth, title=title, notes=notes, cost=cost, contents=contents, folder=path.parent)
    write_bytes(page.encode(), path)


def build_report(
    insight: Insight,
    *,
    truth: Any = None,
    title: str | None = None,
    notes: Sequence[str] = (),
    cost: float | FloatArray | None = None,
    contents: Mapping[Any, Any] | None = None,
    folder: Path | None = None,
) -> str:
    """Return the report as HTML, as `write_report` writes it; pictures are looked for in ``folder``."""
    if not isinstance(truth, Against | None):
        codes = Gallery(insight).match(truth)
        assert codes is not None
        truth = Against.of(insight.record, codes)
    against = truth if truth is not None and truth.known else None
    if truth is not None and truth.gold and against is None:
        notes = [*notes, "Every item of the truth was given as gold, so that there is nothing left to score."]
    labels, totals = insight.record.labels, insight.totals
    money = None if cost is None else count_money(insight, cost)
    held = sections.shown_contents(insight, contents or {}, folder)
    flagged, flagged_note = sections.flagged_workers(insight)
    workers, workers_note = sections.all_workers(insight)
    worth, worth_note = sections.worth_items(insight, held)
    return render(
        asset("report.html"),
        Gallery(insight).page(against),
        title=title or f"Report on {labels.report.source}",
        subtitle=f"{counted(totals.labels, 'label')} of {counted(totals.items, 'item')} by "
        f"{counted(labels.n_workers, 'worker')}, {counted(labels.n_classes, 'class')}.",
        cards=overview.cards(insight, against, money),
        steps=overview.next_steps(insight, money),
        notes=overview.worth_knowing([*labels.report.notes, *insight.record.notes, *notes, *insight.notes]),
        settled=f"A label counts as settled when it is at least {insight.record.settled:.0%} sure.",
        agreement=overview.agreement_note(insight),
        truth=None if against is None else {"text": _beside(against)},
        flagged=flagged,
        flagged_note=flagged_note,
        workers=workers,
        workers_note=workers_note,
        timed=any(row["seconds"] for row in workers),
        copies=sections.copied_workers(insight),
        worth=worth,
        worth_note=worth_note,
        hardest=sections.hardest_items(insight, held),
        model=sections.model_facts(insight),
        files=sections.downloads(insight),
    )


def _beside(against: Against) -> str:
    return (
        f"Of the {against.known:,} items whose class is known{overview.told(against)}, {against.mean('error_rate'):.2%} are "
        f"labelled wrong; {1 - against.mean('mean_probability'):.2%} were expected to be. How sure and how right differ by "
        f"{calibration_error(against.records):.3f} on average."
    )
