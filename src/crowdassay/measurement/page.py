"""Charts and page of a many-facet measurement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.data.text import short
from crowdassay.io.values import counted
from crowdassay.measurement import facets_tables as lay
from crowdassay.measurement.facets import ManyFacet
from crowdassay.report.chart import Chart
from crowdassay.report.charts import _chart, _tooltip
from crowdassay.report.findings import Findings, Section, number, small
from crowdassay.report.theme import AMBER, BLUE, CLASSES, GREY, INK

MOST_NAMED = 30  # elements of a facet that are named in the map
MOST_DRAWN = 2000
BINS = 40
SHOWN = 15


def wright_map(model: ManyFacet) -> Chart:
    """Return the variable map: all facets on one logit scale, names beside points, thresholds as lines."""
    ratings = model._fitted()
    columns = [model._item, *model._design.others]
    names = [_heading(model, f) for f in columns]
    records: list[dict[str, Any]] = []
    drawn, note = [], ""
    for place, f in enumerate(columns):
        measure = model._measures[f]
        known = np.flatnonzero(np.isfinite(measure))
        few = len(known) <= MOST_NAMED
        if len(known) > MOST_DRAWN:
            known = np.sort(np.random.default_rng(0).choice(known, MOST_DRAWN, replace=False))
            note = f"Of facets with more than {MOST_DRAWN:,} elements a random {MOST_DRAWN:,} are drawn."
        edges = np.linspace(*_range(model), BINS + 1)
        stacked: dict[int, int] = {}
        for e in known[np.argsort(measure[known], kind="stable")]:
            level = int(np.clip(np.searchsorted(edges, measure[e]) - 1, 0, BINS - 1))
            stacked[level] = stacked.get(level, 0) + 1
            drawn.append(stacked[level])
            records.append(
                {
                    "facet": names[place],
                    "element": short(ratings.names[f][int(e)].as_py()),
                    "name": short(ratings.names[f][int(e)].as_py(), 12) if few else "",
                    "measure": round(float(measure[e]), 4),
                    "level": round(float(edges[level] + edges[level + 1]) / 2, 4) if not few else round(float(measure[e]), 4),
                    "across": stacked[level],
                    "error": round(float(model._errors[f][e]), 3) if np.isfinite(model._errors[f][e]) else None,
                }
            )
    most = max(drawn, default=1)
    for record in records:  # names need room beside their points
        stack = record["across"]
        record["across"] = round(0.03 + 0.3 * ((stack - 1) % 3) if record["name"] else (stack - 0.5) / max(most, 12), 4)
    low, high = _range(model)
    y = {"field": "level", "type": "quantitative", "title": "logits", "scale": {"domain": [low, high], "nice": False}}
    x = {"field": "across", "type": "quantitative", "axis": None, "scale": {"domain": [0, 1.02]}}
    colour = {"field": "facet", "type": "nominal", "legend": None, "scale": {"domain": names, "range": CLASSES}}
    hover = _tooltip(facet="facet", element="element", measure=("measure", ".2f"), error=("standard error", ".2f"))
    points = {
        "mark": {"type": "point", "filled": True, "size": 26, "opacity": 0.85},
        "encoding": {"x": x, "y": y, "color": colour, "tooltip": hover},
    }
    texts = {
        "mark": {"type": "text", "align": "left", "dx": 6, "fontSize": 10},
        "encoding": {"x": x, "y": y, "text": {"field": "name", "type": "nominal"}, "tooltip": hover},
    }
    lines = []
    if model._steps is None:
        steps = [
            {"threshold": round(row["threshold"], 4), "step": f"{row['from']:g}|{row['to']:g}"}
            for row in lay.thresholds_table(model).to_pylist()
        ]
        rule = {
            "data": {"values": steps},
            "mark": {"type": "rule", "strokeDash": [3, 4], "opacity": 0.45, "color": INK},
            "encoding": {
                "y": {"field": "threshold", "type": "quantitative"},
                "tooltip": _tooltip(step="between", threshold=("threshold", ".2f")),
            },
        }
        lines = [rule]
    spec = _chart(
        "Variable map",
        "Points: every element of every facet on one scale of logits",
        records,
        190,
        420,
        facet={
            "column": {
                "field": "facet",
                "type": "nominal",
                "title": None,
                "sort": names,
                "header": {"labelFontSize": 12, "labelColor": INK},
            }
        },
        spec={"width": 190, "height": 420, "layer": [*lines, points, texts]},
    )
    del spec["width"], spec["height"]
    told = "Dashed lines are thresholds between neighbouring scores." if lines else ""
    return Chart(spec, " ".join(part for part in (told, note) if part))


def _heading(model: ManyFacet, facet: int) -> str:
    name = short(model._ratings.facets[facet], 18)
    return f"{name} ({'up: rated higher' if facet in model._positive else 'up: rated lower'})"


def _range(model: ManyFacet) -> tuple[float, float]:
    every = np.concatenate([measure[np.isfinite(measure)] for measure in model._measures])
    if model._steps is None:
        every = np.append(every, [row["threshold"] for row in lay.thresholds_table(model).to_pylist()])
    return float(np.floor(every.min() * 2 - 0.5) / 2), float(np.ceil(every.max() * 2 + 0.5) / 2)


def fit_chart(table: pa.Table, facet: str) -> Chart:
    """Return infit and outfit of a facet's elements, worst first, with the band that is as expected."""
    rows = [
        row
        for row in table.to_pylist()
        if row["facet"] == facet and row["outfit"] is not None and row["outfit"] == row["outfit"]
    ]
    rows = sorted(rows, key=lambda row: -max(row["infit"], row["outfit"]))[:40]
    names = [short(row["element"], 24) for row in rows]
    records = [
        {"element": name, "statistic": kind, "value": round(min(row[kind], 4.0), 4)}
        for row, name in zip(rows, names, strict=True)
        for kind in ("infit", "outfit")
    ]
    band = {
        "data": {"values": [{"low": 0.5, "high": 1.5}]},
        "mark": {"type": "rect", "opacity": 0.12, "color": GREY},
        "encoding": {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}},
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 50, "opacity": 0.9},
        "encoding": {
            "x": {"field": "value", "type": "quantitative", "title": "mean square", "scale": {"zero": True}},
            "y": {"field": "element", "type": "nominal", "title": None, "sort": names},
            "color": {
                "field": "statistic",
                "type": "nominal",
                "title": None,
                "scale": {"domain": ["infit", "outfit"], "range": [BLUE, AMBER]},
            },
            "tooltip": _tooltip(element="element", statistic="statistic", value=("mean square", ".2f")),
        },
    }
    return Chart(_chart("Fit", "Points: infit and outfit", records, 520, max(16 * len(names), 60), layer=[band, points]))


