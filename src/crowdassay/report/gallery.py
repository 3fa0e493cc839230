"""`result.chart`: every chart of a result by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdassay.errors import DataError, ParameterError
from crowdassay.insight.describe import Insight
from crowdassay.io.truth import match_truth
from crowdassay.metrics.calibration import calibration
from crowdassay.metrics.scores import without_gold
from crowdassay.report import charts, records
from crowdassay.report.chart import Chart


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
