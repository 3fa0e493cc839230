"""Find the columns that play some roles: by their names, and where names say nothing by what they hold."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, partial
from typing import Any

from crowdassay.errors import ColumnError
from crowdassay.labels.contents import (
    cell_text,
    could_be_items,
    could_be_labels,
    could_be_numbers,
    could_be_texts,
    id_of,
    is_called_label,
    is_id,
    is_kind,
    key_of,
)
from crowdassay.labels.doubts import (
    Sample,
    doubt_among_alike,
    doubt_beside_prediction,
    doubt_beside_rating,
    doubt_gaps,
    doubt_label,
    refuse_kind,
    refuse_rated,
)
from crowdassay.labels.listed_cells import sample_of_each
from crowdassay.labels.roles import (
    ITEM_WORKER_LABEL,
    MAYBE_WORKERS,
    NUMBERED_WORKER,
    RATERS,
    SUBJECTS,
    Role,
    RoleLike,
    plain_name,
    role_of,
)
from crowdassay.labels.sides import (
    choose_sides,
    could_compare,
    doubt_winner,
    fuller_winner,
    only_winner,
    refuse_comparisons,
    says_of_one,
    won_by,
)
from crowdassay.labels.values import listed, shown
from crowdassay.read_options import join_names

ONE_EACH = (*ITEM_WORKER_LABEL, "left", "right", "winner")  # roles that share no column
MADE_OF_SEVERAL = ("item", "worker", "left", "right")  # roles that several columns may play together
FURTHER_PART = "{} {}"  # stands for the role of the second, third ... of the columns that make one together, as in "item 2"


def find_columns(
    names: Sequence[str], roles: Sequence[RoleLike], given: Mapping[str, str | None], sample: Sample | None = None
) -> dict[str, str]:
    """Choose one column for every role.

    Case, spaces, underscores and hyphens are ignored; of a role's spellings the earliest wins. Several columns that make the
    item together have roles of their own, which `item_parts` lists, and so have those that make a side of comparisons.

    Parameters
    ----------
    names : sequence of str
        The columns there are.
    roles : sequence of str or Role
        Names of `crowdassay.labels.roles.ROLES`, or roles of the caller's own.
    given : mapping
        Columns chosen by the user, by the role's name; they override.
    sample : callable, optional
        Returns some rows. Where no name says what the label is, it is the only column that could be one: `could_be_labels`.

    Raises
    ------
    ColumnError
        If a column is missing, or two match equally well.

    Examples
    --------
    >>> find_columns(["HITId", "WorkerId", "answer"], ["item", "worker", "label"], {})
    {'item': 'HITId', 'worker': 'WorkerId', 'label': 'answer'}
    """
    wanted = [role_of(role) for role in roles]
    chosen = _choose_by_name(names, wanted, given)
    needed = {role.name for role in wanted if role.required}
    sample = sample and cache(sample)
    if sample is not None and "worker" in needed and "worker" not in chosen:
        _choose_workers(names, chosen, sample)
    if sample is not None and "worker" in chosen and not given.get("worker"):
        chosen["worker"] = _fuller_worker(chosen["worker"], free_of(names, chosen), sample)
    if sample is not None and {"left", "right"} <= needed:
        _choose_compared(names, chosen, given, sample)
    if sample is not None and {"worker", "label"} <= chosen.keys():
        sample = cache(partial(_sample_of_each, sample, chosen["worker"], chosen["label"]))
    missing = [role for role in wanted if role.required and role.name not in chosen]
    if sample is not None and needed.issuperset(ITEM_WORKER_LABEL[::2]) and not given.get("label"):
        _refuse_comparisons(names, chosen, sample)
    if sample is not None and "worker" in chosen:
        _choose_beside_worker(names, wanted, chosen, given, sample)
    elif sample is not None and "worker" not in needed and {"item", "label"} <= chosen.keys() and not given.get("label"):
        # Every worker has a file.
        doubt_label(chosen, _items(chosen), free_of(names, chosen), sample)
    if any(role.name not in chosen for role in missing):
        from crowdassay.labels.not_found import not_found  # noqa: PLC0415 - seldom needed

        raise not_found(names, wanted, chosen, given, [] if sample is None else sample())
    if sample is not None and is_kind(chosen.get("label", "")) and not given.get("label"):
        refuse_kind(chosen, _items(chosen), free_of(names, chosen), sample())
    if sample is not None and "worker" not in chosen and any(role.name == "maybe worker" for role in wanted):
        _note_comparers(names, chosen, sample)
    further = {part: chosen[part] for parts in several_parts(chosen).values() for part in parts[1:]}
    return {role.name: chosen[role.name] for role in wanted if role.name in chosen} | further


def _choose_beside_worker(
    names: Sequence[str], wanted: Sequence[Role], chosen: dict[str, str], given: Mapping[str, str | None], sample: Sample
) -> None:
    """Choose item and label beside a worker where names do not tell them, and doubt what was guessed."""
    needed = {role.name for role in wanted if role.required}
    if plain_name(chosen.get("item", "")) == "id" and not given.get("item"):
        _refuse_row_numbers(sample, chosen["item"], chosen["worker"], names)
    if "label" in needed and not given.get("worker"):
        beside = {chosen["worker"], *_items(chosen)}
        refuse_rated(chosen["worker"], [name for name in names if name not in beside], sample())
    by_name = "label" in chosen
    if needed - chosen.keys():
        _choose_by_content(names, wanted, chosen, sample)
    if "label" in chosen and "label" in needed and not given.get("worker"):
        doubt_gaps(chosen["worker"], chosen["label"], sample)
    if "label" in chosen and not given.get("label"):
        _doubt_label(names, chosen, sample, by_name=by_name)


def _doubt_label(names: Sequence[str], chosen: dict[str, str], sample: Sample, *, by_name: bool) -> None:
    """Look at a guessed label beside a worker, in every way in which it may be something else."""
    items = _items(chosen)
    if by_name and items:
        doubt_label(chosen, items, free_of(names, chosen), sample)
    doubt_beside_rating(chosen["label"], items, free_of(names, chosen), sample)
    doubt_beside_prediction(chosen["label"], free_of(names, chosen), sample)
    if items:
        doubt_among_alike(chosen, items, free_of(names, chosen), sample)


def item_parts(columns: Mapping[str, Any], of: str = "item") -> list[str]:
    """List the roles of the columns that make the item, or a side, together: its own, and what `find_columns` added to it."""
    return [role for role in (of, *(FURTHER_PART.format(of, n) for n in range(2, len(columns) + 1))) if role in columns]


def several_parts(columns: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the roles that several columns play together, each with the roles of these columns.

    >>> several_parts({"left": "model", "left 2": "prompt", "right": "other"})
    {'left': ['left', 'left 2']}
    """
    return {role: parts for role in MADE_OF_SEVERAL if len(parts := item_parts(columns, role)) > 1}


