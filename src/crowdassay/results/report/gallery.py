"""`result.chart`: every chart of a result by name, its records binned, cut to the top, or sampled with a note."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdassay.arrays import IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.findings.insight import Insight
from crowdassay.findings.items import PROBABILITY_BINS, disputed
from crowdassay.findings.scores import Against, calibration, truth_codes, without_gold
from crowdassay.labels.values import counted
from crowdassay.planning.plan import assess, curve_records
from crowdassay.planning.state import State
from crowdassay.results.report.chart import ACTION_COLOURS, AMBER, BLUE, CLASS_COLOURS, GREEN, GREY, Chart
from crowdassay.results.report.charts import (
    Records,
    Spec,
    calibration_chart,
    cells,
    coloured,
    confusion_chart,
    curve_chart,
    draw,
    layer,
    limits,
    named,
    number,
    numbered,
    of,
    rounded,
    share,
    tooltip,
    with_intervals,
)
from crowdassay.text import distinct, short

MOST_NAMED = 40  # workers up to which a chart names each
MOST_WORKERS = 1500  # points of the workers' chart
MOST_CELLS = 12_000  # cells of all heat maps together
CLASSES_CHARTED = 25
SPREAD, GOLDEN = 0.12, 0.618034  # workers with as many labels are drawn a little apart
CLASS_SHARES = {"labels given": GREY, "items found": BLUE, "truth": GREEN}


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
        """Show how many items have which probability, from the lowest there can be to 1, settled ones in another colour."""
        edges, counts, record = np.linspace(0.0, 1.0, PROBABILITY_BINS + 1), self.insight.totals.bins, self.insight.record
        whole = counts.sum(axis=0)
        first = min(int(PROBABILITY_BINS / record.labels.n_classes), int(np.flatnonzero(whole)[0]))
        rows: Records = [
            {
                "low": rounded(edges[b]),
                "left": rounded(edges[b] + 0.002),  # a little air between the bars
                "right": rounded(edges[b + 1] - 0.002),
                "items": int(counts[s, b]),
                "from": int(counts[:s, b].sum()),
                "to": int(counts[: s + 1, b].sum()),
                "bin": f"{edges[b]:.0%} to {edges[b + 1]:.0%}",
                "state": state,
            }
            for b in range(first, PROBABILITY_BINS)
            for s, state in enumerate(("open", "settled"))
            if counts[s, b] or (not whole[b] and not s)
        ]
        most = int(whole.max())
        bars = layer(
            "rect",
            {"cornerRadiusTopLeft": 2, "cornerRadiusTopRight": 2},
            x=share("left", "probability of the label", scale={"domain": [rows[0]["low"], 1], "nice": False}),
            x2={"field": "right"},
            y=number("to", "items", axis={"format": ",.0f", "tickCount": min(most, 6), "tickMinStep": 1}),
            y2={"field": "from"},
            color=coloured("state", {"settled": BLUE, "open": AMBER}),
            tooltip=tooltip(bin="probability", state="state", items=("items", ",")),
        )
        return draw("How sure the labels are", "Bars: how many items have which probability", rows, [bars])

    def workers(self) -> Chart:
        """Show each worker's accuracy with its interval, coloured by what to do: by name, or against the number of labels."""
        rows, note = self._worker_records()
        by_name = len(rows) <= MOST_NAMED
        present = {name: colour for name, colour in ACTION_COLOURS.items() if any(row["action"] == name for row in rows)}
        hover = tooltip(
            worker="worker", labels=("labels", ","), accuracy=("accuracy", ".1%"), interval="95% interval",
            action="what to do", evidence="why",
        )  # fmt: skip
        along, other = ("x", "y") if by_name else ("y", "x")
        names = [row["worker"] for row in sorted(rows, key=lambda row: row["place"])]  # a row for each, the most accurate first
        axis = numbered("place", names, sort="descending", labelLimit=200, grid=False) if by_name else _by_labels(rows)
        place = {other: axis, "color": coloured("action", present)}
        faint = min(0.45, max(0.1, 45 / max(len(rows), 1)))  # not a wall
        layers = with_intervals(place, share("accuracy", "accuracy"), hover, along, width=1.5, opacity=faint)
        if n_labels := sum(row["labels"] for row in rows):
            mean = [{"accuracy": sum(row["labels"] * row["accuracy"] for row in rows) / n_labels}]
            told = tooltip(accuracy=("mean accuracy of labels", ".1%"))
            line = layer("rule", {"strokeDash": [4, 4], "opacity": 0.5}, **{along: share("accuracy", None)}, tooltip=told)
            layers.insert(0, of(mean, line))
        says = f"Points: accuracy of each worker {'by name' if by_name else 'against the number of labels given'}"
        return draw("Workers", says, rows, layers, note, height=max(18 * len(rows), 60) if by_name else 340)

    def _worker_records(self) -> tuple[Records, str]:
        """Return a record for every worker whose accuracy can be estimated, those flagged always, and a note on the rest."""
        insight, labels, n_labels = self.insight, self.insight.record.labels, self.insight.n_labels
        shown = np.flatnonzero(insight.estimable & (n_labels > 0))
        notes = []
        if len(shown) < labels.n_workers:
            notes.append(
                f"{counted(labels.n_workers - len(shown), 'worker shares', 'workers share')} no item with another: nothing "
                "can be said of them."
            )
        if len(shown) > MOST_WORKERS:
            notes.append(
                f"{MOST_WORKERS:,} of {len(shown):,} workers are shown: those flagged and, of the others, a random sample."
            )
            flagged = np.isin(shown, insight.attention)
            first = shown[flagged][:MOST_WORKERS]
            drawn = np.random.default_rng(0).choice(shown[~flagged], MOST_WORKERS - len(first), replace=False)
            shown = np.sort(np.concatenate([first, drawn]))
        place = np.argsort(np.argsort(insight.accuracy[shown], kind="stable"))
        apart = SPREAD * (np.bincount(n_labels[shown])[n_labels[shown]] > 1)
        return [
            {
                "worker": short(labels.workers[int(i)].as_py()),
                "place": int(rank),
                "labels": int(n_labels[i]),
                "at": round(float(n_labels[i] * (1 + spread * ((rank * GOLDEN) % 1 - 0.5))), 2),
                "accuracy": rounded(insight.accuracy[i]),
                **limits(insight.low[i], insight.high[i]),
                "action": insight.actions[int(i)],
                "verdict": insight.verdicts[int(i)],
                "evidence": insight.evidence[int(i)],
            }
            for i, rank, spread in zip(shown, place, apart, strict=True)
        ], " ".join(notes)

    def confusion(self, worker: object = None) -> Chart:
        """Show what is answered to what: by one worker, or by the crowd with a box to choose a worker."""
        insight, labels = self.insight, self.insight.record.labels
        classes, note = self._common_classes()
        rows: Records = []
        workers: list[str] = []
        if worker is None:
            room = max(1, MOST_CELLS // min(labels.n_classes, CLASSES_CHARTED) ** 2)
            chosen = [int(i) for i in np.argsort(-insight.n_labels, kind="stable")[:room] if insight.n_labels[i]]
            if room < labels.n_workers:
                note = f"{note} The {room:,} workers with most labels of {labels.n_workers:,} can be chosen.".strip()
            total = insight.counts.sum(axis=0)
            mean = total / np.maximum(total.sum(axis=1, keepdims=True), 1e-12)
            rows = [cell | {"interval": "–"} for cell in cells(0, classes, classes, total, mean)]
            workers = ["the crowd"]
        else:
            ids = labels.workers.to_pylist()
            if worker not in ids:
                raise ParameterError(f"There is no worker {worker!r} in these labels.")
            chosen = [ids.index(worker)]
        shares, low, high, counts = insight.confusion(np.array(chosen, np.int64))
        for n, i in enumerate(chosen):
            rows += cells(len(workers), classes, classes, counts[n], shares[n], (low[n], high[n]))
            workers.append(short(labels.workers[i].as_py()))
        title = "What is answered to what" if worker is None else f"What {workers[0]} answers to what"
        return confusion_chart(rows, list(classes.values()), workers, title, note)

    def _common_classes(self) -> tuple[dict[int, str], str]:
        """Return the names of the classes that are found most often, by code and in class order, and a note on the rest."""
        labels = self.insight.record.labels
        codes = sorted(int(c) for c in np.argsort(-self.insight.totals.mass, kind="stable")[:CLASSES_CHARTED])
        some = len(codes) < labels.n_classes
        note = f"The {len(codes)} most common of {labels.n_classes:,} classes are shown." if some else ""
        return dict(zip(codes, distinct([labels.class_names[c] for c in codes]), strict=True)), note

    def classes(self, truth: object = None) -> Chart:
        """Show how common each class is among labels, items and, if given, the truth."""
        codes = self.match(truth)
        known = None if codes is None else np.bincount(codes[codes >= 0], minlength=self.insight.record.labels.n_classes)
        return self._class_shares(known)

    def _class_shares(self, known: IntArray | None) -> Chart:
        """Show how common each class is; ``known`` counts the items of each class in the truth (n_classes,)."""
        totals, (classes, note) = self.insight.totals, self._common_classes()
        shares = {"labels given": totals.given / totals.labels, "items found": totals.mass / totals.items}
        if known is not None and known.any():
            shares["truth"] = known / known.sum()
        rows: Records = [
            {"class": name, "of": of, "share": round(float(values[c]), 5)}
            for c, name in classes.items()
            for of, values in shares.items()
        ]
        bars = layer(
            "bar",
            {"cornerRadiusEnd": 2},
            y=named("class", list(classes.values())),
            yOffset={"field": "of", "sort": list(shares)},
            x=number("share", "share", axis={"format": ".0%", "tickCount": 5}),
            color=coloured("of", {name: CLASS_SHARES[name] for name in shares}),
            tooltip=tooltip(**{"class": "class", "of": "of", "share": ("share", ".1%")}),
        )
        height = max(14 * len(classes) * len(shares), 80)
        return draw("Classes", "Bars: how common each class is", rows, [bars], note, height=height)

    def items(self, size: int = 15) -> Chart:
        """Show how many said what about the most disputed items, as stacked bars."""
        record, labels = self.insight.record, self.insight.record.labels
        chosen = disputed(record, size)
        votes = labels.votes()[chosen]
        used = np.flatnonzero(votes.sum(axis=0))
        classes = distinct([labels.class_names[int(k)] for k in used])
        rows: Records = [
            {
                "row": n,
                "item": short(labels.items[j].as_py()),
                "label": name,
                "labels": int(votes[n, k]),
                "found": short(labels.class_names[int(record.code[j])], 24),
                "probability": rounded(record.probability[j]),
            }
            for n, j in enumerate(chosen)
            for k, name in zip(used, classes, strict=True)
            if votes[n, k]
        ]
        scale = {"domain": classes, "range": CLASS_COLOURS}
        bars = layer(
            "bar",
            {},
            y=numbered("row", [short(labels.items[j].as_py(), 24) for j in chosen]),
            x=number("labels", "labels", axis={"tickMinStep": 1, "format": "d"}),
            color={"field": "label", "type": "nominal", "title": None, "scale": scale},
            tooltip=tooltip(
                item="item", label="label", labels=("labels", ","), found="label found", probability=("probability", ".1%")
            ),
        )
        height = max(22 * len(chosen), 60)
        return draw("The most disputed items", "Bars: how many workers said what", rows, [bars], height=height)

    def convergence(self) -> Chart:
        """Show the objective after every step."""
        record = self.insight.record
        if len(record.history) < 2:
            raise DataError(f"The method '{record.method}' keeps no history of an objective, so there is nothing to draw.")
        line = layer(
            "line",
            {"color": BLUE, "point": {"size": 18, "color": BLUE}},
            x=number("step", "step", axis={"tickMinStep": 1, "format": "d"}),
            y=number("objective", "objective", scale={"zero": False}),
            tooltip=tooltip(step=("step", "d"), objective=("objective", ",.4f")),
        )
        rows: Records = [{"step": step, "objective": value} for step, value in enumerate(record.history, 1)]
        return draw("How the fit converged", "Line: the objective after every step", rows, [line], height=220)

    def selection(self) -> Chart:
        """Show the scores of what was tried, where a parameter was chosen from the data; the chosen one is filled."""
        chosen = self.insight.record.selection
        if chosen is None:
            raise DataError("Nothing was chosen from the data in this fit; gamma='auto' and crowdassay.select do that.")
        best = max(row["score"] for row in chosen["rows"])
        rows: Records = [
            {"candidate": row["candidate"], "score": row["score"], "chosen": row["score"] == best} for row in chosen["rows"]
        ]
        points = layer(
            "point",
            {"size": 80, "opacity": 1},
            x=number("score", "score (higher is better)", scale={"zero": False}),
            y=named("candidate", [row["candidate"] for row in rows]),
            color={"value": BLUE},
            fill={"condition": {"test": "datum.chosen", "value": BLUE}, "value": "transparent"},
            tooltip=tooltip(candidate="candidate", score=("score", ".5f")),
        )
        height = max(24 * len(rows), 60)
        return draw("What was tried", "Points: the score of every candidate", rows, [points], height=height)

    def calibration(self, truth: object) -> Chart:
        """Show how often labels are right against how sure they are; truth as a file, a frame, a mapping or class codes."""
        codes = self.match(truth)
        codes = None if codes is None else without_gold(self.insight.record.labels, codes)
        if codes is None or not (codes >= 0).any():
            raise DataError("The truth holds no item of these labels that was not given as gold; there is nothing to compare.")
        return calibration_chart(calibration(self.insight.record, codes))

    def curve(self, *, cost: float = 1.0, target: float | None = None) -> Chart:
        """Show the expected error against what further labels cost each."""
        if self.insight.partial:
            raise DataError("The curve needs all labels in memory; here only some items are.")
        record = self.insight.record
        standing = assess(State.typical(record, self.insight.crowd), self.insight.error, self.insight.why_no_error)
        return curve_chart(curve_records(standing, cost=cost), target, " ".join(standing.notes))

    def page(self, against: Against | None) -> dict[str, Chart | None]:
        """Return the charts of the report by the name of their place on the page; ``against`` compares with a truth."""
        insight, disputed_items, confusion = self.insight, self.items(), self.confusion()
        if chosen := confusion.spec.get("params"):  # paper shows no box: the name of the worker stands above the chart
            names = [f"Answers of {name}" for name in chosen[0]["bind"]["labels"]]
            title = {"text": {"expr": f"{json.dumps(names)}[chosen]"}}
            confusion = Chart({**confusion.spec, "title": title}, confusion.note)
        drawn: dict[str, Chart | None] = {
            "confidence": self.confidence(),
            "confusion": confusion,
            "classes": self._class_shares(None if against is None else against.cells.sum(axis=1)),
            "workers": self.workers() if insight.estimable.any() else None,
            "items": disputed_items if disputed_items.records else None,
            "convergence": self.convergence() if len(insight.record.history) > 1 else None,
            "selection": None if insight.record.selection is None else self.selection(),
        }
        if against is not None:
            classes, counts = self._common_classes()[0], against.cells
            rows = cells(0, classes, classes, counts, counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
            axes = ("label found", "true class")
            drawn["calibration"] = calibration_chart(against.records)
            drawn["truth"] = confusion_chart(rows, list(classes.values()), [], axes=axes, unit="items", largest=360)
        return drawn

    def match(self, truth: object) -> IntArray | NDArray[np.int32] | None:
        """Return known classes as codes (n_items,), -1 where unknown, or None where nothing is given."""
        labels = self.insight.record.labels
        if truth is not None and self.insight.partial:
            raise ParameterError(
                "These labels are not in memory: give the truth where they are read, and it is compared there."
            )
        return None if truth is None else truth_codes(labels, truth)[0]


def _by_labels(records: Records) -> Spec:
    """Return an axis for the number of labels; where all have given about as many, workers stand side by side."""
    least, most = (bound(record["labels"] for record in records) for bound in (min, max))
    if most < 1.3 * least:
        bare = {"labels": False, "ticks": False}
        return {"field": "place", "type": "ordinal", "title": "workers, the least accurate first", "axis": bare}
    scale = {"type": "log" if most > 5 * least else "linear", "domain": [least * 0.8, most * 1.2], "nice": False}
    axis = {"format": ",.0f", "tickCount": 6, "labelOverlap": True}
    return number("at", "labels given", scale=scale, axis=axis)
