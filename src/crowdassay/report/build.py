"""The report: what a result says, on one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crowdassay import __version__
from crowdassay.data.result import Result
from crowdassay.errors import FileError
from crowdassay.io.write import check_writable, write_bytes
from crowdassay.metrics.calibration import calibration, calibration_error
from crowdassay.metrics.scores import error_rate
from crowdassay.report import overview, sections
from crowdassay.report.chart import Chart, converter
from crowdassay.report.charts import confusion_chart
from crowdassay.report.html import asset, render, templates
from crowdassay.report.records import common_classes
from crowdassay.report.text import distinct, short

FIXED = ("confusion", "truth", "calibration")  # squares keep their size, the others fill the page


def check_report(path: Path) -> None:
    """Refuse a report's path, or the lack of what draws it, before there is anything to report."""
    if path.suffix not in (".html", ".htm"):
        raise FileError(f"'{path}' must end in .html.")
    check_writable(path.parent)
    converter()
    templates()


def write_report(
    result: Result, path: str | Path, *, truth: Any = None, title: str | None = None, notes: Sequence[str] = ()
) -> None:
    """Write the report as one HTML file that opens offline.

    Parameters
    ----------
    result : Result
    path : str or Path
    truth : path, frame, mapping or ndarray of int of shape (n_items,), optional
        Known classes to compare with; codes are -1 where unknown.
    title : str, optional
    notes : sequence of str
        What else the reader should know.
    """
    path = Path(path)
    check_report(path)
    known = result.chart.match(truth)
    write_bytes(build_report(result, truth=known, title=title, notes=notes).encode(), path)


def build_report(
    result: Result, *, truth: np.ndarray | None = None, title: str | None = None, notes: Sequence[str] = ()
) -> str:
    """Return the report as HTML."""
    if truth is not None and not (truth >= 0).any():
        truth = None
    labels, found = result.labels, result.insight
    flagged, flagged_note = sections.flagged_workers(result)
    worth, worth_note = sections.worth_items(result)
    hardest, measure = sections.hardest_items(result)
    return render(
        asset("report.html"),
        _charts(result, truth),
        title=short(title or f"Report on {labels.report.source}", 120),
        subtitle=f"{labels.n_labels:,} labels of {labels.n_items:,} items by {labels.n_workers:,} workers, "
        f"{labels.n_classes:,} classes, method {result.method}.",
        cards=overview.cards(result, truth),
        steps=overview.next_steps(result),
        notes=list(dict.fromkeys([*labels.report.notes, *result.notes, *notes, *found.notes])),
        truth=None if truth is None else {"text": _against(result, truth)},
        flagged=flagged,
        flagged_note=flagged_note,
        copies=sections.copied_workers(result),
        worth=worth,
        worth_note=worth_note,
        hardest=hardest,
        hardest_measure=measure,
        model=sections.model_facts(result),
        version=__version__,
    )


def _charts(result: Result, truth: np.ndarray | None) -> dict[str, Chart]:
    chart = result.chart
    found = {"confidence": chart.confidence(), "confusion": chart.confusion(), "classes": chart.classes(truth)}
    if result.insight.estimable.any():
        found["workers"] = chart.workers()
    disputed = chart.items()
    if disputed.records:
        found["items"] = disputed
    if len(result.history) > 1:
        found["convergence"] = chart.convergence()
    if result.selection is not None:
        found["selection"] = chart.selection()
    if truth is not None:
        found |= {"calibration": chart.calibration(truth), "truth": _truth_chart(result, truth)}
    for name, one in found.items():
        bare = {key: value for key, value in one.spec.items() if key != "title"}  # the page has headings of its own
        found[name] = Chart(bare if name in FIXED else {**bare, "width": "container"}, one.note)
    return found


def _truth_chart(result: Result, truth: np.ndarray) -> Chart:
    labels, known = result.labels, truth >= 0
    size = labels.n_classes
    counts = np.bincount(truth[known] * size + result.code[known], minlength=size * size).reshape(size, size)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    classes = common_classes(result)
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


def _against(result: Result, truth: np.ndarray) -> str:
    known = int((truth >= 0).sum())
    rows: list[dict[str, Any]] = calibration(result, truth)
    return (
        f"Of the {known:,} items whose class is known, {error_rate(result.winners, truth):.2%} are labelled wrong; "
        f"{1 - result.probability[truth >= 0].mean():.2%} were expected to be. How sure and how right differ by "
        f"{calibration_error(rows):.3f} on average."
    )
