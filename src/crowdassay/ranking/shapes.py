"""The shapes in which comparisons come: a winner, a winner and a loser, a winner in each order, and Label Studio's export."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import ColumnError, CrowdassayError, DataError, ParameterError
from crowdassay.labels.cells import ArrowColumn, without
from crowdassay.labels.columns import matching_columns, split_names
from crowdassay.labels.formats.not_workers import is_nothing
from crowdassay.labels.roles import JUDGE_MODELS, ROLES, Role, plain_name
from crowdassay.labels.side_proposals import split_both
from crowdassay.labels.sides import WON_AND_LOST, turned_round
from crowdassay.labels.study_columns import Columns, encode_numbers, names_of_columns, read_columns
from crowdassay.labels.values import as_text, mapping, shown, shown_file, text_of
from crowdassay.read_options import AS_IT_IS, Opening, join_names

# A column named like a model, and no more, is no judge's here: it may be one of the two that are compared.
VOTER = replace(ROLES["worker"], required=False, late_endings=(), late_words=JUDGE_MODELS)
PAIR_ROLES = (
    ROLES["left"],
    ROLES["right"],
    ROLES["winner"],
    VOTER,
    Role("group", "--group", required=False),
    ROLES["question"],
    # What `find_columns` notes besides: that the winner's column says true or false of one side, and who may have compared.
    Role("one side won", None, required=False),
    Role("maybe worker", None, required=False),
    Role("unnamed worker", None, required=False),  # where no name tells that it may be anybody's
)
NOTED = tuple(role.name for role in PAIR_ROLES[-3:])
AFTER = (("_left", "_right"), ("_a", "_b"), (" left", " right"), ("_1", "_2"))
BEFORE = (("left_", "right_"), ("a_", "b_"))
BOTH_ORDERS = (Role("winner", None, ("g1winner",)), Role("winner turned round", None, ("g2winner",)))
LEFT_SCORE = "left's number"
SIDE_NUMBERS = tuple(Role(name, "--winner-column", kind="number") for name in (LEFT_SCORE, "right's number"))
BOTH_IN_ONE = Role("both sides", "--left-column")
MOST_VOTERS = 50
VOTES = ("winner", "vote", "preference", "preferred", "verdict")
FROM_NOUGHT, FROM_ONE = (  # with one more than may be, so that none is left out without a word
    tuple(
        Role(f"winner {n}", None, tuple(f"{word}{n}" for word in VOTES), required=n < first + 2)
        for n in range(first, first + MOST_VOTERS + 1)
    )
    for first in (0, 1)
)
Given = dict[str, str | None]


def read_pair_columns(
    data: object, given: Given, style: Sequence[str], opening: Opening = AS_IT_IS, voters: Sequence[str] = ()
) -> Columns:
    """Read the columns of comparisons; those of the shape of a tool are known by their names.

    A table has the columns left, right and winner, with the columns of every style. Where both orders of a pair are in one row,
    ``winner turned round`` is who won in the second; where two columns of numbers say who won, the winner is the left one's
    less the right one's, and the numbers are there besides; where each of several voters has a column these are ``winner 1``,
    ``winner 2`` ..., and nobody else is a worker unless a column is named; where only the winner and the loser are known there
    are ``winner`` and ``loser``, and neither left nor right.
    """
    if voters:
        return _read_voters(data, voters, given, style, opening)
    if isinstance(data, str | Path) and (columns := _read_label_studio(data, given)) is not None:
        if opening != AS_IT_IS:
            raise ParameterError(f"{opening.refusal()}, and {shown(columns.source)} is none; leave it out.")
        if given["group"] is not None or given["question"] is not None or style:
            raise ParameterError(
                "--group, --cluster and --style go with plain tables; a Label Studio export has no such columns."
            )
        return columns
    try:
        return _read_shapes(data, given, style, opening)
    except DataError:
        if (table := _without_lists(data)) is None:
            raise
        return replace(_read_shapes(table, given, style, AS_IT_IS), source=Path(str(data)).name)


def _read_shapes(data: object, given: Given, style: Sequence[str], opening: Opening) -> Columns:
    """Read the columns in the first shape that fits; where none does, what is said is about left, right and winner."""
    beside = PAIR_ROLES[3:]
    if given["left"] is not None and given["left"] == given["right"]:
        return _read_both(data, given, style, opening)
    named = {name for name in ("left", "right", "winner") if given[name] is not None}
    if named == {"left", "right", "winner"} and given["winner"] in {given["left"], given["right"]}:  # who won is on one side
        loser = given["right"] if given["winner"] == given["left"] else given["left"]
        return _read_with_style(
            data, (*WON_AND_LOST, *beside), {**given, "loser": loser, "left": None, "right": None}, style, opening
        )
    try:
        return _read_with_style(data, PAIR_ROLES, given, style, opening)
    except ColumnError as plain:
        if len(scores := split_names(given["winner"] or "", ())) == len(SIDE_NUMBERS):
            return _read_scores(data, scores, given, style, opening)
        if not plain.missing:
            raise
        by_voter = beside if given["worker"] is not None else beside[1:]
        more = ((BOTH_ORDERS, beside), (FROM_NOUGHT, by_voter), (FROM_ONE, by_voter))
        several = [(*PAIR_ROLES[:2], *votes, *others) for votes, others in more if given["winner"] is None]
        for roles in [*several, *([] if named & {"left", "right"} else [(*WON_AND_LOST, *beside)])]:
            try:
                return _no_more_voters(_read_with_style(data, roles, given, style, opening))
            except ColumnError:
                continue
        raise


def _read_scores(data: object, scores: Sequence[str], given: Given, style: Sequence[str], opening: Opening) -> Columns:
    """Read a column of numbers for each side, the larger one of which won."""
    named = dict(zip((role.name for role in SIDE_NUMBERS), scores, strict=True))
    columns = _read_with_style(data, (*PAIR_ROLES[:2], *SIDE_NUMBERS, *PAIR_ROLES[3:]), {**given, **named}, style, opening)
    compared = [columns.names[side] for side in ("left", "right")]
    if turned_round(compared, scores):
        raise ColumnError(
            f"{shown(scores[0])} is named like the right side, {shown(compared[1])}, and the left one's numbers come first; "
            f"say --winner-column {shown_file(join_names(scores[::-1]))}."
        )
    left, right = (encode_numbers(_numbers_of(columns.table[role.name]), role.name, columns.source) for role in SIDE_NUMBERS)
    names = {role: name for role, name in columns.names.items() if role not in named}
    winner = pa.array(left - right, from_pandas=True)  # missing where one is
    return replace(columns, table={**columns.table, "winner": winner}, names={**names, "winner": join_names(scores)})


def _read_voters(data: object, voters: Sequence[str], given: Given, style: Sequence[str], opening: Opening) -> Columns:
    """Read columns of which each holds the votes of one worker, by their names or by patterns."""
    if named := next((role for role in ("winner", "worker") if given[role] is not None), None):
        raise ParameterError(
            f"--worker-columns says who won by whom, so that --{named}-column says nothing; leave out one of the two."
        )
    names = matching_columns(names_of_columns(data, opening), voters)
    votes = {f"winner {n}": name for n, name in enumerate(names, 1)}
    roles = [Role(role, "--worker-columns") for role in votes]
    beside = [role for role in PAIR_ROLES[4:] if role.name not in NOTED]
    columns = _read_with_style(data, (*PAIR_ROLES[:2], *roles, *beside), {**given, **votes}, style, opening)
    return replace(_no_more_voters(columns), names=columns.names | {"worker": "column"})


def _read_both(data: object, given: Given, style: Sequence[str], opening: Opening) -> Columns:
    """Read a column whose cells hold the names of both sides."""
    own = {**given, BOTH_IN_ONE.name: given["left"], "left": None, "right": None}
    columns = _read_with_style(data, (BOTH_IN_ONE, *PAIR_ROLES[2:]), own, style, opening)
    cells = as_text(columns.table[BOTH_IN_ONE.name]).to_pylist()
    there = [cell for cell in dict.fromkeys(cells) if cell is not None and cell.strip()]
    if (both := split_both(there)) is None:
        wrong = next((cell for cell in there if split_both([cell]) is None), there[0] if there else "")
        raise DataError(
            f"{shown(columns.names[BOTH_IN_ONE.name])} is named for both sides, so that each of its cells must hold two names "
            f"with the same mark between them, such as a comma, and {shown(wrong)} does not; correct it, or name two columns."
        )
    named = dict(zip(there, both, strict=True))
    halves = [named.get(cell, (None, None)) for cell in cells]
    sides = {side: pa.array([one[n] for one in halves], pa.string()) for n, side in enumerate(("left", "right"))}
    table = {role: column for role, column in columns.table.items() if role != BOTH_IN_ONE.name}
    names = {role: name for role, name in columns.names.items() if role != BOTH_IN_ONE.name}
    return replace(columns, table=sides | table, names=dict.fromkeys(sides, columns.names[BOTH_IN_ONE.name]) | names)


def _numbers_of(column: ArrowColumn) -> ArrowColumn:
    """Return a column of numbers whose cells are empty where they say that there is none, such as NA."""
    return without(column, [cell for cell in as_text(pc.unique(column)).to_pylist() if cell is not None and is_nothing(cell)])


def _no_more_voters(columns: Columns) -> Columns:
    """Return the columns, refusing more voters than are read."""
    if sum(role.startswith("winner ") for role in columns.names) > MOST_VOTERS:
        first = shown(columns.names[FROM_ONE[0].name])
        raise DataError(
            f"{shown(columns.source)} has columns of more than {MOST_VOTERS} voters, {first} and more; give each vote a row of "
            "its own, with columns winner and worker."
        )
    return columns


def _without_lists(data: object) -> pa.Table | None:
    """Return the records of a JSON file whose cells are lists, such as a judge and its prompt; None of other files.

    A list that begins with a text stands for that text, other lists for what they look like. An object is no name of anything,
    so that only a question may be one.
    """
    from crowdassay.labels.jsontext import flat  # noqa: PLC0415
    from crowdassay.labels.probe import probe  # noqa: PLC0415

    is_question = ROLES["question"].is_named
    if not isinstance(data, str | Path) or Path(data).suffix not in {".json", ".jsonl", ".ndjson"}:
        return None
    try:
        records = [flat(record) for record in probe(Path(data)).rows()]
    except CrowdassayError:
        return None  # whose plain reader says what is wrong with it
    cells = [cell for record in records for cell in record.values()]
    if not any(isinstance(cell, list | dict) for cell in cells):
        return None
    objects = {name for record in records for name, cell in record.items() if isinstance(cell, dict)}
    names = dict.fromkeys(name for record in records for name in record if name not in objects or is_question(name))
    return pa.table({name: pa.array([_plain_cell(record.get(name)) for record in records], pa.string()) for name in names})


def _plain_cell(cell: object) -> str | None:
    if isinstance(cell, list) and cell and isinstance(cell[0], str):
        return cell[0]
    return None if cell is None else json.dumps(cell) if isinstance(cell, list | dict) else text_of(cell)


def _read_with_style(data: object, roles: Sequence[Role], given: Given, style: Sequence[str], opening: Opening) -> Columns:
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
                read_columns(data, _style_roles(more), more, "comparisons", opening)
            except ColumnError:
                continue
            sides |= more
            break
        else:
            raise ColumnError(f"There is no column {shown(name)} (--style), nor a pair such as {name}_left and {name}_right.")
    return read_columns(data, [*roles, *_style_roles(sides)], given | sides, "comparisons", opening)


def _style_roles(names: Iterable[str]) -> list[Role]:
    return [Role(name, "--style", kind="number") for name in names]


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
    rows: list[tuple[str | None, ...]] = []
    for task in seen.records():
        data = mapping(task.get("data"))
        for annotation in task.get("annotations", task.get("completions")) or []:
            if annotation.get("was_cancelled") or annotation.get("skipped"):
                continue
            for entry in annotation.get("result") or []:
                value = entry.get("value")
                if not isinstance(value, dict) or "selected" not in value:
                    continue
                who = label_studio.annotator_of(annotation.get("completed_by"))
                compared = _compared(entry, data, given, path.name)
                rows.append((*compared, str(value["selected"]), None if who is None else str(who)))
    if not rows:
        raise DataError(f"There were no pairwise answers found in {shown(path.name)}; was it exported from another project?")
    names = {"left": given["left"] or "data", "right": given["right"] or "data", "winner": "selected", "worker": "completed_by"}
    columns = zip(names, zip(*rows, strict=True), strict=True)
    return Columns({role: pa.array(values, pa.string()) for role, values in columns}, names, path.name)


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