def measuring_page(model: ManyFacet, title: str | None, interactions: list[tuple[str, str, pa.Table]]) -> Findings:
    """Return the page of a fit."""
    ratings = model._fitted()
    measures, facets = lay.measures_table(model), lay.facets_table(model)
    rater = ratings.facets[model._rater_facet()]
    sections = [
        Section(
            "map",
            "Variable map",
            "All facets on one scale: the further what is measured stands above a rater, the higher that rater rates it.",
        ),
        Section(
            "facets",
            "How far the elements of each facet lie apart",
            "Reliability near 1: the order of the elements would come out the same again. p tests whether they differ at all.",
            ("facet", "elements", "sd", "mean error", "separation", "reliability", "p"),
            [
                (
                    row["facet"],
                    f"{row['elements']:,}",
                    number(row["sd"]),
                    number(row["rmse"]),
                    number(row["separation"]),
                    number(row["reliability"]),
                    small(row["p"]),
                )
                for row in facets.to_pylist()
            ],
        ),
        Section(
            "fit",
            f"Fit of {rater}",
            "1 is as expected; above 1.5 ratings are noisier than the model, below 0.5 too predictable. The worst first.",
        ),
    ]
    for f, name in enumerate(ratings.facets):
        rows = [row for row in measures.to_pylist() if row["facet"] == name]
        rows = sorted(rows, key=lambda row: -(row["measure"] if row["measure"] == row["measure"] else -1e9))
        cut = rows if len(rows) <= 2 * SHOWN else [*rows[:SHOWN], *rows[-SHOWN:]]
        left = len(rows) - len(cut)
        sections.append(
            Section(
                f"facet-{f}",
                f"{name}: {'higher is rated higher' if f in model._positive else 'higher is rated lower'}",
                "",
                ("element", "ratings", "mean rating", "measure", "error", "fair average", "infit", "outfit"),
                [
                    (
                        short(row["element"], 30),
                        f"{row['ratings']:,}",
                        number(row["mean_rating"]),
                        number(row["measure"]) + (" *" if row["extreme"] else ""),
                        number(row["standard_error"]),
                        number(row["fair_average"]),
                        number(row["infit"]),
                        number(row["outfit"]),
                    )
                    for row in cut
                ],
                f"{left:,} elements between these are in the table measures." if left else "",
            )
        )
    sections.append(_categories(model))
    sections += _tests(model, interactions)
    cards = [
        {
            "title": "Ratings",
            "value": f"{ratings.n_ratings:,}",
            "text": f"scores {ratings.values[0]:g} to {ratings.values[-1]:g}",
        },
        {
            "title": f"{ratings.facets[model._item]}",
            "value": f"{model.spread_:.2f} logits",
            "text": "how far they lie apart (standard deviation)",
        },
        {
            "title": "Connected",
            "value": "yes" if model.connected_ else "no",
            "text": "whether ratings alone compare every element with every other",
        },
    ]
    return Findings(
        title or f"Measurement of {ratings.source}",
        f"{counted(ratings.n_ratings, 'rating')}; facets {', '.join(ratings.facets)}; {model.estimation} maximum likelihood.",
        sections,
        model.notes_,
        cards,
        {"map": wright_map(model), "fit": fit_chart(measures, rater)},
    )


