"""What columns are called and what they hold: which may be items, which labels, which ids, kinds or places."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from crowdassay.labels.roles import (
    ITEM_WORKER_LABEL,
    KINDS_OF_ITEMS,
    NUMBERING,
    POSITIONS,
    ROLES,
    STEPS,
    WORDS_FOR_ITEMS,
    plain_name,
)
from crowdassay.labels.values import number_of

MOST_GUESSED_CLASSES = 50  # of a column that is taken for labels by what it holds
MOST_WORKERS_GUESSED = 10  # labels that an item has at most, where nothing tells the workers
ITEMS_TO_DOUBT = 3  # items with several labels, all the same, from which on a column may be what the items show
LABEL_LENGTH = 60  # characters that names and labels have on average at most
YES_OR_NO = frozenset({"0", "1", "0.0", "1.0", "true", "false", "yes", "no", "y", "n"})
CLOCK_WORDS = frozenset({"time", "timestamp", "duration", "seconds", "secs", "ms", "rt", "latency", "date", "elapsed"})
COST_WORDS = frozenset({"cost", "costs", "usd", "token", "tokens", "latency"})  # of a model that answered
COUNT_WORDS = frozenset({"n", "num", "number", "count", "counts"})
ID_WORD = re.compile(r"(?:(?:^|[\s_\-.])[iI][dD]|(?<=[a-z\d])ID|Id)[\s:?*.]*$")  # not the last letters of `valid`
MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
# Columns beside the workers' own: what is known or was made of their labels.
MADE_COLUMN = re.compile(r"(majority|aggregat)", re.IGNORECASE)
KNOWN_COLUMN = re.compile(
    rf"(gold|truth|true|ground|gt$|consensus|final|adjudicat|target|expected|reference|{MADE_COLUMN.pattern})", re.IGNORECASE
)
# In names such as label_annot_maj and fullAgree.
MADE_WORDS = frozenset({"majority", "maj", "aggregated", "aggregate", "agree", "agreed", "agreement"})
KNOWN_WORDS = (
    frozenset({"gold", "truth", "groundtruth", "gt", "consensus", "final", "adjudicated", "expected", "reference"}) | MADE_WORDS
)


def is_kind(name: str) -> bool:
    """Return whether a column may tell what an item is about.

    >>> is_kind("scenario_type"), is_kind("label")
    (True, False)
    """
    return plain_name(name).endswith(KINDS_OF_ITEMS)


def is_id(name: str) -> bool:
    """Return whether a column is called an id, by a word of its own or by what it is the id of.

    >>> is_id("meme_id"), is_id("rowId"), is_id("userid"), is_id("is_valid"), is_id("paid")
    (True, True, True, False, False)
    """
    plain = plain_name(name)
    known = any(plain.removesuffix("id") in ROLES[role].words or plain in ROLES[role].spellings for role in ITEM_WORKER_LABEL)
    return plain.endswith("id") and (known or ID_WORD.search(name) is not None)


def names_things(name: str) -> bool:
    """Return whether a column is called after things that are labelled, or numbers something: it holds no labels.

    >>> [names_things(name) for name in ("doc", "meme_id", "qid", "index", "", "document_tone")]
    [True, True, True, True, True, False]
    """
    plain = plain_name(name)
    numbers_rows = not plain or plain.startswith("unnamed:")  # as pandas calls a column without a name
    return numbers_rows or is_id(name) or plain in WORDS_FOR_ITEMS or (len(plain) == len("qid") and plain.endswith("id"))


def is_position(name: str) -> bool:
    """Return whether a column tells where an item was shown, which may be shuffled for every worker.

    >>> is_position("display_order"), is_position("slide_number"), is_position("turn"), is_position("item_number")
    (True, True, False, False)
    """
    words = words_of(name)
    return last_word(name) in POSITIONS or (len(words) == 2 and words[0] in STEPS and words[1] in NUMBERING)


def is_rank(name: str) -> bool:
    """Return whether a column may be a position, or an answer: the place that a worker gave the item."""
    return last_word(name) == "rank"


def is_count(name: str) -> bool:
    """Return whether a column is called after how many things there are.

    >>> [is_count(name) for name in ("n_raters", "numVotes", "vote_count", "n", "country")]
    [True, True, True, False, False]
    """
    words = words_of(name)
    return len(words) > 1 and (words[0] in COUNT_WORDS or words[-1] in COUNT_WORDS)


def is_called_label(name: str) -> bool:
    """Return whether a column's last word is one of labels, and no other says that they are known or were made.

    >>> [is_called_label(name) for name in ("overall_score", "human rating", "gold_label", "labels_file")]
    [True, True, False, False]
    """
    words = words_of(name)
    return len(words) > 1 and words[-1] in ROLES["label"].spellings and not (is_known(name) or is_count(name))


def could_be_numbers(rows: Sequence[Mapping[str, Any]], items: Sequence[str], worker: str, names: Sequence[str]) -> list[str]:
    """List the columns of numbers, as a slider gives them, that differ within items and within workers.

    >>> rows = [{"i": n // 3, "w": n % 3, "score": n * 7 % 50, "seconds": n * 11, "n": n} for n in range(12)]
    >>> could_be_numbers(rows, ["i"], "w", ["score", "seconds", "n"])
    ['score', 'n']
    """
    candidates = []
    for name in names:
        cells = [(key_of(row, items), id_of(row.get(worker)), cell_text(row.get(name))) for row in rows]
        beside = names_things(name) or is_position(name) or is_count(name) or last_word(name) in CLOCK_WORDS
        beside = beside or not COST_WORDS.isdisjoint(words_of(name))
        numbers = not beside and all(value is not None and number_of(value) is not None for *_, value in cells)
        if numbers and all(len({(cell[at], cell[2]) for cell in cells}) > len({cell[at] for cell in cells}) for at in (0, 1)):
            candidates.append(name)
    return candidates


def is_asked(name: str) -> bool:
    """Return whether a column tells the answers to choose from, as a questionnaire does.

    >>> is_asked("Accuracy (1-5)"), is_asked("Disclaimer Present (Yes/No)"), is_asked("Comments (if any)")
    (True, True, False)
    """
    return re.search(r"\((?:\d+\s*(?:-|–|to)\s*\d+|yes\s*/\s*no|y\s*/\s*n)\)", name, re.IGNORECASE) is not None


def last_word(name: str) -> str:
    """Return the last word of a column's name, small; nothing where it has none.

    >>> last_word("page_order"), last_word("AnswerAcceptedTime"), last_word("1")
    ('order', 'time', '')
    """
    return (words_of(name) or [""])[-1]


def tells_time(name: str, cells: Collection[str]) -> bool:
    """Return whether a column is called after a time and holds numbers or dates, and no classes such as morning.

    >>> tells_time("SubmitTime", {"2016.08.29 17:02:56"}), tells_time("part_of_day_time", {"morning", "noon"})
    (True, False)
    """
    known = any(ROLES[role].is_named(name) for role in ("time", "duration"))
    return (
        known
        or all(map(MOMENT.match, cells))
        or (last_word(name) in CLOCK_WORDS and all(cell[:1].isdecimal() for cell in cells))
    )


def could_hold(role: str, rows: Sequence[Mapping[str, Any]], name: str, chosen: Mapping[str, str]) -> bool:
    """Return whether values may play a role: a label has few, a worker comes again, an item does not for a worker."""
    given = [(row, value) for row in rows if (value := cell_text(row.get(name))) is not None]
    different = {value for _, value in given}
    if not given:
        return False
    if role == "item":
        whose = {(id_of(row.get(chosen.get("worker", name))), value) for row, value in given}
        return 2 * len(whose) > len(given) if "worker" in chosen else MOST_WORKERS_GUESSED * len(different) >= len(given)
    if 2 * len(different) > len(given) or sum(map(len, different)) > LABEL_LENGTH * len(different):
        return False
    if role == "label":
        beside = tells_time(name, different) or names_things(name) or not COST_WORDS.isdisjoint(words_of(name))
        return 1 < len(different) <= MOST_GUESSED_CLASSES and not beside
    return 2 * len(given) > len(rows) and not {value.casefold() for value in different} <= YES_OR_NO


def could_be_items(rows: Sequence[Mapping[str, Any]], worker: str, names: Sequence[str], *, once: bool = True) -> list[str]:
    """List the columns whose names end in "id" and that may tell items: workers share their values, and have each ``once``.

    >>> rows = [{"who": n % 2, "meme_id": n // 2, "row_id": n, "batch_id": 1} for n in range(6)]
    >>> could_be_items(rows, "who", ["meme_id", "row_id", "batch_id"])
    ['meme_id']
    """
    shared = []
    if once and 2 * len({id_of(row.get(worker)) for row in rows}) > len(rows):
        return []  # hardly anybody comes again, so that these may be what was labelled
    for name in names:
        pairs = {(id_of(row.get(name)), id_of(row.get(worker))) for row in rows}
        named = plain_name(name).endswith("id") if once else is_id(name)
        is_shared = named and len(pairs) > len({value for value, _ in pairs})
        if is_shared and (len(pairs) == len(rows) or not once):
            shared.append(name)
    return shared


def could_be_texts(rows: Sequence[Mapping[str, Any]], worker: str, names: Sequence[str]) -> list[str]:
    """List the columns of texts that may tell items: workers share some, have each once, and there are many of them.

    >>> rows = [{"who": n % 2, "text": f"t{n // 2}", "n": n // 2, "tone": "ab"[n % 2]} for n in range(12)]
    >>> could_be_texts(rows, "who", ["text", "n", "tone"])
    ['text']
    """
    found = []
    for name in names:
        texts = [cell_text(row.get(name)) for row in rows]
        whose = {(text, id_of(row.get(worker))) for text, row in zip(texts, rows, strict=True)}
        many = len(rows) <= MOST_WORKERS_GUESSED * len(set(texts)) < MOST_WORKERS_GUESSED * len(rows)
        known = None in texts or is_kind(name) or any(ROLES[role].is_named(name) for role in ("time", "duration"))
        if many and not known and len(whose) == len(rows) and any(number_of(text or "") is None for text in texts):
            found.append(name)
    return found


def could_be_labels(rows: Sequence[Mapping[str, Any]], items: Sequence[str], worker: str, names: Sequence[str]) -> list[str]:
    """List the columns that may hold labels: their few values differ within items, and within workers.

    What an item shows is the same in all of its rows, and what is known of a worker in all of the worker's.

    >>> rows = [{"i": n // 2, "w": n % 2, "text": n // 2, "age": n % 2, "tone": n % 3 > 0, "row": n} for n in range(8)]
    >>> could_be_labels(rows, ["i"], "w", ["text", "age", "tone", "row"])
    ['tone']
    """
    candidates = []
    for name in names:
        if names_things(name) or (is_position(name) and not is_rank(name)):
            continue
        given = [(row, value) for row in rows if (value := cell_text(row.get(name))) is not None]
        cells = [(key_of(row, items), id_of(row.get(worker)), value) for row, value in given]
        few = len({value for *_, value in cells}) <= min(MOST_GUESSED_CLASSES, len(cells) / 2)
        within = (len({(cell[at], cell[2]) for cell in cells}) > len({cell[at] for cell in cells}) for at in (0, 1))
        if few and all(within) and not tells_time(name, {value for *_, value in cells}):
            candidates.append(name)
    answers = [name for name in candidates if not is_rank(name)] or candidates
    return [name for name in answers if not is_kind(name)] or answers


def is_of_items(rows: Sequence[Mapping[str, Any]], items: Sequence[str], name: str) -> bool:
    """Return whether a column is the same in all rows of every item, several of which have more than one: it tells of items.

    >>> rows = [{"i": n // 2, "author": n // 2 % 2, "tone": n % 2} for n in range(6)]
    >>> is_of_items(rows, ["i"], "author"), is_of_items(rows, ["i"], "tone")
    (True, False)
    """
    cells = [(key_of(row, items), value) for row in rows if (value := cell_text(row.get(name))) is not None]
    held = Counter(item for item, _ in cells)
    return sum(count > 1 for count in held.values()) >= ITEMS_TO_DOUBT and len(set(cells)) == len(held)


def cell_text(value: object) -> str | None:
    """Return what a cell holds as text; None where it holds nothing, or several values."""
    return None if value is None or isinstance(value, list | dict) or not str(value).strip() else str(value)


def id_of(value: object) -> object:
    """Return a value that can be told from others, whatever JSON holds where an id belongs."""
    return str(value) if isinstance(value, list | dict) else value


def key_of(row: Mapping[str, Any], names: Sequence[str]) -> tuple[object, ...]:
    """Return what a row holds in the columns that make the item."""
    return tuple(id_of(row.get(name)) for name in names)


def is_known(name: str) -> bool:
    """Return whether a column is called after what is known or agreed on, and not after who said it.

    >>> [is_known(name) for name in ("gold", "label_gold", "humanAnnotation_majorityLabel", "label_1", "Maja")]
    [True, True, True, False, False]
    """
    return bool(KNOWN_COLUMN.match(name)) or not KNOWN_WORDS.isdisjoint(words_of(name))


def is_made(name: str) -> bool:
    """Return whether a column is called after labels that were put together."""
    return bool(MADE_COLUMN.match(name)) or not MADE_WORDS.isdisjoint(words_of(name))


def words_of(name: str) -> list[str]:
    """Return the words of a name, small.

    >>> words_of("human_baseTone2")
    ['human', 'base', 'tone']
    """
    return re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold())
