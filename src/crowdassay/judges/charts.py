"""Charts of the page about judges: rates with intervals, judges' accuracy, and whose errors go together."""

from __future__ import annotations

import numpy as np

from crowdassay.judges.rated import Rated
from crowdassay.results.report.chart import AMBER, BLUE, GREY, ORANGE, Chart
from crowdassay.results.report.charts import (
    Records,
    cells,
    coloured,
    confusion_chart,
    draw,
    heat_map,
    limits,
    named,
    rounded,
    share,
    tooltip,
    with_intervals,
)
from crowdassay.text import distinct, short

WAYS = {"people with the judges' help": BLUE, "people alone": GREY, "judges alone claim": ORANGE}
MOST_CLASSES, MOST_JUDGES = 12, 30


def rates_chart(rated: Rated) -> Chart:
    """Return the rate of each class with its interval, by people and judges, by people alone and as judges claim."""
    names = distinct(rated.verdicts.classes)[:MOST_CLASSES]
    records: Records = [
        {"class": name, "way": way, "rate": rounded(one.estimate), **limits(one.low, one.high)}
        for way, rates in zip(WAYS, (rated.rates, rated.alone, rated.claimed), strict=True)
        for name, one in zip(names, rates, strict=False)
    ]
    colour = coloured("way", WAYS, sort=list(WAYS), legend={"columns": 1})
    place = {"y": named("class", names), "yOffset": named("way", list(WAYS)), "color": colour}
    hover = tooltip(**{"class": "class", "way": "by", "rate": ("rate", ".1%"), "interval": "interval"})
    layers = with_intervals(place, share("rate", "share of items"), hover)
    note = "" if len(names) == rated.verdicts.n_classes else f"{len(names)} of {rated.verdicts.n_classes} classes are shown."
    says = "Points with intervals: the rate of each class"
    return draw("Rates", says, records, layers, note, height=60 * len(names) + 10)


def judges_chart(rated: Rated) -> Chart | None:
    """Return the accuracy of each judge with its interval, the best first; None where people saw too little."""
    known = [(one, one.accuracy) for one in rated.judges if one.accuracy is not None]
    shown = sorted(known, key=lambda pair: -pair[1].estimate)[:MOST_JUDGES]
    if not shown:
        return None
    names = distinct([one.name for one, _ in shown])
    records: Records = [
        {"judge": name, "accuracy": rounded(rate.estimate), "verdict": one.verdict, "items": one.items}
        | limits(rate.low, rate.high)
        for name, (one, rate) in zip(names, shown, strict=True)
    ]
    place = {"y": named("judge", names), "color": {"value": BLUE}}
    hover = tooltip(judge="judge", interval="interval", verdict="verdict", items="items")
    layers = with_intervals(place, share("accuracy", "says what people say"), hover)
    note = "" if len(shown) == len(known) else f"The {len(shown)} best of {len(known)} judges are shown."
    says = "Points with intervals: accuracy of each judge"
    return draw("Judges", says, records, layers, note, height=24 * len(names) + 20)


def likeness_chart(rated: Rated) -> Chart | None:
    """Return a heat map of error correlations, judges who err alike side by side."""
    grouped = [i for group in rated.likeness.clusters for i in group]
    order = [*grouped, *(i for i in range(len(rated.verdicts.judges)) if i not in grouped)][:MOST_JUDGES]
    correlation = rated.likeness.correlation[np.ix_(order, order)]
    if len(order) < 2 or not np.isfinite(correlation).any():
        return None
    names = distinct([rated.verdicts.judges[i] for i in order])
    records: Records = [
        {"one": names[a], "other": names[b], "r": round(float(correlation[a, b]), 3)}
        for a, b in np.argwhere(np.isfinite(correlation))
    ]
    size = min(max(34 * len(names), 220), 560)
    place = {"x": named("one", names, axis={"orient": "top", "labelAngle": -45}), "y": named("other", names)}
    scale = {"domain": [-1, 0, 1], "range": [AMBER, "#88888822", BLUE]}
    colour = {"color": {"field": "r", "type": "quantitative", "scale": scale, "title": "correlation of errors"}}
    hover = tooltip(one="judge", other="and", r=("correlation", ".2f"))
    layers = heat_map(place, colour, hover, "r", ".1f", numbers=len(names) <= 16, white="datum.r > 0.6")
    note = "" if len(order) == len(rated.verdicts.judges) else f"{len(order)} of {len(rated.verdicts.judges)} judges are shown."
    says = "Heat map: correlation of two judges' errors"
    return draw("Errors that go together", says, records, layers, note, width=size, height=size)


def tables_chart(rated: Rated) -> Chart | None:
    """Return each judge's answers by the class that people named, one judge to be chosen."""
    classes, answers = distinct(rated.verdicts.classes), distinct(rated.verdicts.answers)
    judges = [one for one in rated.judges if one.items][:MOST_JUDGES]
    if not judges or len(classes) > MOST_CLASSES or len(answers) > 30:
        return None
    records: Records = []
    for n, one in enumerate(judges):
        shares = one.counts / np.maximum(one.counts.sum(axis=1, keepdims=True), 1e-12)
        records += cells(n, dict(enumerate(classes)), dict(enumerate(answers)), one.counts, shares)
    return confusion_chart(
        records,
        answers,
        [short(one.name, 24) for one in judges],
        "What judges answer",
        axes=("answer", "people say"),
        rows=classes,
        who="Judge",
        largest=420,
    )
