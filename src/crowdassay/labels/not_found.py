"""What is said where columns that are needed were not found: what there is, what may be meant, and the options that name it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from crowdassay.errors import ColumnError
from crowdassay.labels.columns import MADE_OF_SEVERAL, free_of, is_of_numbered, item_parts
from crowdassay.labels.contents import cell_text, could_hold, is_called_label, is_count, is_id, is_kind, is_of_items
from crowdassay.labels.roles import ROLES, Role, plain_name
from crowdassay.labels.side_proposals import compared_said
from crowdassay.labels.values import are_numbers, listed, shown

NEAR_ENOUGH = 0.8  # similarity from which on a name is worth suggesting
ROWS_TO_JUDGE = 5  # rows from which on values say what a column cannot be


def not_found(
    names: Sequence[str],
    wanted: Sequence[Role],
    chosen: Mapping[str, str],
    given: Mapping[str, str | None],
    rows: Sequence[Mapping[str, Any]],
) -> ColumnError:
    """Return the error for required columns that were not found; of comparisons with what may be the sides and the winner."""
    error = _missing(names, wanted, chosen, given, rows)
    if not {"left", "right"} <= {role.name for role in wanted if role.required}:
        return error
    said = " ".join([error.message, *compared_said(names, chosen, given, rows)])
    return ColumnError(said, missing=error.missing, found_nothing=error.found_nothing, hint=error.hint)


def _missing(
    names: Sequence[str],
    wanted: Sequence[Role],
    chosen: Mapping[str, str],
    given: Mapping[str, str | None],
    rows: Sequence[Mapping[str, Any]],
) -> ColumnError:
    """Return the error that names the required columns that were not found, what may be meant, and the options."""
    needed = [role for role in wanted if role.required]
    missing = [role for role in needed if role.name not in chosen]
    absent = tuple(role.name for role in missing)
    if len(missing) == len(needed) > 1:
        looks = " or ".join([", ".join(absent[:-1]), absent[-1]])
        article = "an" if absent[0][0] in "aeiou" else "a"
        return ColumnError(
            f"None of the columns ({listed(names)}) looks like {article} {looks} column; {_remedy(missing, several=True)}.",
            missing=absent,
            found_nothing=True,
        )
    role = missing[0]
    for other in wanted:
        if given.get(other.name) is not None and role.is_named(chosen[other.name]):
            return ColumnError(
                f"No column is called like the {role.name} but {shown(chosen[other.name])}, which {other.option} names; "
                f"{_remedy(missing, several=len(missing) > 1)}.",
                missing=absent,
            )
    likeness = {
        name: max(difflib.SequenceMatcher(None, plain_name(name), word).ratio() for word in role.spellings)
        for name in free_of(names, chosen)
        if plain_name(name) not in role.late_words and not is_count(name)  # which was passed over
    }
    best = max(likeness.values(), default=0.0)
    nearest = [name for name, like in likeness.items() if like == best >= NEAR_ENOUGH]
    few = len(rows) < ROWS_TO_JUDGE
    near = len(nearest) == 1 and (few or _could_be_meant(role, rows, nearest[0], chosen))  # of several alike none is meant
    ids = [name for name in free_of(names, chosen) if is_id(name)] if role.name == "item" else []
    ids = [name for name in ids if few or _could_be_meant(role, rows, name, chosen)]  # which that of a round is not
    near = near and (nearest[0] in ids or not ids)  # beside an id another name says little
    hint = f"; the nearest is {shown(nearest[0])}" if near else ""
    of_item = f"; by its name the item may be {shown(ids[0])}" if len(ids) == 1 and not near else ""
    if missing[-1].name == "label" and not near:
        hint = _labels_said(names, chosen, [] if few else rows, alone=len(missing) == 1)
    hint = of_item + hint
    remedy = _remedy(missing, several=len(missing) > 1)
    if (
        not hint
        and role.name == "worker"
        and (rated := [n for n in free_of(names, chosen) if plain_name(n) in role.late_words])
    ):
        hint = f"; {listed(rated)} may be what others rated, or the worker"
    said = f"No {' or '.join(absent)} column found among {listed(names)}{hint}; {remedy}."
    return ColumnError(said, missing=absent, hint=hint)


def _could_be_meant(role: Role, rows: Sequence[Mapping[str, Any]], name: str, chosen: Mapping[str, str]) -> bool:
    """Return whether a column whose name is nearly a role's may be meant: it varies, and no name is empty."""
    cells = {cell_text(row.get(name)) for row in rows}
    return could_hold(role.name, rows, name, chosen) and len(cells) > 1 and not (role.kind == "name" and None in cells)


def _labels_said(names: Sequence[str], chosen: Mapping[str, str], rows: Sequence[Mapping[str, Any]], *, alone: bool) -> str:
    """Return what may be the label, after a semicolon: first columns that are called so, however many values they have.

    Where other columns are missing as well, several that could hold it may be theirs, and are not said.
    """
    # Where rows are models' and no item is known, it is hardly what they said: settings and results are not offered.
    results = plain_name(chosen.get("worker", "")) in ROLES["worker"].late_words and "item" not in chosen
    free = [name for name in free_of(names, chosen) if not (is_kind(name) or is_count(name) or is_of_numbered(name))]
    called = [name for name in free if is_called_label(name) and (not rows or _may_be_rating(name, rows, chosen))]
    held = [name for name in free if name not in called and not results and could_hold("label", rows, name, chosen)]
    held = held if alone or len(held) == 1 else []
    items = [chosen[part] for part in item_parts(chosen)]
    facts = [name for name in held if items and "worker" in chosen and is_of_items(rows, items, name)]
    if facts and facts == held and not called:
        return f"; {listed(facts)} {'is' if len(facts) == 1 else 'are'} the same in all rows of an item, as what is known of it"
    held = [name for name in held if name not in facts]
    by_name = f"by {'its name' if len(called) == 1 else 'their names'} the label may be {listed(called, 8)}" if called else ""
    by_content = f"by what it holds {'' if called else 'the label may be '}{listed(held, 8)}" if held else ""
    return "".join(f"{mark} {said}" for mark, said in ((";", by_name), ("," if called else ";", by_content)) if said)


def _may_be_rating(name: str, rows: Sequence[Mapping[str, Any]], chosen: Mapping[str, str]) -> bool:
    """Return whether a column holds several numbers, however many, or what may be labels otherwise."""
    cells = {cell for row in rows if (cell := cell_text(row.get(name))) is not None}
    return len(cells) > 1 and (are_numbers(cells) or could_hold("label", rows, name, chosen))


def _remedy(missing: Sequence[Role], *, several: bool) -> str:
    options = [role.option for role in missing if role.option is not None]
    if len(options) < len(missing):
        return f"rename {'them' if several else 'it'} {listed([role.name for role in missing])}"
    joint = next((role.name for role in missing if role.name in MADE_OF_SEVERAL), None)
    more = f" (several columns that make the {joint} together as a,b)" if joint == "item" else ""
    if not several:
        return f"name it with {options[0]}{more}"
    return f"name them with {' and '.join([', '.join(options[:-1]), options[-1]])}{more}"
