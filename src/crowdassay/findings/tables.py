"""The tables of workers and items, declared once: what each column is called, how it is shown and what it means."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.tables import Column, TableOf

WORKERS = TableOf(
    "workers",
    (
        Column("worker", format="name", about="Who."),
        Column("n_labels", "labels", "count", "Labels given."),
        Column("accuracy", "accuracy", "share", "Expected share of the labels that are right."),
        Column("accuracy_low", "95% interval", "share", "Lower limit; 0 where accuracy is not estimable.", to="accuracy_high"),
        Column("accuracy_high", "at most", "share", "Upper limit; 1 where accuracy is not estimable."),
        Column("verdict", about="What the worker's labels look like."),
        Column("action", about="What to do: keep, talk to, retrain, remove, or cannot tell."),
        Column("evidence", "why", about="What is held against the worker, or how far the worker agrees with the others."),
        Column("looks_like", "looks like", about="Another with the same answers where both leave the others; empty if none."),
        Column("known_labels", "on known items", "count", "Labels given on items of known class."),
        Column("known_right", "of them right", "share", "Share of these that are right."),
    ),
)

ITEMS = TableOf(
    "items",
    (
        Column("item", format="name", about="Which."),
        Column("n_labels", "labels", "count", "Labels received."),
        Column("probability", "probability", "number", "Probability of the label found."),
        Column("standing", about="known, unidentifiable, tied, settled (sure enough for the method) or open."),
        Column("entropy", "entropy", "number", "Entropy of the class probabilities in nats."),
        Column("vote_share", "votes for it", "share", "Share of the labels that are the label found."),
        Column("difficulty", "difficulty", "share", "Probability that the average worker gets the item wrong."),
        Column("difficulty_low", "95% interval", "share", "Lower limit of the difficulty.", to="difficulty_high"),
        Column("difficulty_high", "at most", "share", "Upper limit of the difficulty."),
        Column("difficulty_verdict", "looks", about="hard, easy, ordinary, or too few labels to tell."),
    ),
)

CONFUSION = TableOf(
    "confusion",
    (
        Column("worker", format="name", about="Who."),
        Column("true", format="name", about="The class that items have."),
        Column("observed", "answer", about="The class that the worker says."),
        Column("share", "share", "share", "Share of the worker's answers to items of that class."),
        Column("share_low", "95% interval", "share", "Lower limit of the share.", to="share_high"),
        Column("share_high", "at most", "share", "Upper limit of the share."),
        Column("labels", "labels", "number", "Expected number of such labels."),
        Column("confusion", "probability", "share", "Probability of the answer by the fit."),
        Column("sigma", "sigma", "signed", "The model's coefficient."),
    ),
)

NEXT = TableOf(
    "next",
    (
        Column("item", format="name", about="Which."),
        Column("label", format="name", about="The label so far."),
        Column("probability", "probability", "number", "Its probability."),
        Column(
            "ask", about="labels where they would settle it, expert where they would not, second worker if nobody compares."
        ),
        Column("labels_needed", "labels needed", "count", "Further labels until it is settled; missing if more than 25."),
        Column("gain_per_label", "gain of a label", "number", "Errors that one more label is expected to remove."),
        Column("gain_by_labels", "gain by labels", "number", "Errors that the labels needed are expected to remove."),
        Column("gain_by_expert", "gain by an expert", "number", "Errors that knowing the class is expected to remove."),
        Column("cost", "cost", "money", "What is asked for costs, where a price was given."),
    ),
)

DISPUTES = TableOf(
    "disputes",
    (
        Column("item", format="name", about="Which."),
        Column("text", about="What it shows, where the labels came with that."),
        Column("label", format="name", about="The label so far."),
        Column("probability", "probability", "number", "Its probability."),
        Column("standing", about="As in the table of items."),
        Column("n_labels", "labels", "count", "Labels received."),
        Column("said", "who said what", about="Each label given and the workers who gave it, the most common first."),
    ),
)

FEEDBACK = TableOf(
    "feedback",
    (
        Column("item", format="name", about="Which."),
        Column("text", about="What it shows, where the labels came with that."),
        Column("given", format="name", about="The label that the worker gave."),
        Column("label", format="name", about="The label found, or the class that is known."),
        Column("sure", "sure it is wrong", "share", "Probability that the label given is wrong; 1 where the class is known."),
        Column("standing", about="known where the item's class is known; otherwise as in the table of items."),
    ),
)

FEEDBACK_INDEX = TableOf(
    "index",
    (
        Column("worker", format="name", about="Who."),
        Column("file", about="The worker's sheet; empty where there is no likely mistake to show."),
        Column("n_labels", "labels", "count", "Labels given."),
        Column("likely_mistakes", format="count", about="Rows of the sheet."),
        Column("known_mistakes", format="count", about="Those of them on items whose class is known."),
    ),
)


def append_columns(table: pa.Table, columns: Mapping[str, FloatArray]) -> pa.Table:
    """Return a table with further columns, whose names depend on the classes, at its end."""
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    return table
