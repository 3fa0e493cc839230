"""Comparisons of two things: which two, who compared them, and which one won."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.encode import code_column
from crowdassay.labels.report import similar_names
from crowdassay.labels.side_proposals import WORDS_OF_A_TEXT
from crowdassay.labels.sides import BOTH_BAD, LEFT, MISSING, RIGHT, TIED, plain_word, won_by
from crowdassay.labels.study_columns import Columns, encode_names, encode_numbers, kept_rows
from crowdassay.labels.values import as_text, counted, listed, number_of, shown, shown_file
from crowdassay.ranking.shapes import LEFT_SCORE, NOTED, read_pair_columns
from crowdassay.ranking.winners import (
    ALPACA_EVALS_LEFT,
    BELOW_IS_LEFT,
    BELOW_IS_RIGHT,
    NOBODY,
    TURNED,
    YES_OF_SIDE,
    check_signs,
    numbers_said,
    one_side_said,
    read_meanings,
    read_winners,
)
from crowdassay.read_options import Opening, split_commas
from crowdassay.results.parameters import check_choice
from crowdassay.results.saved.study import check_codes, check_texts
from crowdassay.statistics import connected_parts

LARGER_WINS = f"The larger of the two numbers won; where the smaller one wins, say --winners '{BELOW_IS_LEFT}'."
NOBODY_COMPARED = "Nobody was taken for who compared; if a column tells it, name it with --worker-column."
MOST_TEXTS_COMPARED = 3  # with one another, as the answers to one question are


@dataclass(frozen=True, eq=False)
class Pairs:
    """Comparisons, one row each.

    Attributes
    ----------
    left, right : ndarray of int64, shape (n_pairs,)
    outcome : ndarray of int64, shape (n_pairs,)
        0 the left one won, 1 the right one, 2 a tie, 3 both bad.
    worker : ndarray of int64, shape (n_pairs,)
        -1 where nobody is named.
    items, workers : pyarrow.Array
    style : ndarray of float, shape (n_pairs, n_styles)
        Left less right, in standard deviations.
    styles : tuple of str
    group : ndarray of int64, shape (n_pairs,), optional
    groups : pyarrow.Array, optional
    question : ndarray of int64, shape (n_pairs,), optional
        Which comparisons answer one question, -1 where it is not known.
    weight : ndarray of float, shape (n_pairs,), optional
        What each counts, where some are shares of a win.
    dropped : dict
    notes : tuple of str
    sides : bool
        Whether it is known which one was on the left.
    """

    left: IntArray
    right: IntArray
    outcome: IntArray
    worker: IntArray
    items: pa.Array
    workers: pa.Array
    style: FloatArray
    styles: tuple[str, ...] = ()
    group: IntArray | None = None
    groups: pa.Array | None = None
    question: IntArray | None = None
    weight: FloatArray | None = None
    source: str = "arrays"
    columns: dict[str, str] = field(default_factory=dict)
    frame: str = "pyarrow"
    dropped: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sides: bool = True

    @property
    def n_pairs(self) -> int:
        return len(self.left)

    @property
    def n_comparisons(self) -> int:
        """How many comparisons there are, where some are two rows with a share each."""
        return self.n_pairs if self.weight is None else round(float(self.weight.sum()))

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def n_ties(self) -> int:
        """Comparisons that neither won."""
        return int((self.outcome == TIED).sum())

    def check(self) -> None:
        """Raise ValueError where codes name nothing, as in a file that another hand has made."""
        check_texts(self.items, self.workers)
        check_codes(self.left, self.n_items, self.n_pairs)
        check_codes(self.right, self.n_items, self.n_pairs)
        check_codes(self.outcome, BOTH_BAD, self.n_pairs)
        check_codes(self.worker, len(self.workers), self.n_pairs, least=-1)
        if self.question is not None:
            check_codes(self.question, self.n_pairs, self.n_pairs, least=-1)
        if self.weight is not None and (self.weight.shape != (self.n_pairs,) or not (self.weight > 0).all()):
            raise ValueError("comparisons that do not count")
        if self.style.shape != (self.n_pairs, len(self.styles)):
            raise ValueError("styles without values")

    def only(self, rows: BoolArray | IntArray) -> Pairs:
        """Return some of the comparisons, with all items and workers."""
        beside: dict[str, Any] = {
            name: None if (one := getattr(self, name)) is None else one[rows] for name in ("group", "question", "weight")
        }
        return replace(
            self, left=self.left[rows], right=self.right[rows], outcome=self.outcome[rows], worker=self.worker[rows],
            style=self.style[rows], **beside,
        )  # fmt: skip


def read_pairs(
    data: object,
    *,
    left_column: str | None = None,
    right_column: str | None = None,
    winner_column: str | None = None,
    worker_column: str | None = None,
    group_column: str | None = None,
    question_column: str | None = None,
    style: Sequence[str] = (),
    winners: str = "auto",
    both_bad: str = "tie",
    allow_drops: bool = False,
    sheet: str | None = None,
    encoding: str | None = None,
    no_header: bool = False,
    worker_columns: str | Sequence[str] | None = None,
) -> Pairs:
    """Take comparisons from a frame or a file.

    Parameters
    ----------
    data : frame, str or Path
        One row for each comparison: crowd-kit's frames (left, right, label, worker), arena-style records (model_a, model_b,
        winner, judge), FastChat's pairs (model_1, model_2, winner, or g1_winner and g2_winner for both orders, or winner1,
        winner2 ... for several voters), AlpacaEval's annotations (generator_1, generator_2, preference), winners and
        losers, or a Label Studio export with a pairwise tag.
    left_column, right_column, winner_column, worker_column : str, optional
        Found by name when not given. There may be no worker, or one here and there. Several columns, separated by commas, may
        make a side together. Two columns of numbers as the winner's, the left's first, say that the larger number won.
    group_column : str, optional
    question_column : str, optional
        Tells which comparisons answer one question (or prompt) and may depend on each other; found by name when not given.
    style : sequence of str
        What else differs between the two sides, such as length: a column of differences, or two columns such as
        ``length_left`` and ``length_right``.
    winners : {'auto', 'side', 'name'} or str
        Whether winners are sides or names, or what codes mean, such as 'P=left,I=tie,skip=none'; of numbers, - and + may stand
        for all below and above nought, such as '-=left,0=tie,+=right'.
    both_bad : {'tie', 'drop'}
        What to do with comparisons in which both were bad.
    allow_drops : bool
        Go on even if more than half of the rows miss a value.
    sheet : str, optional
        Which sheet of a workbook to read.
    encoding : str, optional
        How text is written that is not UTF-8, such as windows-1252.
    no_header : bool
        The first row names no columns: they are named by their number, from 1.
    worker_columns : list of str, optional
        Every worker has a column that says who won: their names, or patterns such as ``rater*``.
    """
    check_choice("both_bad", both_bad, ("tie", "drop"))
    read_meanings(winners)  # which refuses what it cannot be, whatever the comparisons are
    given = {"left": left_column, "right": right_column, "winner": winner_column, "worker": worker_column}
    beside = {"group": group_column, "question": question_column}
    voters = split_commas(worker_columns) if isinstance(worker_columns, str) else worker_columns or ()
    columns = read_pair_columns(data, {**given, **beside}, style, Opening(sheet, encoding, no_header), voters)
    return encode_pairs(columns, tuple(style), winners=winners, both_bad=both_bad, allow_drops=allow_drops)


def encode_pairs(columns: Columns, style: tuple[str, ...], *, winners: str, both_bad: str, allow_drops: bool) -> Pairs:
    """Turn columns into codes; rows that miss a value are left out and counted."""
    table, n_rows, sides = columns.table, columns.n_rows, "loser" not in columns.table
    if not sides and winners not in {"auto", "name"}:
        raise ParameterError(
            f"--winners says what the winners mean, and {shown(columns.names['winner'])} of {shown(columns.source)} names them "
            f"beside the losers, {shown(columns.names['loser'])}; leave it out."
        )
    one, two = ("left", "right") if sides else ("winner", "loser")
    sides_as_text = [pa.table({"item": table[side].cast(pa.string())}) for side in (one, two)]
    codes, items = encode_names(pa.concat_tables(sides_as_text)["item"], "item")
    left, right = codes[:n_rows], codes[n_rows:]
    coded = {name: encode_names(table[name], name) for name in ("worker", "group", "question") if name in table}
    worker, workers = coded.get("worker", (np.full(n_rows, -1, np.int64), pa.array([], pa.string())))
    group, groups = coded.get("group", (None, None))
    question = coded["question"][0] if "question" in coded else None
    values = np.column_stack([np.zeros((n_rows, 0)), *(_style_values(columns, name) for name in style)])
    outcome, share, turned, voters, said = _read_votes(columns, left, right, items, winners)
    rows = np.arange(len(outcome)) % n_rows  # each may be judged more than once
    if len(rows) > n_rows and question is None:
        question = np.arange(n_rows)
    if voters and "worker" not in table:
        worker, workers = np.arange(len(rows)) // n_rows, pa.array(voters)
    left, right = np.where(turned, right[rows], left[rows]), np.where(turned, left[rows], right[rows])
    values = values[rows] * np.where(turned, -1, 1)[:, None]
    worker = worker if len(worker) == len(rows) else worker[rows]
    group, question = (None if one is None else one[rows] for one in (group, question))
    missing: dict[str, BoolArray] = {one: left < 0, two: right < 0, **({"winner": outcome == MISSING} if sides else {})}
    missing |= {name: np.isnan(values[:, n]) for n, name in enumerate(style)}
    if group is not None:
        missing["group"] = group < 0
    kept, dropped = _kept(missing, rows if voters else np.arange(len(rows)), columns.source, allow_drops=allow_drops)
    bad = outcome == BOTH_BAD
    reasons = {"compared with itself": left == right, "nobody was chosen": outcome == NOBODY}
    for reason, lost in {**reasons, **({"both bad": bad} if both_bad == "drop" else {})}.items():
        if first := int((kept & lost).sum()):
            dropped[reason] = first
        kept &= ~lost
    notes = [*columns.notes, *similar_names(items, "item"), *similar_names(workers), *said, *_who_said(columns.names, voters)]
    if not sides:
        notes.append("No columns were taken for the left and the right one, so that no advantage of a side is estimated.")
    if (bad := bad & kept).any():
        notes.append(f"In {counted(int(bad.sum()), 'comparison')} both were bad; such a comparison counts as a tie.")
        outcome = np.where(bad, TIED, outcome)
    if not kept.any():
        why = ", ".join(f"{reason} ({counted(count, 'row')})" for reason, count in dropped.items())
        raise DataError(f"No comparison is left; nothing can be ranked. Left out: {why}.")
    pairs = Pairs(
        left, right, outcome, worker, items, workers, values, style, group, groups, question, None, columns.source,
        {role: name for role, name in columns.names.items() if role not in NOTED}, columns.frame, dropped, tuple(notes), sides,
    ).only(kept)  # fmt: skip
    pairs = _numbered(_shared_out(pairs, share[kept]))
    _refuse_texts(pairs, [columns.names[side] for side in (one, two)])
    return pairs


def _who_said(names: Mapping[str, str], voters: Sequence[str]) -> list[str]:
    """Return a sentence on who may have compared, where no column was taken to tell it."""
    if "worker" in names:
        return []
    if voters:
        return [
            f"Each of the columns {listed(voters)} holds the votes of one voter; where one gave all votes of a row, name the "
            "column that says who with --worker-column."
        ]
    if (name := names.get("maybe worker")) is not None:
        return [f"Nobody was taken for who compared; if {shown(name)} is, say --worker-column {shown_file(name)}."]
    return [NOBODY_COMPARED] if "unnamed worker" in names else []


def _kept(missing: dict[str, BoolArray], rows: IntArray, source: str, *, allow_drops: bool) -> tuple[BoolArray, dict[str, int]]:
    """Return which comparisons have all they need, and how many rows were left out, which miss what all their votes miss."""
    n_rows = int(rows.max()) + 1
    by_row = {name: np.asarray(lost.reshape(-1, n_rows).all(axis=0)) for name, lost in missing.items()}
    kept, dropped = kept_rows(by_row, source, "comparisons", allow_drops=allow_drops)
    return kept[rows] & ~missing["winner"], dropped


def _read_votes(
    columns: Columns, left: IntArray, right: IntArray, items: pa.Array, winners: str
) -> tuple[IntArray, FloatArray, BoolArray, list[str], list[str]]:
    """Return the outcomes, the shares, and which are turned round, one column after the other; who voted; and notes."""
    table, n_rows = columns.table, columns.n_rows
    votes = [name for name in table if name.startswith("winner")] if "left" in table else []
    if not votes:
        return np.full(n_rows, LEFT), np.full(n_rows, np.nan), np.zeros(n_rows, bool), [], []
    sides, said = [columns.names[one] for one in ("left", "right")], []
    if LEFT_SCORE in table:
        check_signs(winners, columns.names["winner"])
        if winners == "auto":
            winners, said = BELOW_IS_RIGHT, [LARGER_WINS]
    tied = plain_word(columns.names["left"]) == ALPACA_EVALS_LEFT
    if "one side won" in table and winners == "auto":
        side = won_by(columns.names["winner"], sides) or LEFT
        winners, said = YES_OF_SIDE[side], [one_side_said(table["winner"], columns.names["winner"], side, sides)]
    read = [read_winners(table[name], left, right, items, winners, columns.source, sides, zero_ties=tied) for name in votes]
    outcome, share = np.concatenate([one for one, *_ in read]), np.concatenate([one for _, one, _ in read])
    said += numbers_said([number for *_, numbers in read for number in numbers], sides)
    turned = np.repeat([name == "winner turned round" for name in votes], n_rows)
    outcome = np.where(turned & np.isnan(share), TURNED[outcome], outcome)
    voters = [] if votes == ["winner"] or turned.any() else [columns.names[name] for name in votes]
    return outcome, np.where(turned, 1 - share, share), turned, voters, said


def _refuse_texts(pairs: Pairs, names: Sequence[str]) -> None:
    """Refuse to rank answers by their texts: they are long, and hardly any is compared with more than one other."""
    n_words = np.median([len(text.split()) for text in pairs.items.to_pylist()])
    n_parts = int(find_parts(pairs).max()) + 1
    if n_parts > 1 and n_words >= WORDS_OF_A_TEXT and pairs.n_items <= MOST_TEXTS_COMPARED * n_parts:
        raise DataError(
            f"The columns {listed(names)} of {shown(pairs.source)} hold texts, not competitors: {pairs.n_items:,} such as "
            f"{shown(pairs.items[0].as_py())}, in {n_parts:,} parts never compared with one another. Name the columns that say "
            "whose texts they are with --left-column and --right-column; where none does, there is nothing to rank."
        )


def _style_values(columns: Columns, name: str) -> FloatArray:
    """Return by how much a style differs between the sides, (n_rows,); of texts it is the number of characters."""
    values = np.zeros(columns.n_rows)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        if (column := columns.table.get(f"style {name} {side}")) is None:
            continue
        codes, texts = code_column(column, name)
        words = as_text(texts).to_pylist()
        if any(number_of(word) is not None for word in words):
            values += sign * encode_numbers(column, name, columns.source)
        else:
            values += sign * np.array([*map(len, words), np.nan])[codes]
    return values


def _shared_out(pairs: Pairs, share: FloatArray) -> Pairs:
    """Return the comparisons, each of those that the left one won in part made two: the share that it won, and the rest."""
    part = np.flatnonzero(~np.isnan(share))
    if not len(part):
        return pairs
    if pairs.question is None:
        pairs = replace(pairs, question=np.arange(pairs.n_pairs))
    whole = np.where(np.isnan(share), 1.0, share)
    both = np.concatenate([np.arange(pairs.n_pairs), part])
    outcome = np.concatenate([pairs.outcome, np.full(len(part), RIGHT)])
    return replace(pairs.only(both), outcome=outcome, weight=np.concatenate([whole, 1 - share[part]]))


def _numbered(pairs: Pairs) -> Pairs:
    """Return the comparisons with codes for what is left, and styles in standard deviations."""
    used, codes = np.unique(np.concatenate([pairs.left, pairs.right]), return_inverse=True)
    if len(used) < 2:
        raise DataError("Only one thing was compared; nothing can be ranked.")
    spread = pairs.style.std(axis=0)
    if (spread == 0).any():
        name = pairs.styles[int(np.flatnonzero(spread == 0)[0])]
        raise DataError(f"The style {shown(name)} is the same in every comparison, so that it explains nothing; leave it out.")
    question = pairs.question
    if question is not None:
        question = np.unique(np.append(question, -1), return_inverse=True)[1][:-1] - 1
    return replace(
        pairs, question=question, left=codes[: pairs.n_pairs], right=codes[pairs.n_pairs :],
        items=pairs.items.take(pa.array(used)), style=pairs.style / np.maximum(spread, 1e-300),
    )  # fmt: skip


def find_parts(pairs: Pairs) -> IntArray:
    """Return which connected part each item belongs to, the largest 0; shape (n_items,)."""
    label = connected_parts(pairs.left, pairs.right, pairs.n_items)
    order = np.argsort(-np.bincount(label), kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return np.asarray(place[label])


def refuse_infinite(pairs: Pairs) -> None:
    """Refuse comparisons in which some items were never beaten by the rest: their maximum likelihood scores are infinite."""
    from scipy import sparse  # noqa: PLC0415  slow to load, and seldom needed
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    winner = np.concatenate([pairs.left[pairs.outcome != RIGHT], pairs.right[pairs.outcome != LEFT]])
    loser = np.concatenate([pairs.right[pairs.outcome != RIGHT], pairs.left[pairs.outcome != LEFT]])
    wins = sparse.coo_array((np.ones(len(winner)), (winner, loser)), shape=(pairs.n_items, pairs.n_items))
    label = connected_components(wins, connection="strong")[1]  # of two items in one part each has beaten the other, in steps
    if label.any():
        small = np.argsort(np.bincount(label), kind="stable")[0]
        names = listed(pairs.items.filter(pa.array(label == small)).to_pylist(), limit=3)
        raise DataError(
            f"Without a prior some scores are infinite: {names} always won against the rest, or always lost, or never met "
            "them. Leave --prior out, and it is estimated, or give it as a number."
        )