def join_parts(columns: Mapping[str, str]) -> dict[str, str]:
    """Return columns by role with one name for what several columns make, by which the same columns are found again.

    >>> join_parts({"item": "model", "worker": "who", "item 2": "prompt"})
    {'item': 'model,prompt', 'worker': 'who'}
    """
    several = several_parts(columns)
    further = {part for parts in several.values() for part in parts[1:]}
    return {role: join_names([columns[part] for part in several.get(role, [role])]) for role in columns if role not in further}


def split_names(given: str, names: Sequence[str]) -> list[str]:
    """Return the columns that a user named, separated by commas; a column whose name holds a comma is itself, or is quoted.

    >>> split_names("model, prompt", ["model", "prompt"]), split_names("a,b", ["a", "b", "a,b"])
    (['model', 'prompt'], ['a,b'])
    """
    if given in names:
        return [given]
    bare = {name.strip(): name for name in names}
    parts = [bare.get(part.strip(), part.strip()) for part in next(csv.reader([given], skipinitialspace=True), [given])]
    return parts if len(parts) > 1 and all(parts) else [given]


def check_given(role: RoleLike, name: str, names: Sequence[str]) -> None:
    """Raise `ColumnError` where the column that a user chose for a role is not there, or there more than once."""
    if name not in names:
        near = difflib.get_close_matches(plain_name(name), [plain_name(other) for other in names], 1)
        hint = f"; did you mean {shown(next(other for other in names if plain_name(other) == near[0]))}?" if near else "."
        one = role_of(role)
        option = "" if one.option in {None, f"--{one.name}-column"} else f" ({one.option})"
        raise ColumnError(f"There is no column {shown(name)} for the {one.name}{option}; the columns are {listed(names)}{hint}")
    if list(names).count(name) > 1:
        raise ColumnError(f"There are several columns named {shown(name)}; rename all but one.")


