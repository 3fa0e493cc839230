"""The report: what a result says, on one page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.data.text import distinct, short
from crowdassay.errors import FileError
from crowdassay.insight.describe import Insight
from crowdassay.insight.money import count_money
from crowdassay.insight.totals import Against
from crowdassay.io.values import counted
from crowdassay.io.write import check_writable, write_bytes
from crowdassay.metrics.calibration import calibration_error
from crowdassay.report import overview, sections
from crowdassay.report.chart import Chart, converter
from crowdassay.report.charts import calibration_chart, classes_chart, confusion_chart
from crowdassay.report.contents import Content, Contents, as_contents
from crowdassay.report.downloads import downloads
from crowdassay.report.gallery import Gallery
from crowdassay.report.html import asset, render, templates
from crowdassay.report.records import class_records, common_classes
from crowdassay.version import VERSION

FIXED = ("confusion", "truth", "calibration")  # squares keep their size, the others fill the page


def check_report(path: Path) -> None:
    """Refuse a report's path, or the lack of what draws it, before there is anything to report."""
    if path.suffix not in (".html", ".htm"):
        raise FileError(f"'{path}' must end in .html.")
    check_writable(path.parent)
    converter()
    templates()


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
    labels, found, totals = insight.record.labels, insight, insight.totals
    money = None if cost is None else count_money(found, cost)
    held = _contents(contents or {}, folder)
    flagged, flagged_note = sections.flagged_workers(insight)
    workers, workers_note = sections.all_workers(insight)
    worth, worth_note = sections.worth_items(insight, held)
    return render(
        asset("report.html"),
        _charts(insight, against),
        title=short(title or f"Report on {labels.report.source}", 120),
        subtitle=f"{counted(totals.labels, 'label')} of {counted(totals.items, 'item')} by "
        f"{counted(labels.n_workers, 'worker')}, {counted(labels.n_classes, 'class')}.",
        cards=overview.cards(insight, against, money),
        steps=overview.next_steps(insight, money),
        notes=overview.worth_knowing([*labels.report.notes, *insight.record.notes, *notes, *found.notes]),
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
        files=downloads(insight),
        version=VERSION,
    )


def _contents(contents: Mapping[Any, Any], folder: Path | None) -> Contents:
    ready = {item: value for item, value in contents.items() if isinstance(value, Content)}
    return {**as_contents({item: value for item, value in contents.items() if item not in ready}, folder), **ready}


def _charts(insight: Insight, against: Against | None) -> dict[str, Chart]:
    chart = Gallery(insight)
    rows, classes, note = class_records(insight, None if against is None else against.cells.sum(axis=1))
    found = {"confidence": chart.confidence(), "confusion": chart.confusion()}
    found["classes"] = Chart(classes_chart(rows, classes), note)
    if insight.estimable.any():
        found["workers"] = chart.workers()
    disputed = chart.items()
    if disputed.records:
        found["items"] = disputed
    if len(insight.record.history) > 1:
        found["convergence"] = chart.convergence()
    if insight.record.selection is not None:
        found["selection"] = chart.selection()
    if against is not None:
        found["calibration"] = Chart(calibration_chart(against.records))
        found["truth"] = _truth_chart(insight, against.cells)
    found["confusion"] = _say_whose(found["confusion"])
    for name, one in found.items():
        bare = {key: value for key, value in one.spec.items() if key != "title" or isinstance(value, dict)}
        found[name] = Chart(bare if name in FIXED else {**bare, "width": "container"}, one.note)
    return found


def _say_whose(chart: Chart) -> Chart:
    """Put the name of the worker chosen above the chart, which paper shows without the box to choose from."""
    chosen = chart.spec.get("params")
    if not chosen:
        return chart
    names = [f"Answers of {name}" for name in chosen[0]["bind"]["labels"]]
    return Chart({**chart.spec, "title": {"text": {"expr": f"{json.dumps(names)}[chosen]"}}}, chart.note)


def _truth_chart(insight: Insight, counts: IntArray) -> Chart:
    labels = insight.record.labels
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    classes = common_classes(insight)
    names = distinct([labels.class_names[c] for c in classes])
    records = [
        {
            "worker": 0,
            "true": names[a],
            "observed": names[b],
            "share": round(float(shares[c, k]), 4),
            "labels": int(counts[c, k]),
        }
        for a, c in enumerate(classes)
        for b, k in enumerate(classes)
        if counts[c].any()
    ]
    return Chart(confusion_chart(records, names, [], axes=("label found", "true class"), unit="items", largest=360))


def _beside(against: Against) -> str:
    return (
        f"Of the {against.known:,} items whose class is known{overview.told(against)}, {against.mean('error_rate'):.2%} are "
        f"labelled wrong; {1 - against.mean('mean_probability'):.2%} were expected to be. How sure and how right differ by "
        f"{calibration_error(against.records):.3f} on average."
    )
