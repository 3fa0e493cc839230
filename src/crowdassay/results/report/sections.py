"""What the report shows: workers, items with their texts or pictures, how the labels were found, and files to save."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.findings.insight import Insight
from crowdassay.findings.items import hardest, hardness
from crowdassay.findings.reasons import shown_seconds
from crowdassay.findings.verdicts import ACTION_ORDER, UNKNOWN
from crowdassay.labels.values import counted
from crowdassay.labels.write import csv_lines
from crowdassay.results.show import Section, table_section
from crowdassay.tables import Column, TableOf
from crowdassay.text import short

ROWS_ON_PAGE = 12  # in each table of a report but that of all workers
WORKERS_ON_PAGE = 400  # in the table of all workers
NAMED_FOR_ANSWER = 6  # workers named for one answer
PICTURES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp"}
LONGEST_TEXT = 280  # characters of a text
LARGEST_PICTURE = 300_000  # bytes of a picture that goes into the page
LARGEST_DOWNLOAD = 600_000  # characters of a file that goes into the page
MOST_ROWS_SAVED = LARGEST_DOWNLOAD // 20
SAVED_OF_WORKERS = (
    "worker", "n_labels", "accuracy", "accuracy_low", "accuracy_high", "action", "verdict", "evidence", "looks_like",
)  # fmt: skip
COPIES = TableOf(
    "copies",
    (
        Column("worker", format="name"),
        Column("other", "and", "name"),
        Column("items", "common items", "count"),
        Column("agreed", "same answer", "count"),
        Column("expected", format="tenths"),
    ),
)

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Content:
    """A text or, as a data address, a picture; the other is empty."""

    text: str = ""
    picture: str = ""


Contents = Mapping[Any, Content]


def flagged_workers(insight: Insight) -> tuple[Rows, str]:
    """Return the workers that need attention, the most urgent first, and a note on how many are left out."""
    chosen = insight.attention
    rows = [_worker(insight, i) for i in chosen[:ROWS_ON_PAGE]]
    return rows, "" if len(
        chosen
    ) <= ROWS_ON_PAGE else f"{len(chosen) - ROWS_ON_PAGE:,} more are marked in the table of workers."


def all_workers(insight: Insight) -> tuple[Rows, str]:
    """Return a row for every worker, those that need attention first, then by accuracy; and a note on those left out."""
    rank = np.array([ACTION_ORDER.index(action) for action in insight.actions])
    shown = np.where(insight.estimable, insight.accuracy, 2.0)
    order = np.lexsort((-insight.n_labels, shown, rank))
    order = order[insight.n_labels[order] > 0]
    note = (
        ""
        if len(order) <= WORKERS_ON_PAGE
        else f"The first {WORKERS_ON_PAGE:,} of {len(order):,} workers; the file has all of them."
    )
    return [_worker(insight, int(i)) for i in order[:WORKERS_ON_PAGE]], note


def _worker(insight: Insight, i: int) -> dict[str, Any]:
    seconds = insight.seconds
    known = bool(insight.estimable[i])
    pace = None if seconds is None or not np.isfinite(seconds[i]) else float(seconds[i])
    return {
        "worker": short(insight.record.labels.workers[i].as_py()),
        "labels": f"{insight.n_labels[i]:,}",
        "n_labels": int(insight.n_labels[i]),
        "accuracy": f"{insight.accuracy[i]:.0%}" if known else "",
        "share": round(float(insight.accuracy[i]), 6) if known else -1,
        "interval": f"{insight.low[i]:.0%} to {insight.high[i]:.0%}" if known else "",
        "seconds": "" if pace is None else shown_seconds(pace),
        "pace": -1 if pace is None else round(pace, 3),
        "action": insight.actions[i],
        "rank": ACTION_ORDER.index(insight.actions[i]),
        "verdict": insight.verdicts[i],
        "reasons": [reason.words for reason in insight.advice.reasons[i]],
        "text": _standing(insight, i),
    }


def _standing(insight: Insight, i: int) -> str:
    """Return how a worker stands against whom nothing was found."""
    return "" if insight.advice.reasons[i] or insight.actions[i] != UNKNOWN else insight.verdicts[i]


def copied_workers(insight: Insight) -> Section:
    """Return the pairs of workers that look most like copies."""
    workers = insight.record.labels.workers
    rows = [
        {
            "worker": workers[pair.worker].as_py(),
            "other": workers[pair.other].as_py(),
            "items": pair.items,
            "agreed": pair.agreed,
            "expected": pair.expected,
        }
        for pair in insight.copies[0][:ROWS_ON_PAGE]
    ]
    return table_section("copies", "", COPIES, rows)


def worth_items(insight: Insight, contents: Contents) -> tuple[Rows, str]:
    """Return the items most worth another label, and a note on how many are left out."""
    if not insight.connection.identified.any() or insight.chance:
        return [], ""
    worth, labels = insight.next_items, insight.record.labels
    rows = [
        {
            "item": short(labels.items[one.item].as_py()),
            "content": contents.get(labels.items[one.item].as_py()),
            "label": short(labels.class_names[int(insight.record.code[one.item])]),
            "probability": f"{insight.record.probability[one.item]:.0%}",
            "labels": "ask an expert" if one.labels is None else f"{one.labels}",
        }
        for one in worth[:ROWS_ON_PAGE]
    ]
    return rows, "" if len(worth) <= ROWS_ON_PAGE else "The file of items to label next has more."


def hardest_items(insight: Insight, contents: Contents) -> Rows:
    """Return the items that workers get wrong most, or are least sure, and who said what about them."""
    labels = insight.record.labels
    chosen = [int(j) for j in hardest(insight.record, ROWS_ON_PAGE) if labels.starts[j + 1] > labels.starts[j]]
    return [
        {
            "item": short(labels.items[j].as_py()),
            "content": contents.get(labels.items[j].as_py()),
            "label": short(labels.class_names[int(insight.record.code[j])]),
            "probability": f"{insight.record.probability[j]:.0%}",
            "said": said(insight, j),
        }
        for j in chosen
    ]


def said(insight: Insight, item: int) -> Rows:
    """Return who gave an item which label, the most common label first."""
    labels = insight.record.labels
    part = slice(int(labels.starts[item]), int(labels.starts[item + 1]))
    label, worker = labels.label[part], labels.worker[part]
    counts = np.bincount(label, minlength=labels.n_classes)
    return [
        {
            "label": short(labels.class_names[int(k)], 24),
            "count": f"{counts[k]:,}",
            "workers": [short(labels.workers[int(i)].as_py(), 24) for i in worker[label == k][:NAMED_FOR_ANSWER]],
            "more": max(0, int(counts[k]) - NAMED_FOR_ANSWER),
        }
        for k in np.argsort(-counts, kind="stable")
        if counts[k]
    ][:8]


def model_facts(insight: Insight) -> dict[str, str]:
    """Return how the labels were found, in words."""
    text = f"The labels were found by the method {insight.record.method}"
    if insight.record.n_iter:
        text += f", in {counted(insight.record.n_iter, 'pass')} over the data"
    if not insight.record.converged:
        text += "; it was stopped before it had finished, so the figures are not final"
    chosen = insight.record.selection
    return {"text": text + ".", "selection": "" if chosen is None else f"Chosen by {chosen['criterion']}: {chosen['best']}."}


def shown_items(insight: Insight) -> list[int]:
    """Return the codes of the items that a report shows."""
    hard = [int(j) for j in np.argsort(-hardness(insight.record), kind="stable")[:ROWS_ON_PAGE]]
    return list(dict.fromkeys([*(one.item for one in insight.next_items[:ROWS_ON_PAGE]), *hard]))


def as_contents(values: Mapping[Any, Any], folder: Path | None = None) -> Contents:
    """Return what items hold, from a mapping of item to text, or to the file of a picture in some folder.

    A picture at an address of the web stays an address: a page loads nothing from elsewhere.
    """
    return {item: _content(value, folder) for item, value in values.items() if value is not None and str(value).strip()}


def shown_contents(insight: Insight, contents: Mapping[Any, Any], folder: Path | None = None) -> Contents:
    """Return what is known of the items that a report shows: what was handed over, and else what the labels came with."""
    labels, texts = insight.record.labels, insight.record.labels.item_text
    known: dict[Any, Any] = {}
    if texts is not None:
        known = {labels.items[j].as_py(): texts[j].as_py() for j in shown_items(insight)}
    return as_contents({**known, **contents}, folder)


def _content(value: Any, folder: Path | None) -> Content:
    text = str(value).strip()
    kind = PICTURES.get(Path(text.split("?")[0]).suffix.lower())
    if kind is not None and folder is not None and "://" not in text and "\0" not in text and len(text) < 1000:
        path = (folder / text).resolve()
        if path.is_relative_to(folder.resolve()) and path.is_file() and path.stat().st_size <= LARGEST_PICTURE:
            return Content(picture=f"data:image/{kind};base64,{b64encode(path.read_bytes()).decode()}")
    return Content(text=short(" ".join(text.split()), LONGEST_TEXT))


def downloads(insight: Insight) -> list[dict[str, str]]:
    """Return the name, a description and the address of each file that is small enough to go into the page."""
    tables = []
    if not insight.partial and insight.record.labels.n_items < MOST_ROWS_SAVED:
        table = insight.record.labels_table().append_column("standing", pa.array(insight.standings))
        tables.append(("labels.csv", "the label of every item", table))
    tables.append(("workers.csv", "all workers", insight.workers_table().select(SAVED_OF_WORKERS)))
    worth = insight.next_table()
    if worth.num_rows:
        tables.append(("next.csv", "items to label next", worth))
    small = [(name, text, address(table)) for name, text, table in tables if table.num_rows < MOST_ROWS_SAVED]
    return [{"name": name, "text": text, "address": data} for name, text, data in small if len(data) <= LARGEST_DOWNLOAD]


def address(table: pa.Table) -> str:
    """Return a table as CSV in a data address; cells that a spreadsheet would run are defused."""
    header = csv_lines([pa.array([name]) for name in table.column_names], False)
    rows = b"".join(csv_lines(batch.columns, False) for batch in table.to_batches())
    return f"data:text/csv;charset=utf-8;base64,{b64encode(header + rows).decode()}"
