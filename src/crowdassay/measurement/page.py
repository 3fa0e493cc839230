"""The page of a many-facet measurement."""

from __future__ import annotations

import pyarrow as pa

from crowdassay.labels.values import counted
from crowdassay.measurement import facets_tables as lay
from crowdassay.measurement.charts import fit_chart, wright_map
from crowdassay.measurement.facets import ManyFacet
from crowdassay.measurement.sections import MOST_ROWS, scale_section, sections_of_tests
from crowdassay.results.report.findings import Findings, number, small
from crowdassay.results.show import Section
from crowdassay.text import short


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
        cut = rows if len(rows) <= 2 * MOST_ROWS else [*rows[:MOST_ROWS], *rows[-MOST_ROWS:]]
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
    sections.append(scale_section(model))
    sections += sections_of_tests(model, interactions)
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
