"""`result.chart`: every chart of a result by name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdassay.arrays import IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.findings.insight import Insight
from crowdassay.findings.scores import Against, calibration, without_gold
from crowdassay.labels.truth import match_truth
from crowdassay.planning.plan import assess, curve_records
from crowdassay.planning.state import State
from crowdassay.results.report import charts, records
from crowdassay.results.report.chart import Chart
from crowdassay.results.report.charts import curve_chart
from crowdassay.results.report.page import on_page
from crowdassay.text import distinct


@dataclass(frozen=True, eq=False)
class Gallery:
    """The charts of one result.

    >>> from crowdassay import MajorityVote
    >>> result = MajorityVote().fit((list("aabb"), list("xyxy"), [0, 0, 1, 0])).result_
    >>> result.chart.confidence()
    Chart('How sure the labels are', 11 records)
    """

    insight: Insight

    def confidence(self) -> Chart:
        """Show how many items have which probability."""
        return Chart(charts.confidence_chart(records.confidence_records(self.insight)))

    def workers(self) -> Chart:
        """Show each worker's accuracy with its interval against the number of labels."""
        rows, note = records.worker_records(self.insight)
        weights = sum(row["labels"] for row in rows)
        mean = sum(row["labels"] * row["accuracy"] for row in rows) / weights if weights else None
        return Chart(charts.workers_chart(rows, mean), note)

    def confusion(self, worker: Any = None) -> Chart:
        """Show what is answered to what: by one worker, or by the crowd with a box to choose a worker."""
        if worker is not None:
            names = self.insight.record.labels.workers.to_pylist()
            if worker not in names:
                raise ParameterError(f"There is no worker {worker!r} in these labels.")
            rows, classes, workers, note = records.confusion_records(self.insight, [names.index(worker)], crowd=False)
            return Chart(charts.confusion_chart(rows, classes, workers, f"What {workers[0]} answers to what"), note)
        chosen, left_out = records.busiest_workers(self.insight)
        rows, classes, workers, note = records.confusion_records(self.insight, chosen, crowd=True)
        return Chart(charts.confusion_chart(rows, classes, workers), " ".join(filter(None, (note, left_out))))

    def classes(self, truth: Any = None) -> Chart:
        """Show how common each class is among labels, items and, if given, the truth."""
        codes = self.match(truth)
        truths = None if codes is None else np.bincount(codes[codes >= 0], minlength=self.insight.record.labels.n_classes)
        rows, classes, note = records.class_records(self.insight, truths)
        return Chart(charts.classes_chart(rows, classes), note)

    def items(self, size: int = 15) -> Chart:
        """Show how many said what about the most disputed items."""
        return Chart(charts.items_chart(*records.item_records(self.insight, size)))

    def convergence(self) -> Chart:
        """Show the objective after every step."""
        if len(self.insight.record.history) < 2:
            raise DataError(
                f"The method '{self.insight.record.method}' keeps no history of an objective, so there is nothing to draw."
            )
        rows = [{"step": step, "objective": value} for step, value in enumerate(self.insight.record.history, 1)]
        return Chart(charts.convergence_chart(rows))

    def selection(self) -> Chart:
        """Show the scores of what was tried, where a parameter was chosen from the data."""
        chosen = self.insight.record.selection
        if chosen is None:
            raise DataError("Nothing was chosen from the data in this fit; gamma='auto' and crowdassay.select do that.")
        best = max(row["score"] for row in chosen["rows"])
        rows = [{**row, "chosen": row["score"] == best} for row in chosen["rows"]]
        keep = ("candidate", "score", "chosen")
        return Chart(charts.selection_chart([{name: row[name] for name in keep} for row in rows]))

    def calibration(self, truth: Any) -> Chart:
        """Show how often labels are right against how sure they are; truth as a file, a frame, a mapping or class codes."""
        codes = self.match(truth)
        codes = None if codes is None else without_gold(self.insight.record.labels, codes)
        if codes is None or not (codes >= 0).any():
            raise DataError("The truth holds no item of these labels that was not given as gold; there is nothing to compare.")
        return Chart(charts.calibration_chart(calibration(self.insight.record, codes)))

    def curve(self, *, cost: float = 1.0, target: float | None = None, fit: Any = None) -> Chart:
        """Show the expected error against what further labels cost each; ``fit``, of labels, checks items of known class."""
        if self.insight.partial:
            raise DataError("The curve needs all labels in memory; here only some items are.")
        record = self.insight.record
        standing = assess(State.typical(record, self.insight.crowd), method=record.method, fit=fit)
        return Chart(curve_chart(curve_records(standing, cost=cost), target), " ".join(standing.notes))

    def page(self, against: Against | None) -> dict[str, Chart]:
        """Return the charts of the report by the name of their place on the page; ``against`` compares with a truth."""
        insight, chart = self.insight, self
        rows, classes, note = records.class_records(insight, None if against is None else against.cells.sum(axis=1))
        drawn = {"confidence": chart.confidence(), "confusion": chart.confusion()}
        drawn["classes"] = Chart(charts.classes_chart(rows, classes), note)
        if insight.estimable.any():
            drawn["workers"] = chart.workers()
        disputed = chart.items()
        if disputed.records:
            drawn["items"] = disputed
        if len(insight.record.history) > 1:
            drawn["convergence"] = chart.convergence()
        if insight.record.selection is not None:
            drawn["selection"] = chart.selection()
        if against is not None:
            drawn["calibration"] = Chart(charts.calibration_chart(against.records))
            drawn["truth"] = _truth_chart(insight, against.cells)
        drawn["confusion"] = _named_for_paper(drawn["confusion"])
        return on_page(drawn)

    def match(self, truth: Any) -> np.ndarray | None:
        """Return known classes as codes (n_items,), -1 where unknown, or None where nothing is given."""
        labels = self.insight.record.labels
        if truth is not None and self.insight.partial:
            raise ParameterError(
                "These labels are not in memory: give the truth where they are read, and it is compared there."
            )
        if isinstance(truth, np.ndarray) and truth.shape == (labels.n_items,) and truth.dtype.kind == "i":
            return truth
        return None if truth is None else match_truth(labels, truth)[0]


def _named_for_paper(chart: Chart) -> Chart:
    """Return the chart with the name of the worker chosen above the chart, which paper shows without the box to choose from."""
    chosen = chart.spec.get("params")
    if not chosen:
        return chart
    names = [f"Answers of {name}" for name in chosen[0]["bind"]["labels"]]
    return Chart({**chart.spec, "title": {"text": {"expr": f"{json.dumps(names)}[chosen]"}}}, chart.note)


def _truth_chart(insight: Insight, counts: IntArray) -> Chart:
    labels = insight.record.labels
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    classes = records.common_classes(insight)
    names = distinct([labels.class_names[c] for c in classes])
    rows = [
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
    return Chart(charts.confusion_chart(rows, names, [], axes=("label found", "true class"), unit="items", largest=360))
