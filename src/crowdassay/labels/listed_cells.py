"""Tables whose cells list the workers of an item and, in the same order, their labels: every pair is a row of its own."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import DataError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.delimited import FIRST_ROWS
from crowdassay.labels.roles import ROLES
from crowdassay.labels.values import LEADING_ZERO, counted, is_text, number_of, shown, shown_file, text_of

# A bracket, a comma or a value: in quotes or bare, and maybe with its type around it, as NumPy's numbers are written in lists.
TOKEN = re.compile(
    r"\s*(?:(?P<mark>[\[\],])|(?P<typed>np\.\w+\()?"
    r"(?:(?P<quoted>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<bare>[^\s,\[\]'\"{}()]+))(?(typed)\)))"
)
NO_VALUE = frozenset({"None", "null", "nan", "NaN", "NA", "<NA>"})  # in a list, without quotes
TRUTH = {"True": "true", "False": "false", "true": "true", "false": "false"}
LEAST_COMING_AGAIN = 0.5  # part of the names in a list of workers that are in other rows, too

Cell = list[Any] | None  # what a list holds: texts, None for what is missing, and lists of such; None if a cell is no list


def cell_list(cell: object) -> Cell:
    """Return the list that a cell holds as text, as Python, JSON or NumPy write lists, with its values as text; else None.

    >>> cell_list("['a', 'b']"), cell_list('["a",null]'), cell_list("['a' 'b']"), cell_list("[1. 0.]"), cell_list("[[], ['x']]")
    (['a', 'b'], ['a', None], ['a', 'b'], ['1', '0'], [[], ['x']])
    >>> cell_list("[A] [B]"), cell_list("[deleted]"), cell_list("[{'start': 3}]"), cell_list("[1 2 ... 9]"), cell_list("[1,,2]")
    (None, None, None, None, None)
    """
    text = cell.strip() if isinstance(cell, str) else ""
    whole: list[Any] = []
    inside, commas, place = [whole], [0], 0
    while place < len(text):
        token = TOKEN.match(text, place)
        if token is None or (len(inside) == 1 and (whole or token["mark"] != "[")):
            return None
        place = token.end()
        if token["mark"] == "[":
            inside.append([])
            commas.append(0)
        elif token["mark"] == "]":
            one, between = inside.pop(), commas.pop()
            if between not in {0, len(one) - 1}:  # else what is between two commas is not there
                return None
            inside[-1].append(one)
        elif token["mark"] == ",":
            commas[-1] += 1
            if commas[-1] != len(inside[-1]):
                return None
        elif token["quoted"] is None and not _is_value(token["bare"]):
            return None
        else:
            inside[-1].append(_value(token))
    return whole[0] if len(inside) == 1 and whole else None


def _is_value(bare: str) -> bool:
    return bare in NO_VALUE or bare in TRUTH or number_of(bare) is not None


def _value(token: re.Match[str]) -> str | None:
    """Return a value in a list as text; None for what is missing."""
    if token["quoted"] is not None and "\\" not in token["quoted"]:
        return token["quoted"][1:-1]
    if token["quoted"] is not None:
        try:
            return str(json.loads(token["quoted"]))
        except ValueError:
            return _unquoted(token["quoted"])
    bare = token["bare"]
    if bare in NO_VALUE or bare in TRUTH:
        return TRUTH.get(bare)
    if LEADING_ZERO.match(bare):
        return str(bare)
    return text_of(int(bare) if bare.lstrip("+-").isdecimal() else float(bare))


def _unquoted(text: str) -> str:
    try:
        return str(ast.literal_eval(text))
    except (ValueError, SyntaxError):  # such as a line that breaks inside
        return text[1:-1]


def _worker(entry: Any) -> str | None:
    return entry[0] if isinstance(entry, list) else entry


def _label(entry: Any) -> str | None:
    """Return the label in an entry: a list of one is its element, an empty one none, and several choices are written as a list.

    >>> _label("x"), _label(["x"]), _label([]), _label(["x", "y"])
    ('x', 'x', None, '["x", "y"]')
    """
    if not isinstance(entry, list):
        return entry if entry is None else str(entry)
    choices = [one for one in entry if one is not None]
    return json.dumps(choices, ensure_ascii=False) if len(choices) > 1 else next(iter(choices), None)


def _are_workers(cell: Cell) -> bool:
    """Return whether a list may hold workers: single names."""
    return cell is not None and all(not isinstance(one, list) or (len(one) == 1 and _is_plain(one)) for one in cell)


def _are_labels(cell: Cell) -> bool:
    """Return whether a list may hold labels: values, or lists of choices, but no spans such as [0, 5, 'PER'].

    >>> _are_labels(["x", ["y", "z"], []]), _are_labels([["0", "5", "PER"]]), _are_labels([[["x"]]])
    (True, False, False)
    """
    inner = [one for one in cell or [] if isinstance(one, list)]
    return cell is not None and all(
        _is_plain(one) and len({number_of(str(value)) is None for value in one}) < 2 for one in inner
    )


def _is_plain(values: Sequence[Any]) -> bool:
    return not any(isinstance(value, list) for value in values)


def _is_blank(cell: object) -> bool:
    return cell is None or not str(cell).strip()


def _hold_lists(workers: Sequence[object], labels: Sequence[object]) -> bool:
    """Return whether some row lists several workers and their labels."""
    for worker, label in zip(workers, labels, strict=True):
        who = cell_list(worker)
        if who is not None and len(who) > 1 and _are_workers(who) and _are_labels(cell_list(label)):
            return True
    return False


def holds_listed(worker: ArrowColumn, label: ArrowColumn) -> bool:
    """Return whether columns list several workers in a row, and their labels, as the first rows show."""
    if not is_text(worker.type) or not is_text(label.type):
        return False
    first = [column.slice(0, FIRST_ROWS) for column in (worker, label)]
    if not all(pc.any(pc.starts_with(pc.utf8_ltrim_whitespace(column), "[")).as_py() for column in first):
        return False
    return _hold_lists(first[0].to_pylist(), first[1].to_pylist())


def one_row_each(
    table: pa.Table, worker: str, label: str, columns: Mapping[str, str], source: str
) -> tuple[pa.Table, list[str]]:
    """Return a table with a row for every worker that its rows list, and a note; one without such lists as it is.

    Parameters
    ----------
    table : pyarrow.Table
    worker, label : str
        The table's columns of lists.
    columns : mapping
        What the source calls the worker's and the label's column.
    source : str
        What to call the source.

    Examples
    --------
    >>> table = pa.table({"item": ["i"], "worker": ["['ann', 'bob']"], "label": ["[['x'], []]"]})
    >>> one_row_each(table, "worker", "label", {}, "a.csv")[0].to_pydict()
    {'item': ['i', 'i'], 'worker': ['ann', 'bob'], 'label': ['x', None]}
    """
    if not {worker, label} <= {*table.column_names} or not holds_listed(table[worker], table[label]):
        return table, []
    names = [shown(columns.get(role, role)) for role in ("worker", "label")]
    pairs = [
        _pairs(who, said, names, f"data row {row} of {source}")
        for row, (who, said) in enumerate(zip(table[worker].to_pylist(), table[label].to_pylist(), strict=True), 1)
    ]
    taken = table.take(pa.array(np.repeat(np.arange(len(pairs)), list(map(len, pairs)))))
    for name, place in ((worker, 0), (label, 1)):
        entries = pa.array([pair[place] for pair in chain(*pairs)], pa.string())
        taken = taken.set_column(taken.column_names.index(name), name, entries)
    rows = counted(table.num_rows, "row became", "rows became")
    note = (
        f"{names[0]} and {names[1]} hold lists, of workers and of their labels in the same order: each pair was read as a row "
        f"of its own, so that {rows} {taken.num_rows:,}."
    )
    return taken, [note]


def _pairs(who: object, said: object, names: Sequence[str], where: str) -> list[tuple[str | None, str | None]]:
    """Return the workers and labels of a row, of which one side may be missing; one pair of nothing where nobody is listed."""
    workers, labels = cell_list(who), cell_list(said)
    for cell, name, fits in ((who, names[0], _are_workers(workers)), (said, names[1], _are_labels(labels))):
        if not (_is_blank(cell) or fits):
            raise DataError(
                f"{names[0]} and {names[1]} hold lists, of workers and of their labels, but in {where} {name} holds "
                f"{shown(cell)}; correct it, or leave the row out."
            )
    if _is_blank(who) or _is_blank(said):
        count = max(len(workers or ()), len(labels or ()), 1)
        workers, labels = workers or [None] * count, labels or [None] * count
    assert workers is not None
    assert labels is not None
    if len(workers) != len(labels):
        raise DataError(
            f"{names[0]} and {names[1]} hold lists, of workers and of their labels, but in {where} they list "
            f"{counted(len(workers), 'worker')} and {counted(len(labels), 'label')}, so that nobody knows whose they are; "
            "correct it, or leave the row out."
        )
    return [(_worker(one), _label(other)) for one, other in zip(workers, labels, strict=True)] or [(None, None)]


def refuse_listed(worker: ArrowColumn, label: ArrowColumn, columns: Mapping[str, str], source: str) -> None:
    """Raise `DataError` where rows list workers and their labels, and are read where each must have one of both."""
    if holds_listed(worker, label):
        raise DataError(
            f"{shown(columns.get('worker', 'worker'))} and {shown(columns.get('label', 'label'))} of {shown_file(source)} hold "
            "lists, of workers and of their labels in the same order; write a row for each first: crowdassay convert."
        )


def sample_of_each(rows: Sequence[Mapping[str, Any]], worker: str, label: str) -> list[Mapping[str, Any]]:
    """Return the first rows of a table with one for every worker that they list; what cannot be paired is left as it is.

    >>> sample_of_each([{"id": 1, "who": "['ann', 'bob']", "said": "[4, 5]"}], "who", "said")
    [{'id': 1, 'who': 'ann', 'said': '4'}, {'id': 1, 'who': 'bob', 'said': '5'}]
    """
    if not _hold_lists([row.get(worker) for row in rows], [row.get(label) for row in rows]):
        return list(rows)
    found: list[Mapping[str, Any]] = []
    for row in rows:
        try:
            pairs = _pairs(row.get(worker), row.get(label), (worker, label), "")
        except DataError:  # which whoever reads it all says
            found.append(row)
            continue
        found += ({**row, worker: who, label: said} for who, said in pairs)
    return found


def proposed_lists(table: pa.Table, missing: Sequence[str], given: Mapping[str, str]) -> str | None:
    """Return the options for the only two columns that list workers and their labels; None where others could be meant.

    >>> rows = [{"of": str([f"w{n}", f"w{n % 3 + 5}"]), "said": "['x', 'x']"} for n in (1, 2, 1, 2)]
    >>> proposed_lists(pa.Table.from_pylist(rows), ("worker", "label"), {})
    "if 'of' lists who labelled and 'said' their labels, say --worker-column 'of' --label-column 'said'"
    """
    known = {
        role: best[0] for role in ("worker", "label") if role not in missing and (best := ROLES[role].best(table.column_names))
    }
    known.update({role: name for role, name in given.items() if role in {"worker", "label"}})
    lists: dict[str, list[Cell]] = {}
    for name in (name for name in table.column_names if is_text(table[name].type)):
        cells = table[name].to_pylist()
        read = list(map(cell_list, cells))
        several = sum(len(one) > 1 for one in read if one is not None)
        if several > 1 and all(map(_is_blank, (cell for cell, one in zip(cells, read, strict=True) if one is None))):
            lists[name] = read
    sizes = {name: [len(one or ()) for one in read] for name, read in lists.items()}
    alike = [pair for pair in combinations(lists, 2) if sizes[pair[0]] == sizes[pair[1]] and {*known.values()} <= {*pair}]
    if len(alike) != 1:
        return None
    one, other = alike[0]
    ways = [(who, said) for who, said in ((one, other), (other, one)) if _tell(lists[who], lists[said])]
    ways = [
        way for way in ways if all(known.get(role, name) == name for role, name in zip(("worker", "label"), way, strict=True))
    ]
    if len(ways) != 1:
        return None
    who, said = ways[0]
    options = f"{ROLES['worker'].option} {shown_file(who)} {ROLES['label'].option} {shown_file(said)}"
    return f"if {shown(who)} lists who labelled and {shown(said)} their labels, say {options}"


def _tell(workers: Sequence[Cell], labels: Sequence[Cell]) -> bool:
    """Return whether lists may name the workers of others: each once in a row, many of them in several, more than classes."""
    if not (all(map(_are_workers, workers)) and all(map(_are_labels, labels))):
        return False
    people = [[_worker(one) for one in cell or ()] for cell in workers]
    said = {_label(one) for cell in labels for one in cell or ()} - {None}
    rows = Counter(chain(*people))
    again = sum(count > 1 for count in rows.values())
    once = all(len(set(names)) == len(names) for names in people) and None not in rows
    return once and again > LEAST_COMING_AGAIN * len(rows) and len(said) < len(rows)
