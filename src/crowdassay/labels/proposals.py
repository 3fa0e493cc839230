"""Propose item, worker and label columns where no name tells all of them, by names that may tell and by what columns hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.labels.contents import (
    cell_text,
    could_be_labels,
    could_be_numbers,
    could_hold,
    id_of,
    is_called_label,
    is_count,
    is_id,
    is_kind,
    is_position,
    key_of,
    tells_time,
    words_of,
)
from crowdassay.labels.delimited import FIRST_ROWS
from crowdassay.labels.doubts import Sample
from crowdassay.labels.extras import EARLIEST_MOMENT, find_times
from crowdassay.labels.merged import merging_part
from crowdassay.labels.roles import ITEM_WORKER_LABEL, MAYBE_WORKERS, ROLES, plain_name
from crowdassay.labels.sides import alike, says_who_won
from crowdassay.labels.telling import (
    AGAIN_WORDS,
    MOST_JOINED_FOR_NOTE,
    OF_ROWS,
    codes_of,
    item_ways,
    n_pairs,
    names_items,
    telling_columns,
)
from crowdassay.labels.values import are_numbers, listed, number_of, shown, shown_file
from crowdassay.read_options import join_names
from crowdassay.text import joined

# Words for people that other things are called after too, so that they are proposed and never taken.
PEOPLE = frozenset(
    {
        "subject", "subj", "person", "member", "juror", "reader", "respondent", "pid", "ppt", "sid", "uid",
        "subid", "subjid", "ppid",
        "prolific", "mturk", "employee", "who", "initials", "informant", "volunteer", "moderator", "curator",
        "auditor", "panelist",
        "panellist", "taster", "consumer", "clinician", "physician", "radiologist", "pathologist", "referee", "analyst",
        "observer", "examiner", "marker", "tester", "screener", "interviewer", "spectator", "viewer", "watcher", "teacher",
        "inspector", "checker", "verifier", "critic", "jury", "doctor", "nurse", "dermatologist", "ophthalmologist",
        "cardiologist", "sonographer", "veterinarian", "psychologist", "psychiatrist", "linguist", "researcher", "proband",
        *MAYBE_WORKERS, *ROLES["worker"].words,
        # In other languages.
        "anotador", "anotadora", "evaluador", "evaluadora", "juez", "usuario", "participante", "avaliador", "usuário",
        "annotateur", "annotatrice", "évaluateur", "juge", "utilisateur", "codeur", "annotatore", "valutatore", "utente",
        "annotatorin", "bewerter", "bewerterin", "kodierer", "experte", "expertin", "teilnehmer", "nutzer", "beoordelaar",
        "аннотатор", "разметчик", "эксперт", "оценщик", "标注员", "标注者", "标注人", "评估者", "评委", "用户", "評価者",
        "作業者", "평가자", "작업자", "주석자",
    }
)  # fmt: skip
NAMING_WORDS = frozenset(
    {
        "id",
        "ids",
        "key",
        "name",
        "no",
        "nr",
        "num",
        "number",
        "code",
        "hash",
        "email",
        "index",
        "indices",
        "uuid",
        "unique",
        "family",
        "model",
        "pseudonym",
    }
)
JUDGED_ANSWERS = ("answer", "response")  # which models give, and people judge
LEAST_COMPARED = 10  # comparisons from which on the values of a column may be those who made them
FEW_REPEATS = 0.25  # share of labels up to which workers may have judged again, where no columns tell all labels apart


def proposed_columns(table: pa.Table, missing: Sequence[str], given: Mapping[str, str]) -> list[str]:
    """Return which columns may be item, worker and label, and the options that say so; nothing where hardly any can be meant.

    A worker has judged every item once, and most items have several workers. Which columns are people only names can tell.

    >>> rows = [{"subj": s, "word": w, "rt": 1.5 * s + w, "tone": (s + w) % 2} for s in range(3) for w in range(9)]
    >>> proposed_columns(pa.Table.from_pylist(rows), ("item", "worker", "label"), {})[0].partition(", say ")[2]
    "--item-column 'word' --worker-column 'subj' --label-column 'tone'"
    """
    names = table.column_names
    if not set(given.values()) <= set(names):
        return []
    known = {role: best[0] for role in ITEM_WORKER_LABEL if role not in missing and (best := _named(role, names))}
    known.update(given)
    again = partial(could_hold, "worker", table.to_pylist(), chosen=known)  # nobody is known who has labelled once only
    workers = [known["worker"]] if "worker" in known else list(filter(again, _people(names, known) or _other_id(names)))
    found = [one for worker in workers if (one := _beside(table, worker, known)) is not None]
    if not found:
        return []
    worker, items, labels = min(found, key=lambda one: (len(one[1]), len(NAMING_WORDS.intersection(words_of(one[0])))))
    options = f" {_option('worker', worker)}" + (f" {_option('label', labels[0])}" if len(labels) == 1 else "")
    part = merging_part(table, items, worker)  # whose sets may number their own, or ask something else
    sets = [items] if part is None else [[*items, part], items]
    ways = [way.replace("if ", f"if {shown(worker)} is who labelled and ", 1) for way in item_ways(table, sets, options)]
    if len(labels) > 1:
        ways = [f"{way}, and choose one of {listed(labels)} with --label-column" for way in ways]
    if (scope := _numbered_anew(table, items, worker)) is not None:
        whole = _option("worker", join_names([scope, worker]))
        ways[0] += f" (or {whole} if {shown(worker)} is numbered anew in each {shown(scope)})"
    rounds = [name for name in items if not AGAIN_WORDS.isdisjoint(words_of(name))]
    if rounds and (rest := [name for name in items if name not in rounds]):
        ways[0] += (
            f" ({_option('item', join_names(rest))} if {joined(list(map(shown, rounds)))} counts rounds of labelling the same)"
        )
    return ways


def _numbered_anew(table: pa.Table, items: Sequence[str], worker: str) -> str | None:
    """Return the column, of several that tell items, in which workers may be numbered from one again; None if there is none.

    >>> rows = [{"talk": t, "said": s, "pid": p, "vote": 1} for t in "xy" for s in range(3) for p in range(4)]
    >>> _numbered_anew(pa.Table.from_pylist(rows), ["talk", "said"], "pid")
    'talk'
    """
    who = codes_of(table[worker])
    if who is None or len(items) < 2 or not are_numbers(map(str, table[worker].slice(0, FIRST_ROWS).to_pylist())):
        return None
    for name in items:
        part, rest = codes_of(table[name]), [codes_of(table[other]) for other in items if other != name]
        again = part is not None and n_pairs(who, part) > int(who.max()) + 1
        anew = any(part is not None and other is not None and n_pairs(other, part) > int(other.max()) + 1 for other in rest)
        fewer = part is not None and all(other is None or part.max() <= other.max() for other in rest)
        if again and anew and fewer:
            return name
    return None


def proposed_worker(table: pa.Table) -> str | None:
    """Return who may have labelled, by the name of a column whose values come again, and the option; None if nobody."""
    workers = [name for name in _people(table.column_names, {}) if could_hold("worker", table.to_pylist(), name, {})]
    return f"if {shown(workers[0])} is who labelled, say {_option('worker', workers[0])}" if len(workers) == 1 else None


def maybe_comparer(names: Sequence[str], known: Mapping[str, str], sample: Sample) -> str | None:
    """Return the column that may tell who compared, called after people, or `id` where one has several pairs and questions.

    >>> rows = [{"left": "xyz"[n % 3], "right": "u", "winner": "u", "id": "pq"[n % 2]} for n in range(6)]
    >>> maybe_comparer(["left", "right", "winner", "id"], {"left": "left", "right": "right", "winner": "winner"}, lambda: rows)
    'id'
    """
    free = [name for name in names if name not in known.values()]
    people = _people(names, known) or [name for name in free if plain_name(name) == "id"]
    rows = sample() if people else []
    cells = {name: {id_of(row.get(name)) for row in rows} - {None} for name in people}
    plain = [name for name, values in cells.items() if len(values) > 1 and len({type(value) for value in values}) == 1]
    found = [name for name in plain if could_hold("worker", rows, name, {})]
    if len(found) != 1 or plain_name(found[0]) != "id":
        return found[0] if len(found) == 1 else None
    of_rows = [_pair_columns(known), [known["question"]] if "question" in known else []]
    whose = [{(id_of(row.get(found[0])), frozenset(key_of(row, of))) for row in rows} for of in of_rows if of]
    several = all(len(one) > len({who for who, _ in one}) for one in whose)
    return found[0] if several else None


def unnamed_comparer(names: Sequence[str], known: Mapping[str, str], sample: Sample) -> str | None:
    """Return a column that may tell who compared, whatever it is called: its values come again, with two pairs each on average.

    >>> rows = [{"left": "xyz"[n % 3], "right": "uv"[n % 2], "crew": "pq"[n % 5 % 2], "pair": n % 6} for n in range(12)]
    >>> unnamed_comparer(["left", "right", "pair", "crew"], {"left": "left", "right": "right"}, lambda: rows)
    'crew'
    """
    compared, sides = _pair_columns(known), {side for pair in alike(names) for side in pair}
    for name in (name for name in names if name not in {*known.values(), *sides}):
        rows = [row for row in sample() if cell_text(row.get(name)) is not None]
        pairs = {(id_of(row.get(name)), frozenset(key_of(row, compared))) for row in rows}
        several = Counter(who for who, _ in pairs)
        beside = tells_time(name, {str(who) for who in several}) or is_position(name) or is_count(name) or is_called_label(name)
        beside = beside or is_kind(name) or ROLES["label"].is_named(name) or says_who_won(rows, name, compared)
        whole = all(number is None or number.is_integer() for number in (number_of(str(who)) for who in several))
        again = len(rows) >= LEAST_COMPARED and 1 < len(several) <= len(pairs) / 2
        if again and whole and not beside and could_hold("worker", sample(), name, {}):
            return name
    return None


def _pair_columns(known: Mapping[str, str]) -> list[str]:
    """Return the columns that tell which two were compared: of both sides, of one cell for both, or of winner and loser."""
    sides = [known[side] for side in ("left", "right", "both sides") if side in known]
    return sides or [known[side] for side in ("winner", "loser") if side in known]


def proposed_places(table: pa.Table) -> dict[str, str] | None:
    """Return which of some columns without names may be item, worker and label, where what they hold leaves one way only.

    >>> asked = [(who, n) for who, first in (("ann", 0), ("jo", 5)) for n in range(first, first + 10)]
    >>> rows = [{"1": who, "2": n, "3": n % len(who)} for who, n in asked]
    >>> proposed_places(pa.Table.from_pylist(rows))
    {'item': '2', 'worker': '1', 'label': '3'}
    """
    names = [name for name in table.column_names if not _tells_time(table[name])]
    rows: list[dict[str, Any]] = (table := table.select(names).slice(0, FIRST_ROWS)).to_pylist()
    workers = [name for name in names if could_hold("worker", rows, name, {}) and len(pc.unique(table[name])) > 1]
    found = [one for worker in workers if (one := _beside(table, worker, {})) is not None]
    numbers = [name for name in names if are_numbers(map(str, table[name].to_pylist()))]
    # Of a name and a number, the name is the worker's and the number a rating.
    found = [one for one in found if one[0] not in numbers or all(name in numbers for name in one[2])]
    if len(found) != 1 or len(found[0][1]) != 1 or len(found[0][2]) != 1:
        return None
    worker, (item,), (label,) = found[0]
    return {"item": item, "worker": worker, "label": label}


def _tells_time(column: pa.ChunkedArray) -> bool:
    times = find_times(column)
    return times is not None and bool((times.seconds > EARLIEST_MOMENT).all())


def _option(role: str, name: str) -> str:
    return f"{ROLES[role].option} {shown_file(name)}"


def _named(role: str, names: Sequence[str]) -> list[str]:
    """Return the columns that are surely called after a role."""
    return [name for name in ROLES[role].best(names) if ROLES[role].is_named(name)]


def _people(names: Sequence[str], known: Mapping[str, str]) -> list[str]:
    """Return the columns that may be called after people, and are not numbered.

    >>> _people(["pid", "subject", "itemNum", "member_id", "lang", "rater2", "subject_age", "nameListener"], {})
    ['pid', 'subject', 'member_id', 'nameListener']
    """
    free = [name for name in names if name not in known.values() and not name[-1:].isdecimal()]
    words = {name: set(words_of(name)) for name in free}
    people = [name for name in free if words[name] & PEOPLE and words[name] <= PEOPLE | NAMING_WORDS]
    return [name for name in people if "label" in known or plain_name(name) != MAYBE_WORKERS[-1]]  # beside bob, ann is a worker


def _other_id(names: Sequence[str]) -> list[str]:
    """Return the column `id` where the only other id is that of a thing, so that it may number people.

    >>> _other_id(["id", "tweet.id", "tone"]), _other_id(["id", "text"]), _other_id(["id", "batch_id"])
    (['id'], [], [])
    """
    ids = [name for name in names if is_id(name)]
    things = [name for name in ids if len(words_of(name)) > 1 and "".join(words_of(name)) in ROLES["item"].spellings]
    return [name for name in ids if plain_name(name) == "id"] if len(things) == 1 and len(ids) == 2 else []


def _has_own_ids(table: pa.Table, worker: str) -> bool:
    """Return whether every row has an id of a thing of its own, so that no item was labelled twice, whatever else repeats."""
    ids = {name: plain_name(name).removesuffix("id") for name in table.column_names if is_id(name) and name != worker}
    things = [name for name, of in ids.items() if of and (of.endswith(JUDGED_ANSWERS) or not of.endswith(OF_ROWS))]
    return any(len(pc.unique(table[name])) == table.num_rows for name in things)


def _beside(table: pa.Table, worker: str, known: Mapping[str, str]) -> tuple[str, list[str], list[str]] | None:
    """Return a worker's column with those that tell items and those that may be labels beside it, None if there are none."""
    rows: list[dict[str, Any]] = table.to_pylist()
    item, label = known.get("item"), known.get("label")
    sets: list[list[str]] = []
    for placed, some in product((False, True), (0.0, FEW_REPEATS)):
        sets = telling_columns(table, item, worker, label or worker, MOST_JOINED_FOR_NOTE, some, placed=placed)
        if some:  # what merges some rows must be called like an item
            sets = [items for items in sets if any(names_items(name, table[name]) for name in items)]
        if sets:
            break
    if not sets and item and len({(row[item], row[worker]) for row in rows}) == len(rows):  # though few have shared any
        sets = [[item]]
    if _has_own_ids(table, worker):
        sets = [items for items in sets if all(map(is_id, items))]
    for items in sorted(sets, key=lambda one: -sum(is_id(name) or "item" in words_of(name) for name in one) / len(one)):
        free = [name for name in table.column_names if name not in {worker, item, *items}]
        labels = [label] if label else could_be_labels(rows, items, worker, free) or could_be_numbers(rows, items, worker, free)
        if labels:
            first = [name for name in labels if plain_name(name).endswith(ROLES["label"].words)]
            return worker, items, [*first, *(name for name in labels if name not in first)]
    return None