def _categories(model: ManyFacet) -> Section:
    rows: list[Any] = lay.categories_table(model).to_pylist()
    steps = {} if model._steps is not None else {row["to"]: row for row in lay.thresholds_table(model).to_pylist()}
    return Section(
        "scale",
        "The scale",
        "A threshold is where two neighbouring scores are equally likely. Thresholds and average logits should rise.",
        ("score", "ratings", "share", "average logit", "expected", "outfit", "threshold", "error"),
        [
            (
                f"{row['score']:g}",
                f"{row['ratings']:,}",
                f"{row['share']:.0%}",
                number(row["average_logit"]),
                number(row["expected_logit"]),
                number(row["outfit"]),
                number(steps[row["score"]]["threshold"]) + (" disordered" if steps[row["score"]]["disordered"] else "")
                if row["score"] in steps
                else "",
                number(steps[row["score"]]["standard_error"]) if row["score"] in steps else "",
            )
            for row in rows
        ],
    )


def _tests(model: ManyFacet, interactions: list[tuple[str, str, pa.Table]]) -> list[Section]:
    """Return sections on interactions, groups and drift."""
    ratings = model._fitted()
    found: list[Section] = []
    for one, two, table in interactions:
        rows = table.slice(0, SHOWN).to_pylist()
        found.append(
            Section(
                f"bias-{len(found)}",
                f"Do {one} and {two} interact?",
                "Logits by which two elements together are rated higher than apart. q is the false discovery rate.",
                (one, two, "ratings", "bias", "error", "p", "q"),
                [
                    (
                        short(row[one], 24),
                        short(row[two], 24),
                        f"{row['ratings']:,}",
                        number(row["bias"]),
                        number(row["standard_error"]),
                        small(row["p"]),
                        small(row["q"]),
                    )
                    for row in rows
                ],
                f"The {SHOWN} most telling of {table.num_rows:,} pairs." if table.num_rows > SHOWN else "",
            )
        )
    if ratings.group is not None:
        table = pa.concat_tables([one[0] for one in model._group_tests()]).sort_by("p")
        rows = table.slice(0, SHOWN).to_pylist()
        found.append(
            Section(
                "groups",
                "Are elements seen differently by group?",
                "Logits between the groups that rate an element highest and lowest, beyond what the groups have in common.",
                ("element", "facet", "higher in", "lower in", "difference", "error", "p", "q"),
                [
                    (
                        short(row["element"], 24),
                        row["facet"],
                        short(row["rated_higher_in"] or "–", 16),
                        short(row["rated_lower_in"] or "–", 16),
                        number(row["difference"]),
                        number(row["standard_error"]),
                        small(row["p"]),
                        small(row["q"]),
                    )
                    for row in rows
                ],
            )
        )
    if ratings.time is not None:
        from crowdassay.measurement.interactions import drift  # noqa: PLC0415

        facet = model._rater_facet()
        table = drift(ratings, model._residuals, facet, 1.0 if facet in model._positive else -1.0)
        found.append(
            Section(
                "drift",
                f"Does {ratings.facets[facet]} drift?",
                f"Logits of severity gained per {ratings.time_unit}, and over all the time at work.",
                ("element", "ratings", "drift", "error", "over all its time", "p", "q"),
                [
                    (
                        short(row["element"], 24),
                        f"{row['ratings']:,}",
                        f"{row['drift']:.3g}" if row["drift"] == row["drift"] else "–",
                        f"{row['standard_error']:.2g}",
                        number(row["over_all_its_time"]),
                        small(row["p"]),
                        small(row["q"]),
                    )
                    for row in table.slice(0, SHOWN).to_pylist()
                ],
            )
        )
    return found
