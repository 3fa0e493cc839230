"""Doubts about a label column that only its name or its values tell: it may be a text, a kind of item, or stand by a rating."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from crowdassay.errors import ColumnError
from crowdassay.labels.contents import (
    ITEMS_TO_DOUBT,
    MOST_GUESSED_CLASSES,
    YES_OR_NO,
    cell_text,
    could_be_labels,
    could_be_numbers,
    could_hold,
    is_asked,
    is_called_label,
    is_kind,
    is_of_items,
    key_of,
    last_word,
    words_of,
)
from crowdassay.labels.jsontext import only_list, records_by_name
from crowdassay.labels.probe import OUTER_KEY
from crowdassay.labels.roles import RATERS, RATINGS, ROLES, plain_name
from crowdassay.labels.values import counted, listed, mapping, number_of, shown, shown_file

Sample: TypeAlias = Callable[[], Sequence[Mapping[str, Any]]]
ROWS_WITH_GAPS, SHARE_OF_GAPS = 20, 0.1  # rows and share of them in which nobody is named, from which on somebody may be
ROWS_TO_DOUBT = 10  # that say the same, from which on a label is in doubt
LEAST_ALIKE = 2  # columns answered in the label's classes from which on each may be the label
LEAST_REMARKS = 12  # different sentences, however often some of them come again, that are no classes
WORDS_OF_TEXTS = 4  # that a text has on average at least, so that few of them are enough to be no labels
HIGHEST_RATING = 10
PREDICTED = frozenset({"prediction", "predictions", "predicted", "pred", "guess", "guessed"})
JUDGING = frozenset({"judge", "human", "expert"}) | RATERS
MAYBE_RATED = frozenset({"model", "llm", "agent"})  # that label, or whose work is rated


def doubt_label(chosen: dict[str, str], items: Sequence[str], free: Sequence[str], sample: Sample) -> None:
    """Look at a label column that only its name tells: what it holds may be the item's text or class, and another the answer.

    Few values answer, many are content; and what is the same in all rows of every item says nothing of its workers.
    """
    rows = sample() if free else []
    cells = [(key_of(row, items), value) for row in rows if (value := cell_text(row.get(chosen["label"]))) is not None]
    values = {value for _, value in cells}
    texts = _are_texts(values, len(cells))
    if len(values) == 1 and len(cells) >= ROWS_TO_DOUBT:
        _refuse_one_value(chosen["label"], [name for name in free if is_called_label(name) or is_asked(name)], rows)
    constant = is_of_items(rows, items, chosen["label"])
    if not (texts or constant):
        return
    beside = (rows, items, chosen.get("worker", ""), free)
    possible = could_be_labels(*beside) or (could_be_numbers(*beside) if constant else [])
    if texts and not possible:  # such as where one worker has labelled all
        others = [name for name in free if could_hold("label", rows, name, chosen) and not is_kind(name)]
        _refuse_texts(chosen["label"], [name for name in others if _is_answer(name, rows)] or rating_columns(rows, others))
    if texts and len(possible) == 1:
        chosen["label"] = possible[0]
    elif possible:
        is_this = "another text in nearly every row" if texts else "the same in all rows of an item, as what the item shows"
        choose = "could be the label: say" if len(possible) == 1 else "could be the label: choose one with"
        named = f" {shown_file(possible[0])}" if len(possible) == 1 else ""
        raise ColumnError(
            f"The column {shown(chosen['label'])} is called like a label, but it is {is_this}; {listed(possible)} {choose} "
            f"--label-column{named}, or {shown(chosen['label'])} if it is."
        )


def _are_texts(values: Collection[str], n_cells: int) -> bool:
    """Return whether so many cells hold texts of their own: nearly each another one, and many of them, or many sentences.

    >>> _are_texts(["It is so.", "They say that it is not."], 3), _are_texts(["yes", "no"], 3)
    (True, False)
    """
    many = len(values) > MOST_GUESSED_CLASSES
    sentences = n_cells > 1 and sum(len(value.split()) for value in values) >= WORDS_OF_TEXTS * len(values)
    different = 2 * len(values) > n_cells and (many or sentences)
    return (different or (sentences and len(values) >= LEAST_REMARKS)) and any(number_of(value) is None for value in values)


def _refuse_texts(label: str, others: Sequence[str]) -> None:
    """Raise `ColumnError` where the label is another text in nearly every row, and other columns may be labels."""
    if others:
        raise ColumnError(
            f"The column {shown(label)} is called like a label, but it is another text in nearly every row; {listed(others)} "
            f"could be the label: choose one with --label-column, or {shown(label)} if it is."
        )


def doubt_beside_prediction(label: str, free: Sequence[str], sample: Sample) -> None:
    """Raise `ColumnError` where a prediction holds the same classes and says something else: either may be the workers'.

    >>> rows = [{"label": "ab"[n % 2], "prediction": "ab"[n % 3 % 2]} for n in range(12)]
    >>> try:
    ...     doubt_beside_prediction("label", ["prediction"], lambda: rows)
    ... except ColumnError as error:
    ...     print(error.message.partition(";")[0])
    'label' and 'prediction' hold the same classes and differ in 6 of 12 rows
    """
    for name in (name for name in free if not PREDICTED.isdisjoint(words_of(name))):
        both = [(cell_text(row.get(label)), cell_text(row.get(name))) for row in sample()]
        given = [pair for pair in both if None not in pair]
        classes, other = ({pair[side] for pair in given} for side in (0, 1))
        apart = sum(one != two for one, two in given)
        if len(given) >= ROWS_TO_DOUBT and 1 < len(other) <= MOST_GUESSED_CLASSES and other <= classes and apart:
            rows = counted(len(given), "row")
            raise ColumnError(
                f"{shown(label)} and {shown(name)} hold the same classes and differ in {apart:,} of {rows}; say which the "
                f"workers gave: --label-column {shown_file(label)} or --label-column {shown_file(name)}."
            )


def doubt_among_alike(chosen: Mapping[str, str], items: Sequence[str], free: Sequence[str], sample: Sample) -> None:
    """Raise `ColumnError` where several columns are answered in the label's own classes, and its name says little of it."""
    if plain_name(label := chosen["label"]) not in ROLES["label"].late_words or len(free) < LEAST_ALIKE:
        return
    rows = sample()
    classes = {cell_text(row.get(label)) for row in rows}
    possible = could_be_labels(rows, items, chosen["worker"], free) if len(classes) <= MOST_GUESSED_CLASSES else []
    alike = [name for name in possible if {cell_text(row.get(name)) for row in rows} <= classes]
    if len(alike) >= LEAST_ALIKE:
        raise ColumnError(
            f"{listed([label, *alike])} are answered in the same classes, and each could be the label: choose one with "
            "--label-column."
        )


