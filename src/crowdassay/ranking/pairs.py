"""Comparisons of two things: which two, who compared them, and which one won."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.errors import ColumnError, CrowdassayError, DataError, ParameterError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.coding import code_column
from crowdassay.labels.roles import ROLES, Role, plain_name
from crowdassay.labels.study_columns import Columns, encode_names, encode_numbers, kept_rows, read_columns
from crowdassay.labels.values import as_text, counted, mapping, shown
from crowdassay.results.saved.study import check_codes, check_texts

LEFT, RIGHT, TIED, BOTH_BAD, MISSING = 0, 1, 2, 3, -1
SIDE_WORDS = {
    "left": LEFT, "a": LEFT, "modela": LEFT, "first": LEFT, "1": LEFT, "leftwins": LEFT, "awins": LEFT, "modelawins": LEFT,
    "right": RIGHT, "b": RIGHT, "modelb": RIGHT, "second": RIGHT, "2": RIGHT, "rightwins": RIGHT, "bwins": RIGHT,
    "modelbwins": RIGHT,
}  # fmt: skip
TIE_WORDS = {
    "tie": TIED, "ties": TIED, "draw": TIED, "equal": TIED, "same": TIED, "bothgood": TIED, "tiebothgood": TIED,
    "bothbad": BOTH_BAD, "tiebothbad": BOTH_BAD, "neither": BOTH_BAD,
}  # fmt: skip
WINNER_READINGS = ("auto", "side", "name")

# A column named like a model is no judge's here: it may be one of the two that are compared.
VOTER = replace(ROLES["worker"], required=False, late_endings=(), late_words=())
PAIR_ROLES = (ROLES["left"], ROLES["right"], ROLES["winner"], VOTER, Role("group", "--group", required=False))
AFTER = (("_left", "_right"), ("_a", "_b"), (" left", " right"), ("_1", "_2"))
BEFORE = (("left_", "right_"), ("a_", "b_"))


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
    dropped : dict
    notes : tuple of str
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
    source: str = "arrays"
    columns: dict[str, str] = field(default_factory=dict)
    frame: str = "pyarrow"
    dropped: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def n_pairs(self) -> int:
        return len(self.left)

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
        if self.style.shape != (self.n_pairs, len(self.styles)):
            raise ValueError("styles without values")

    def only(self, rows: BoolArray) -> Pairs:
        """Return some of the comparisons, with all items and workers."""
        group = None if self.group is None else self.group[rows]
        return replace(
            self, left=self.left[rows], right=self.right[rows], outcome=self.outcome[rows], worker=self.worker[rows],
            style=self.style[rows], group=group,
        )  # fmt: skip


def read_pairs(
    data: Any,
    *,
    left_column: str | None = None,
    right_column: str | None = None,
    winner_column: str | None = None,
    worker_column: str | None = None,
    group_column: str | None = None,
    style: Sequence[str] = (),
    winners: str = "auto",
    both_bad: str = "tie",
    allow_drops: bool = False,
) -> Pairs:
    """Take comparisons from a frame or a file.

    Parameters
    ----------
    data : frame, str or Path
        One row for each comparison: crowd-kit's frames (left, right, label, worker), arena-style records (model_a, model_b,
        winner, judge), or a Label Studio export with a pairwise tag.
    left_column, right_column, winner_column, worker_column : str, optional
        Found by name when not given. There may be no worker, or one here and there.
    group_column : str, optional
    style : sequence of str
        What else differs between the two sides, such as length: a column of differences, or two columns such as
        ``length_left`` and ``length_right``.
    winners : {'auto', 'side', 'name'}
        Whether winners are sides or names.
    both_bad : {'tie', 'drop'}
        What to do with comparisons in which both were bad.
    allow_drops : bool
        Go on even if more than half of the rows miss a value.
    """
    if both_bad not in ("tie", "drop"):
        raise ParameterError(f"both_bad must be 'tie' or 'drop', not {both_bad!r}.")
    given = {"left": left_column, "right": right_column, "winner": winner_column, "worker": worker_column}
    columns = _read_label_studio(data, given) if isinstance(data, str | Path) else None
    if columns is None:
        columns = _read_with_style(data, {**given, "group": group_column}, style)
    elif group_column is not None or style:
        raise ParameterError("--group and --style go with plain tables; a Label Studio export has no such columns.")
    return encode_pairs(columns, tuple(style), winners=winners, both_bad=both_bad, allow_drops=allow_drops)


def _read_with_style(data: Any, given: dict[str, str | None], style: Sequence[str]) -> Columns:
    """Read the columns, trying for every style a column of its name, or one for each side."""
    sides: dict[str, str | None] = {}
    for name in style:
        tries = [
            (name,),
            *((name + one, name + two) for one, two in AFTER),
            *((one + name, two + name) for one, two in BEFORE),
        ]
        for columns in tries:
            more = dict(zip((f"style {name} left", f"style {name} right"), columns, strict=False))
            try:
                read_columns(data, _style_roles(more), more, "comparisons")
            except ColumnError:
                continue
            sides |= more
            break
        else:
            raise ColumnError(f"There is no column {shown(name)} (--style), nor a pair such as {name}_left and {name}_right.")
    return read_columns(data, [*PAIR_ROLES, *_style_roles(sides)], given | sides, "comparisons")


def _style_roles(names: Iterable[str]) -> list[Role]:
    return [Role(name, "--style", kind="number") for name in names]


def encode_pairs(columns: Columns, style: tuple[str, ...], *, winners: str, both_bad: str, allow_drops: bool) -> Pairs:
    """Turn columns into codes; rows that miss a value are left out and counted."""
    n_rows = columns.n_rows
    sides = pa.chunked_array([*_chunks(columns.table["left"]), *_chunks(columns.table["right"])])
    codes, items = encode_names(sides, "item")
    left, right = codes[:n_rows], codes[n_rows:]
    if "worker" in columns.table:
        worker, workers = encode_names(columns.table["worker"], "worker")
    else:
        worker, workers = np.full(n_rows, -1, np.int64), pa.array([], pa.string())
    outcome = read_winners(columns.table["winner"], left, right, items, winners, columns.source)
    missing: dict[str, BoolArray] = {"left": left < 0, "right": right < 0, "winner": outcome == MISSING}
    group, groups = None, None
    if "group" in columns.table:
        group, groups = encode_names(columns.table["group"], "group")
        missing["group"] = group < 0
    values = np.zeros((n_rows, len(style)))
    for n, name in enumerate(style):
        values[:, n] = encode_numbers(columns.table[f"style {name} left"], name, columns.source)
        if f"style {name} right" in columns.table:
            values[:, n] -= encode_numbers(columns.table[f"style {name} right"], name, columns.source)
        missing[name] = np.isnan(values[:, n])
    kept, dropped = kept_rows(missing, columns.source, "comparisons", allow_drops=allow_drops)
    same = kept & (left == right)
    if same.any():
        dropped["compared with itself"] = int(same.sum())
        kept &= ~same
    notes = list(columns.notes)
    bad = kept & (outcome == BOTH_BAD)
    if bad.any() and both_bad == "drop":
        dropped["both bad"] = int(bad.sum())
        kept &= ~bad
    elif bad.any():
        notes.append(f"In {int(bad.sum()):,} comparisons both were bad; they count as ties.")
        outcome = np.where(bad, TIED, outcome)
    if not kept.any():
        why = ", ".join(f"{reason} ({counted(count, 'row')})" for reason, count in dropped.items())
        raise DataError(f"No comparison is left; nothing can be ranked. Left out: {why}.")
    pairs = Pairs(
        left, right, outcome, worker, items, workers, values, style, group, groups, columns.source, columns.names,
        columns.frame, dropped, tuple(notes),
    ).only(kept)  # fmt: skip
    used, codes = np.unique(np.concatenate([pairs.left, pairs.right]), return_inverse=True)
    if len(used) < 2:
        raise DataError("Only one thing was compared; nothing can be ranked.")
    spread = pairs.style.std(axis=0)
    if (spread == 0).any():
        name = style[int(np.flatnonzero(spread == 0)[0])]
        raise DataError(f"The style {shown(name)} is the same in every comparison, so that it explains nothing; leave it out.")
    return replace(
        pairs, left=codes[: pairs.n_pairs], right=codes[pairs.n_pairs :], items=items.take(pa.array(used)),
        style=pairs.style / np.maximum(spread, 1e-300),
    )  # fmt: skip


def _chunks(column: Any) -> list[pa.Array]:
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    chunks = [chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk for chunk in chunks]
    return [chunk.cast(pa.string()) for chunk in chunks] or [pa.array([], pa.string())]


def _read_label_studio(given_path: str | Path, given: dict[str, str | None]) -> Columns | None:
    """Read the pairwise answers of a Label Studio export (JSON); None if the file is something else."""
    from crowdassay.labels.formats import label_studio  # noqa: PLC0415
    from crowdassay.labels.probe import probe  # noqa: PLC0415
    from crowdassay.labels.raw import check_file  # noqa: PLC0415

    path, kind = check_file(given_path)
    if kind not in {".json", ".jsonl", ".ndjson"}:
        return None
    try:
        seen = probe(path)
    except CrowdassayError:
        return None  # whose plain reader says what is wrong with it
    if not isinstance(seen.first, dict) or not seen.has("data") or not label_studio.recognise(seen):
        return None
    rows: dict[str, list[str | None]] = {"left": [], "right": [], "winner": [], "worker": []}
    for task in seen.records():
        data = mapping(task.get("data"))
        for annotation in task.get("annotations", task.get("completions")) or []:
            if annotation.get("was_cancelled") or annotation.get("skipped"):
                continue
            for entry in annotation.get("result") or []:
                value = entry.get("value")
                if not isinstance(value, dict) or "selected" not in value:
                    continue
                one, two = _compared(entry, data, given, path.name)
                rows["left"].append(one)
                rows["right"].append(two)
                rows["winner"].append(str(value["selected"]))
                who = label_studio.annotator_of(annotation.get("completed_by"))
                rows["worker"].append(None if who is None else str(who))
    if not rows["winner"]:
        raise DataError(f"There were no pairwise answers found in {shown(path.name)}; was it exported from another project?")
    names = {"left": given["left"] or "data", "right": given["right"] or "data", "winner": "selected", "worker": "completed_by"}
    return Columns({role: pa.array(values, pa.string()) for role, values in rows.items()}, names, path.name)


def _compared(entry: dict[str, Any], data: dict[str, Any], given: dict[str, str | None], source: str) -> tuple[str, str]:
    """Return the names of the two sides: from fields that are named, known by name, or called as the tag calls them."""
    target = entry.get("to_name")
    tags = target.split(",") if isinstance(target, str) else [str(one) for one in target or []]
    plain = {plain_name(name): name for name in data}
    compared = []
    for n, side in enumerate(("left", "right")):
        name = given[side] or next((plain[word] for word in ROLES[side].words if word in plain), None)
        if name is None and len(tags) > n and tags[n].strip() in data:
            name = tags[n].strip()
        if name is None or name not in data:
            fields = ", ".join(map(repr, data))
            raise ColumnError(
                f"It is not known which field of the tasks in {shown(source)} names the {side} side (fields: {fields}); "
                f"name it with --{side}-column."
            )
        compared.append(str(data[name]))
    return compared[0], compared[1]


def plain_word(text: str) -> str:
    """Return a word without case and punctuation.

    >>> plain_word("tie (bothbad)"), plain_word("Model_A")
    ('tiebothbad', 'modela')
    """
    return re.sub(r"[^0-9a-z]+", "", text.casefold())


def read_winners(column: ArrowColumn, left: IntArray, right: IntArray, names: pa.Array, reading: str, source: str) -> IntArray:
    """Return the outcome of every comparison: 0 left, 1 right, 2 tie, 3 both bad, -1 missing; shape (n_rows,).

    Parameters
    ----------
    column : pyarrow.Array
        Sides (left, right, a, b, model_a ...), names of the things compared, and words for ties.
    left, right : ndarray of int64, shape (n_rows,)
    names : pyarrow.Array
        What is compared.
    reading : {'auto', 'side', 'name'}
        Whether winners are sides or names. Found out when every winner can be read in one way only.
    source : str
    """
    if reading not in WINNER_READINGS:
        raise ParameterError(f"winners must be 'auto', 'side' or 'name', not {reading!r}.")
    codes, words = code_column(column, "winner")
    texts = as_text(words).to_pylist()
    place = {name: n for n, name in enumerate(names.to_pylist())}
    item = np.array([place.get(text, -1) for text in texts] + [-1])
    side = np.array([SIDE_WORDS.get(plain_word(text), -1) for text in texts] + [-1])
    tie = np.array([TIE_WORDS.get(plain_word(text), -1) for text in texts] + [-1])
    named = np.where(item[codes] == left, LEFT, np.where(item[codes] == right, RIGHT, -1))
    named[item[codes] < 0] = -1
    given = codes >= 0
    by_name = np.where(named >= 0, named, np.where(item[codes] < 0, tie[codes], -1))
    by_side = np.where(side[codes] >= 0, side[codes], tie[codes])
    able = {"name": bool((by_name[given] >= 0).all()), "side": bool((by_side[given] >= 0).all())}
    if reading == "auto":
        if able["name"] and able["side"] and (by_name[given] != by_side[given]).any():
            raise DataError(
                f"The winners in {shown(source)} can be read as sides or as names of what was compared, which differ; "
                "say which with --winners side or --winners name."
            )
        reading = "side" if able["side"] else "name"
    winners = by_side if reading == "side" else by_name
    bad = np.flatnonzero(given & (winners < 0))
    if len(bad):
        row = int(bad[0])
        pair = f"{shown(names[int(left[row])].as_py())} and {shown(names[int(right[row])].as_py())}"
        more = f" ({len(bad):,} rows are wrong)" if len(bad) > 1 else ""
        raise DataError(
            f"The winner in data row {row + 1} of {shown(source)} is {shown(texts[codes[row]])}, which is neither of the two "
            f"compared ({pair}) nor left, right, tie or both bad{more}; correct it."
        )
    return np.where(given, winners, MISSING)