def matching_columns(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the columns that patterns such as 'rater*' stand for; one that stands for none is refused.

    >>> matching_columns(["item", "rater1", "rater2"], ["rater*"]), matching_columns(["tone [a]", "tone [b]"], ["tone [a]"])
    (['rater1', 'rater2'], ['tone [a]'])
    """
    matching: set[str] = set()
    for pattern in patterns:
        found = {pattern}.intersection(names) or {name for name in names if fnmatchcase(name, pattern)}
        if not found:
            raise ColumnError(f"No column is named {shown(pattern)}; the columns are {listed(names)}.")
        matching |= found
    return [name for name in names if name in matching]


def _choose_by_name(names: Sequence[str], wanted: Sequence[Role], given: Mapping[str, str | None]) -> dict[str, str]:
    """Take the columns that were given, and of the others those that are called like a role."""
    chosen: dict[str, str] = {}
    for role in wanted:
        asked = given.get(role.name)
        if asked is None:
            continue
        parts = split_names(asked, names) if role.name in MADE_OF_SEVERAL else [asked]
        for number, name in enumerate(parts, 1):
            check_given(role, name, names)
            several = several_parts(chosen)
            whole = {part: made for made, own in several.items() for part in own}
            rivals = [whole.get(other, other) for other, taken in chosen.items() if taken == name]
            if rivals and rivals[0] == role.name:
                raise ColumnError(f"The column {shown(name)} is named twice for the {role.name}; name it once.")
            # Both sides may hold the topic, and a session may tell items and workers apart.
            beside = role.name not in ONE_EACH or (role.name in {"right", "worker"} and len(parts) > 1)
            if rivals and not (rivals[0] in several and beside):
                raise ColumnError(
                    f"The column {shown(name)} cannot be both the {rivals[0]} and the {role.name}; name another for one."
                )
            chosen[role.name if number == 1 else FURTHER_PART.format(role.name, number)] = name
    for role in wanted:
        best = [] if role.name in chosen else role.best(free_of(names, chosen))
        if role.name == "worker" and best and plain_name(best[0]) in role.late_words and _has_raters(names, best):
            continue  # a model that people have rated
        if len(best) > 1 and role.kind in {"time", "number", "text"} and not role.required:
            continue  # what only goes beside the labels is left aside in case of doubt
        if len(best) > 1 and len(set(best)) == 1:
            raise ColumnError(f"There are several columns named {shown(best[0])}; rename all but one.")
        if len(best) > 1:
            decide = f"choose one with {role.option}" if role.option else f"rename the right one '{role.name}'"
            raise ColumnError(f"The columns {listed(best)} could both be the {role.name} column; {decide}.")
        if best:
            chosen[role.name] = best[0]
    return chosen


def _choose_workers(names: Sequence[str], chosen: dict[str, str], sample: Sample) -> None:
    """Take the subjects of an experiment as workers, and their like: each judged several items once, and items have several."""
    possible = maybe_workers(free_of(names, chosen))
    if len(possible) != 1:
        return
    # Without an item by name, what several ids tell together may be one; trials are numbered anew for each subject.
    ids = [] if plain_name(possible[0]) in SUBJECTS else [name for name in free_of(names, chosen) if is_id(name)]
    items = _items(chosen) or ids
    rows = sample() if items else []
    pairs = {(key_of(row, items), id_of(row.get(possible[0]))) for row in rows}
    several = [2 * len({pair[at] for pair in pairs}) <= len(rows) for at in (0, 1)]
    if rows and len(pairs) == len(rows) and all(several):
        chosen["worker"] = possible[0]


def _fuller_worker(worker: str, names: Sequence[str], sample: Sample) -> str:
    """Return the column of workers: another that is called so and names the same people, where the first is empty in some rows.

    >>> rows = [{"user_id": "7", "user_name": "ann"}, {"user_id": "", "user_name": "not-logged-in-1"}]
    >>> _fuller_worker("user_id", ["user_name"], lambda: rows)
    'user_name'
    """
    role = role_of("worker")
    others = [name for name in names if plain_name(name) in role.spellings and plain_name(name) not in role.late_words]
    rows = sample() if others else []
    if not any(cell_text(row.get(worker)) is None for row in rows):
        return worker
    for name in others:
        both = {(cell_text(row.get(worker)), cell_text(row.get(name))) for row in rows}
        named = [pair for pair in both if pair[0] is not None]
        full = all(pair[1] is not None for pair in both)
        if full and named and len({one for one, _ in named}) == len(named) == len({other for _, other in named}):
            return name
    return worker


def maybe_workers(names: Sequence[str]) -> list[str]:
    """Return the columns that are called like workers, and like other things as well."""
    return [name for name in names if plain_name(name) in MAYBE_WORKERS]


def _choose_compared(names: Sequence[str], chosen: dict[str, str], given: Mapping[str, str | None], sample: Sample) -> None:
    """Take the two sides of comparisons that are named alike, and of what may tell the winner the column without gaps.

    Besides, a winner's column that says whether one side won is noted as such.
    """
    if not {"left", "right"} & chosen.keys() and (sides := choose_sides(free_of(names, chosen), sample())) is not None:
        chosen["left"], chosen["right"] = sides
    if {"left", "right"} <= chosen.keys():
        # A side that several columns make is named by none of them.
        compared = [] if {"left", "right"} & several_parts(chosen).keys() else [chosen["left"], chosen["right"]]
        if not given.get("winner"):
            _choose_winner(names, chosen, sample, compared)
        won = chosen.get("winner", "")
        if won_by(won, compared) is not None and says_of_one(won, names, sample(), compared):
            chosen["one side won"] = won


def _note_comparers(names: Sequence[str], chosen: dict[str, str], sample: Sample) -> None:
    """Note who may have compared where nobody is named: the column that is called so, or one that may hold anybody."""
    from crowdassay.labels.proposals import maybe_comparer, unnamed_comparer  # noqa: PLC0415 - stands on this module

    if (who := maybe_comparer(names, chosen, sample)) is not None:
        chosen["maybe worker"] = who
    elif (who := unnamed_comparer(names, chosen, sample)) is not None:
        chosen["unnamed worker"] = who


def _choose_winner(names: Sequence[str], chosen: dict[str, str], sample: Sample, compared: Sequence[str]) -> None:
    """Take the column that says who won beside two sides that are known."""
    if "winner" not in chosen and (winner := only_winner(free_of(names, chosen), sample(), compared)) is not None:
        chosen["winner"] = winner
    elif "winner" in chosen:
        chosen["winner"] = fuller_winner(chosen["winner"], free_of(names, chosen), sample(), compared)
    if "winner" in chosen:
        doubt_winner(chosen["winner"], free_of(names, chosen), sample(), compared)


def _refuse_comparisons(names: Sequence[str], chosen: Mapping[str, str], sample: Sample) -> None:
    """Raise `ColumnError` where the label, or what may be one if no name tells it, says which of two sides won."""
    label = chosen.get("label", "")
    if could_compare(names):
        refuse_comparisons(names, sample(), label if label and not is_kind(label) else None, free_of(names, chosen))


def _sample_of_each(sample: Sample, worker: str, label: str) -> Sequence[Mapping[str, Any]]:
    """Return some rows as they will be read: one for each worker that they list."""
    return sample_of_each(sample(), worker, label)


def _choose_by_content(names: Sequence[str], wanted: Sequence[Role], chosen: dict[str, str], sample: Sample) -> None:
    """Choose an item or a label column that no name tells, where only one can be meant."""
    missing = [role.name for role in wanted if role.required and role.name not in chosen]
    if "item" in missing:
        shared = could_be_items(sample(), chosen["worker"], free_of(names, chosen))
        if len(shared) == 1:
            chosen["item"] = shared[0]
            missing.remove("item")
    if missing == ["label"] and "item" in chosen:
        rows, beside = sample(), (_items(chosen), chosen["worker"], free_of(names, chosen))
        possible = could_be_labels(rows, *beside)
        possible += [name for name in could_be_numbers(rows, *beside) if possible and name not in possible]
        if len(of_workers := [name for name in possible if is_of_numbered(name)]) > 1:
            raise ColumnError(
                f"{listed(of_workers)} are named after workers of their own, beside {shown(chosen['worker'])}; if that is who "
                "labelled, choose the label with --label-column."
            )
        if len(possible) > 1:
            possible.sort(key=is_called_label, reverse=True)
            several = len({id_of(row.get(chosen["worker"])) for row in rows}) > 1
            differ = "differ between workers on the same item" if several else "differ between rows of the same item"
            raise ColumnError(
                f"Several columns could be the label ({listed(possible)}): they {differ}; choose one with --label-column."
            )
        if possible:
            chosen["label"] = possible[0]


def _has_raters(names: Sequence[str], beside: Sequence[str]) -> bool:
    """Return whether columns are called after raters who are not the worker column, as ``rater_note``."""
    return any(RATERS.intersection(re.split(r"[\s_\-]+", name.casefold())) for name in names if name not in beside)


def _refuse_row_numbers(sample: Sample, item: str, worker: str, names: Sequence[str]) -> None:
    """Raise `ColumnError` where the column `id` numbers the rows, and several workers share what another id or text tells."""
    rows = sample()
    others = [name for name in names if name not in {item, worker}]
    shared = could_be_items(rows, worker, others) or could_be_items(rows, worker, others, once=False)
    shared = shared or could_be_texts(rows, worker, others)
    if shared and len(rows) > 1 and len({id_of(row.get(item)) for row in rows}) == len(rows):
        raise ColumnError(
            f"The column {shown(item)} is different in every row, so that no item would have two labels; if {listed(shared)} "
            "tells items apart, name it with --item-column, as you may name 'id'."
        )


def _items(chosen: Mapping[str, str]) -> list[str]:
    return [chosen[part] for part in item_parts(chosen)]


def free_of(names: Sequence[str], chosen: Mapping[str, str]) -> list[str]:
    """Return the columns that were not chosen for any role."""
    return [name for name in names if name not in chosen.values()]


def is_of_numbered(name: str) -> bool:
    """Return whether a column is named after one of several workers besides what was asked, as ``tag_ann1`` is.

    >>> is_of_numbered("tag_ann1"), is_of_numbered("Annotator2_rude"), is_of_numbered("annotator1")
    (True, True, False)
    """
    parts = re.split(r"[\s_\-.]+", name)
    return len(parts) > 1 and any(map(NUMBERED_WORKER.fullmatch, parts))