def doubt_gaps(worker: str, label: str, sample: Sample) -> None:
    """Raise `ColumnError` where a column that was guessed names nobody in many rows that hold a label: another one may.

    >>> rows = [{"annotator": "" if n % 4 else "ann", "score": n % 3} for n in range(24)]
    >>> try:
    ...     doubt_gaps("annotator", "score", lambda: rows)
    ... except ColumnError as error:
    ...     print(error.message.partition(";")[0])
    'annotator' is empty in 18 of 24 rows that hold a label
    """
    rows = [row for row in sample() if cell_text(row.get(label)) is not None]
    gaps = sum(cell_text(row.get(worker)) is None for row in rows)
    if gaps and len(rows) >= ROWS_WITH_GAPS and gaps >= SHARE_OF_GAPS * len(rows):
        raise ColumnError(
            f"{shown(worker)} is empty in {gaps:,} of {counted(len(rows), 'row')} that hold a label; if another column names "
            f"who labelled, name it with --worker-column; --worker-column {shown_file(worker)} leaves these rows out."
        )


def rating_columns(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Return the columns of ratings on one scale: few small whole numbers, more than yes and no; none if there is just one.

    >>> rows = [{"a": n % 5 + 1, "b": n % 4 + 1, "year": 1990 + n % 3, "flag": n % 2} for n in range(20)]
    >>> rating_columns(rows, ["a", "b", "year", "flag"]), rating_columns(rows, ["a", "year"])
    (['a', 'b'], [])
    """
    found = []
    for name in names:
        values = {number_of(cell) for row in rows if (cell := cell_text(row.get(name))) is not None}
        whole = {value for value in values if value is not None and value.is_integer() and 0 <= value <= HIGHEST_RATING}
        if len(values) == len(whole) > 2:
            found.append(name)
    return found if len(found) > 1 else []


def refuse_rated(worker: str, free: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise `ColumnError` where the worker is a column such as `model` beside several ratings: it may be what was rated."""
    by_others = [name for name in free if last_word(name) in RATINGS and not JUDGING.isdisjoint(words_of(name))]
    if plain_name(worker) in MAYBE_RATED and (ratings := rating_columns(rows, free) or by_others):
        raise ColumnError(
            f"The column {shown(worker)} may name who labelled, or what was rated, with ratings in {listed(ratings)}. If it "
            f"labelled, say --worker-column {shown_file(worker)} and choose the label with --label-column; if it was rated, "
            "name the column of who rated with --worker-column."
        )


def _refuse_one_value(label: str, others: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise `ColumnError` where the label says the same in all rows, and columns called like questions or labels do not."""
    if told := [name for name in others if len({cell_text(row.get(name)) for row in rows}) > 1]:
        raise ColumnError(
            f"The column {shown(label)} is called like a label, but it says the same in every row; {listed(told)} could be the "
            f"label: choose one with --label-column, or {shown(label)} if it is."
        )


def doubt_beside_rating(label: str, items: Sequence[str], free: Sequence[str], sample: Sample) -> None:
    """Raise `ColumnError` where the label holds texts and a rating beside it numbers that say something else.

    Texts in a column that is called a label, and nothing else, are the label.
    """
    ratings = [name for name in free if plain_name(name) in RATINGS]
    if not ratings or plain_name(label) in {"label", "labels"}:
        return
    rows = [row for row in sample() if cell_text(row.get(label)) is not None]
    if any(number_of(str(row[label])) is not None for row in rows):
        return
    for name in ratings:
        given = [(row, value) for row in rows if (value := cell_text(row.get(name))) is not None]
        numbers = {number_of(value) for _, value in given}
        said = {(str(row[label]), value) for row, value in given}
        of_items = {(key_of(row, items), value) for row, value in given}
        n_items = len({key for key, _ in of_items})
        again = n_items == len(of_items) < len(given)  # the same whoever the worker is: a fact of the item
        if None not in numbers and len(numbers) > 1 and len(said) > len({text for text, _ in said}) and not (items and again):
            raise ColumnError(
                f"The column {shown(label)} holds texts and {shown(name)} numbers, and either could be the label: say "
                f"--label-column {shown_file(name)}, or {shown(label)} if it is."
            )


def refuse_kind(
    chosen: Mapping[str, str], items: Sequence[str], free: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Raise `ColumnError` where the label may be a kind of item, as hardly an item has two labels, and others are answers.

    Whether workers contradict each other in those nobody can see: so they must be called like labels, or hold yes and no.
    """
    label = chosen["label"]
    if packed := [name for name in free if _holds_objects(name, rows)]:
        raise ColumnError(
            f"The column {shown(label)} may be a kind of item, and {listed(packed)} holds objects (JSON) in which the answers "
            f"may be; give each answer a column of its own, or say --label-column {shown_file(label)} if that is the label."
        )
    held = Counter(key_of(row, items) for row in rows if cell_text(row.get(label)) is not None)
    if not held or sum(count > 1 for count in held.values()) >= ITEMS_TO_DOUBT:
        return
    free = [name for name in free if not is_kind(name) and could_hold("label", rows, name, chosen)]
    if possible := [name for name in free if _is_answer(name, rows)] or rating_columns(rows, free):
        raise ColumnError(
            f"The column {shown(label)} may be a kind of item, as no worker contradicts another; {listed(possible)} could be "
            f"the label: choose one with --label-column, or {shown(label)} if it is."
        )


def doubt_outer(outer: object, chosen: dict[str, str], names: Sequence[str], given: Mapping[str, str | None]) -> None:
    """Raise `ColumnError` where what stands around the records of a JSON object may be the worker, or the item, as well.

    Beside a list of records that is who gave them all, but for a rater in each; in an object of records it is their names.
    """
    item, worker = chosen.get("item"), chosen.get("worker")
    named = names[:1] == [OUTER_KEY] and worker is None and not given.get("item") and records_by_name(outer)
    if named and item not in {None, OUTER_KEY}:
        raise ColumnError(
            f"Items may be told by {shown(item)} or by the names of the records, which are {shown(OUTER_KEY)}: "
            f"say --item-column {shown_file(OUTER_KEY)}, or {shown_file(item)}."
        )
    records = only_list(outer)
    inside = list(dict.fromkeys(key for record in records for key in record))
    said = [name for name in names if name in mapping(outer) and name not in inside and ROLES["worker"].is_named(name)]
    each = [name for name in ROLES["worker"].best(inside) if ROLES["worker"].is_named(name)]
    if not (said and each) or worker not in {said[0], each[0]} or given.get("worker"):
        return
    if len({str(record.get(item or "")) for record in records}) < len(records):  # several of them judged one item
        chosen["worker"] = each[0]
    elif RATERS.isdisjoint(words_of(each[0])):
        raise ColumnError(
            f"Who labelled may be {shown(said[0])}, which stands once beside the records, or {shown(each[0])} in each of them; "
            f"say --worker-column {shown_file(said[0])}, or {shown_file(each[0])}."
        )


def _holds_objects(name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the cells of a column are objects, or their texts."""
    cells = [cell for row in rows if (cell := row.get(name))]
    return bool(cells) and all(isinstance(cell, dict) or str(cell).startswith('{"') for cell in cells)


def _is_answer(name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    values = {value.casefold() for row in rows if (value := cell_text(row.get(name))) is not None}
    return plain_name(name) in ROLES["label"].spellings or values <= YES_OR_NO
