"""What the page of a many-facet measurement says of the scale, of interactions, groups and drift."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from crowdassay.measurement import facets_tables as lay
from crowdassay.measurement.facets import ManyFacet
from crowdassay.measurement.interactions import drift
from crowdassay.results.report.findings import number, small
from crowdassay.results.show import Section
from crowdassay.text import short

MOST_ROWS = 15


def scale_section(model: ManyFacet) -> Section:
    """Return the section on scores and thresholds."""
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


def sections_of_tests(model: ManyFacet, interactions: list[tuple[str, str, pa.Table]]) -> list[Section]:
    """Return sections on interactions, groups and drift."""
    ratings = model._fitted()
    sections: list[Section] = []
    for one, two, table in interactions:
        rows = table.slice(0, MOST_ROWS).to_pylist()
        sections.append(
            Section(
                f"bias-{len(sections)}",
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
                f"The {MOST_ROWS} most telling of {table.num_rows:,} pairs." if table.num_rows > MOST_ROWS else "",
            )
        )
    if ratings.group is not None:
        table = pa.concat_tables([one[0] for one in model._group_tests()]).sort_by("p")
        rows = table.slice(0, MOST_ROWS).to_pylist()
        sections.append(
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
        facet = model._rater_facet()
        table = drift(ratings, model._residuals, facet, 1.0 if facet in model._positive else -1.0)
        sections.append(
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
                    for row in table.slice(0, MOST_ROWS).to_pylist()
                ],
            )
        )
    return sections
