"""What the report shows: workers, items with their texts or pictures, how the labels were found, and files to save."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.findings.disputes import said
from crowdassay.findings.insight import Insight
from crowdassay.findings.items import hardest
from crowdassay.findings.money import Ask, Money, in_order
from crowdassay.findings.verdicts import ACTION_ORDER, NOT_ESTIMABLE, UNKNOWN, shown_seconds
from crowdassay.labels.record import LIKELIEST
from crowdassay.labels.values import counted
from crowdassay.labels.write import csv_lines
from crowdassay.planning.bands import percent
from crowdassay.results.show import Section, table_section
from crowdassay.tables import Column, TableOf
from crowdassay.text import short

ROWS_ON_PAGE = 12  # in each table of a report but that of all workers
WORKERS_ON_PAGE = 400  # in the table of all workers
NAMED_FOR_ANSWER = 6  # workers named for one answer
ANSWERS_SHOWN = 8  # answers to one item
PICTURES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp"}
LONGEST_TEXT = 280  # characters of a text
LARGEST_PICTURE = 300_000  # bytes of a picture that goes into the page
LARGEST_DOWNLOAD = 600_000  # characters of a file that goes into the page
MOST_ROWS_SAVED = LARGEST_DOWNLOAD // 20
SAVED_OF_WORKERS = (
    "worker", "n_labels", "accuracy", "accuracy_low", "accuracy_high", "action", "verdict", "evidence", "looks_like",
)  # fmt: skip
LISTS = {  # of open items, by what to ask for: a title and a sentence
    Ask.LABELS: (
        "Ask for labels on these",
        "About so many further labels would settle each; those that remove most errors for each label come first.",
    ),
    Ask.EXPERT: ("Show these to an expert", "More labels like these will not settle them; the least sure come first."),
    Ask.SECOND_WORKER: ("Let a second worker label some of these", "Nothing shows yet who is right about them."),
}
COPIES = TableOf(
    "copies",
    (
        Column("worker", format="name"),
        Column("other", "and", "name"),
        Column("left", "left the others", "count"),
        Column("agreed", "same answer", "count"),
        Column("expected", format="tenths"),
        Column("may_be", "they may be", "name"),
    ),
)

BANDS = TableOf(
    "bands",
    (
        Column("items", "labels", "count"),
        Column("sure", "how sure", "text"),
        Column("error", "expected to be wrong", "text"),
        Column("between", "nine times in ten", "text"),
    ),
)
UNKNOWN_WORDS = {NOT_ESTIMABLE: "nothing to judge by"}  # where the name of a verdict is no plain word

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Content:
    """A text or, as a data address, a picture; the other is empty."""

    text: str = ""
    picture: str = ""


Contents = Mapping[Any, Content]


def flagged_workers(insight: Insight) -> tuple[Rows, str]:
    """Return the workers that need attention, the most urgent first, and a note on how many are left out."""
    more = len(insight.attention) - ROWS_ON_PAGE
    rows = [_worker(insight, i) for i in insight.attention[:ROWS_ON_PAGE]]
    return rows, f"{counted(more, 'more is', 'more are')} marked in the table of workers." if more > 0 else ""


def all_workers(insight: Insight) -> tuple[Rows, str]:
    """Return a row for every worker, those that need attention first, then by accuracy; and a note on those left out."""
    rank = np.array([ACTION_ORDER.index(action) for action in insight.actions])
    shown = np.where(insight.estimable, insight.accuracy, 2.0)
    order = np.lexsort((-insight.n_labels, shown, rank))
    order = order[insight.n_labels[order] > 0]
    some = f"The first {WORKERS_ON_PAGE:,} of {len(order):,} workers; the file has all of them."
    note = some if len(order) > WORKERS_ON_PAGE else ""
    return [_worker(insight, int(i)) for i in order[:WORKERS_ON_PAGE]], note


def _worker(insight: Insight, i: int) -> dict[str, Any]:
    seconds = insight.seconds
    known, reasons = bool(insight.estimable[i]), [reason.words for reason in insight.reasons[i]]
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
        "reasons": reasons,
        "text": UNKNOWN_WORDS.get(insight.verdicts[i], insight.verdicts[i])
        if insight.actions[i] == UNKNOWN and not reasons
        else "",
    }


def sure_bands(insight: Insight) -> Section:
    """Return bands of labels, the surest first, with what is expected to be wrong in each; nothing where there is one band."""
    bands = insight.bands if len(insight.bands) > 1 else []
    rows = [
        {
            "items": band.items,
            "sure": f"{'over ' if band.least else 'up to '}{band.least or band.most:.1%}",
            "error": percent(band.error),
            "between": f"{percent(band.low)} to {percent(band.high)}",
        }
        for band in bands
    ]
    return table_section("bands", "", BANDS, rows)


def copied_workers(insight: Insight) -> Section:
    """Return the pairs of workers with the same answers, the likeliest copies first."""
    workers = insight.record.labels.workers
    rows = [
        {
            "worker": workers[pair.worker].as_py(),
            "other": workers[pair.other].as_py(),
            "left": pair.left[0],
            "agreed": pair.agreed,
            "expected": pair.expected[0],
            "may_be": "copies, or both right" if pair.may_be_right else "copies",
        }
        for pair in insight.copies[0][:ROWS_ON_PAGE]
    ]
    return table_section("copies", "", COPIES, rows)


def worth_items(insight: Insight, money: Money, contents: Contents) -> Rows:
    """Return the open items by what to ask for, each list in the order in which to begin, with a note on those left out."""
    lists = []
    rows = in_order(insight, money)
    for ask in dict.fromkeys(ask for _, ask, _ in rows):
        chosen = [(worth, cost) for worth, one, cost in rows if one == ask]
        shown = [
            _item(insight, worth.item, contents)
            | {
                "labels": "" if worth.labels is None else f"{worth.labels:,}",
                "cost": "" if cost is None else money.amount(cost),
            }
            for worth, cost in chosen[:ROWS_ON_PAGE]
        ]
        more = "" if len(chosen) <= ROWS_ON_PAGE else "The file of items to label next has more."
        title, text = LISTS[ask]
        flags = {"priced": any(row["cost"] for row in shown), "counted": ask == Ask.LABELS}
        lists.append({"title": title, "text": text, "rows": shown, "note": more, **flags})
    return lists


def hardest_items(insight: Insight, contents: Contents) -> Rows:
    """Return the items that workers get wrong most, or are least sure, and who said what about them."""
    starts = insight.record.labels.starts
    chosen = [int(j) for j in hardest(insight.record, ROWS_ON_PAGE) if starts[j + 1] > starts[j]]
    return [_item(insight, j, contents) | {"said": answers(insight, j)} for j in chosen]


def _item(insight: Insight, j: int, contents: Contents) -> dict[str, Any]:
    """Return an item, what it holds, its label so far and how sure that is."""
    labels, item = insight.record.labels, insight.record.labels.items[j].as_py()
    return {
        "item": short(item),
        "content": contents.get(item),
        "label": short(labels.class_names[int(insight.record.code[j])]),
        "probability": how_sure(float(insight.record.probability[j]), insight.record.settled),
    }


def how_sure(probability: float, settled: float) -> str:
    """Return a probability in percent; with a tenth where it would else look settled and is not.

    >>> how_sure(0.956, 0.96), how_sure(0.95994, 0.96), how_sure(0.94, 0.96), how_sure(0.97, 0.96)
    ('95.6%', '95.9%', '94%', '97%')
    """
    looks = round(probability, 2) >= round(settled, 2) > 0 and probability < settled
    return f"{math.floor(1000 * probability) / 1000:.1%}" if looks else f"{probability:.0%}"


def answers(insight: Insight, item: int) -> Rows:
    """Return who gave an item which label, the most common label first."""
    return [
        {
            "label": short(label, 24),
            "count": f"{len(workers):,}",
            "workers": [short(worker, 24) for worker in workers[:NAMED_FOR_ANSWER]],
            "more": max(0, len(workers) - NAMED_FOR_ANSWER),
        }
        for label, workers in said(insight.record.labels, item)[:ANSWERS_SHOWN]
    ]


def model_facts(insight: Insight) -> dict[str, str]:
    """Return how the labels were found, in words."""
    text = f"The labels were found by the method {insight.record.method}"
    if insight.record.n_iter:
        text += f", in {counted(insight.record.n_iter, 'pass')} over the data"
    if insight.record.decide != LIKELIEST:
        text += f"; each is the {insight.record.decide} class of its item, not the likeliest"
    if not insight.record.converged:
        text += "; it was stopped before it had finished, so the figures are not final"
    chosen = insight.record.selection
    return {"text": text + ".", "selection": "" if chosen is None else f"Chosen by {chosen['criterion']}: {chosen['best']}."}


def shown_contents(insight: Insight, money: Money, contents: Mapping[Any, Any], folder: Path | None = None) -> Contents:
    """Return what is known of the items that a report shows: what was handed over, and else what the labels came with.

    ``contents`` are texts, or files of pictures in a folder, by item. A picture at an address of the web stays an address: a
    page loads nothing from elsewhere.
    """
    labels, texts = insight.record.labels, insight.record.labels.item_text
    known = dict(contents)
    if texts is not None:
        rows = in_order(insight, money)
        lists = [[worth.item for worth, one, _ in rows if one == ask][:ROWS_ON_PAGE] for ask in LISTS]
        for j in {*chain(*lists), *hardest(insight.record, ROWS_ON_PAGE).tolist()}:
            known.setdefault(labels.items[j].as_py(), texts[j].as_py())
    return {item: _content(value, folder) for item, value in known.items() if value is not None and str(value).strip()}


def _content(value: object, folder: Path | None) -> Content:
    text = str(value).strip()
    kind = PICTURES.get(Path(text.split("?")[0]).suffix.lower())
    if kind is not None and folder is not None and "://" not in text and "\0" not in text and len(text) < 1000:
        path = (folder / text).resolve()
        if path.is_relative_to(folder.resolve()) and path.is_file() and path.stat().st_size <= LARGEST_PICTURE:
            return Content(picture=f"data:image/{kind};base64,{b64encode(path.read_bytes()).decode()}")
    return Content(text=short(" ".join(text.split()), LONGEST_TEXT))


def downloads(insight: Insight, money: Money, expert: pa.Table | None = None) -> list[dict[str, str]]:
    """Return the name, a description and the address of each file that is small enough to go into the page.

    ``expert`` is the sheet for an expert, see `crowdassay.results.expert`, where there is one.
    """
    tables = []
    if expert is not None:
        text = f"a sheet for an expert ({counted(expert.num_rows, 'item')} drawn at random)"
        tables.append(("expert.csv", text, expert))
    if not insight.partial and insight.record.labels.n_items < MOST_ROWS_SAVED:
        table = insight.record.labels_table().append_column("standing", pa.array(insight.standings))
        tables.append(("labels.csv", "the label of every item", table))
    tables.append(("workers.csv", "all workers", insight.workers_table().select(SAVED_OF_WORKERS)))
    worth = insight.next_table(money)
    if worth.num_rows:
        some = f" ({worth.num_rows:,} of {money.open_items:,})" if worth.num_rows < money.open_items else ""
        tables.append(("next.csv", f"items to label next{some}", worth))
    small = [(name, text, address(table)) for name, text, table in tables if table.num_rows < MOST_ROWS_SAVED]
    return [{"name": name, "text": text, "address": data} for name, text, data in small if len(data) <= LARGEST_DOWNLOAD]


def address(table: pa.Table) -> str:
    """Return a table as CSV in a data address; cells that a spreadsheet would run are defused."""
    header = csv_lines([pa.array([name]) for name in table.column_names], False)
    rows = b"".join(csv_lines(batch.columns, False) for batch in table.to_batches())
    return f"data:text/csv;charset=utf-8;base64,{b64encode(header + rows).decode()}"
