"""Find the item, worker and label columns by their names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from crowdassay.errors import ColumnError
from crowdassay.labels.values import listed, shown

Sample: TypeAlias = Callable[[], Sequence[Mapping[str, Any]]]
MOST_CLASSES = 50  # of a column that is taken for labels by what it holds

_LABEL = (
    "label", "answer", "response", "annotation", "judgement", "judgment", "rating", "vote", "choice", "class",
    "category", "verdict",
)  # fmt: skip

# In order of priority. Only items and workers may end in "id": an `annotation_id` is no label.
WORDS: Mapping[str, tuple[str, ...]] = {
    "item": (
        "item", "task", "question", "unit", "example", "object", "instance", "document", "record", "hit", "sample",
        "image", "sentence",
    ),
    "worker": (
        "worker", "annotator", "rater", "user", "labeler", "labeller", "coder", "judge", "crowdworker", "assessor",
        "turker", "contributor", "reviewer", "participant", "username", "evaluator", "grader", "scorer", "expert", "respondent",
        "annotatedby", "labeledby", "labelledby", "completedby", "annotationagent",
    ),
    "label": _LABEL,
    "truth": ("truth", "truelabel", "gold", "goldlabel", "groundtruth", "gt", "target", *_LABEL),
    "time": (
        "time", "timestamp", "datetime", "createdat", "created", "submittedat", "submittime", "annotatedat", "labeledat",
        "labelledat", "updatedat", "completedat", "date",
    ),
    "duration": (
        "duration", "leadtime", "worktimeinseconds", "worktime", "timespent", "timespentinseconds", "secondstolabel",
        "elapsedseconds", "responsetime", "timetaken",
    ),
    "weight": (),  # never guessed: it may well be what an object weighs
    "text": ("text", "itemtext", "content", "imageurl", "url"),
}  # fmt: skip
# Things that are judged, too: with "id" they name items, alone they may be a text or a remark.
JUDGED = (
    "tweet", "post", "comment", "doc", "subject", "message", "rev", "revision", "video", "movie", "article", "review",
    "utterance", "stimulus", "passage", "paragraph", "snippet", "page", "clip", "audio", "photo", "picture", "pair", "case",
    "product", "paper", "statement", "claim", "argument", "query",
)  # fmt: skip
# Tried when none of the words above is there: they name other things as well.
LAST: Mapping[str, tuple[str, ...]] = {
    "item": (
        *(f"{word}id" for word in JUDGED),
        "prompt",
        "conversation",
        "text",
        "id",
        "subject",
        "tweet",
        "utterance",
        "stimulus",
    ),
    "worker": ("model", "llm"),
    "label": ("score", "grade", "preference"),
    "truth": ("score", "grade", "preference"),
}
SUFFIXES = {"item": ("url", "name"), "worker": ("email", "name")}  # for the words above too, when nothing better is there
OPTIONAL = frozenset({"time", "duration", "weight", "text"})  # roles that may stay empty


def find_columns(
    names: Sequence[str], roles: Sequence[str], given: Mapping[str, str | None], sample: Sample | None = None
) -> dict[str, str]:
    """Choose one column for every role.

    Case, spaces, underscores and hyphens are ignored. A word earlier in `WORDS` wins over a later one, and a plain word
    over the same word with "id"; then come words with "url", "email" or "name", and what is in `LAST`.

    Parameters
    ----------
    names : sequence of str
        The columns there are.
    roles : sequence of {'item', 'worker', 'label', 'truth', 'time', 'duration', 'weight', 'text'}
    given : mapping
        Columns chosen by the user, by role; they override.
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
    chosen = {role: name for role in roles if (name := given.get(role)) is not None}
    for role, name in chosen.items():
        _check_given(role, name, names, chosen)
    free = [name for name in names if name not in chosen.values()]
    for role in roles:
        left = [name for name in free if name not in chosen.values()] if role in OPTIONAL else free
        if role not in chosen and (best := _best(role, left)):
            if len(best) > 1 and role in OPTIONAL:
                continue
            if len(best) > 1 and len(set(best)) == 1:
                raise ColumnError(f"There are several columns named {shown(best[0])}; rename all but one.")
            if len(best) > 1:
                decide = _remedy(role, roles, "choose one with", "rename the right one")
                raise ColumnError(f"The columns {listed(best)} could both be the {role} column; {decide}.")
            chosen[role] = best[0]
    if "item" in chosen and not given.get("item") and "worker" in chosen and sample is not None:
        _refuse_row_numbers(sample, chosen["item"], chosen["worker"], names)
    needed = [role for role in roles if role not in OPTIONAL]
    missing = [role for role in needed if role not in chosen]
    free = [name for name in free if name not in chosen.values()]
    if "item" in missing and "worker" in chosen and sample is not None:
        shared = could_be_items(sample(), chosen["worker"], free)
        if len(shared) == 1:
            chosen["item"] = shared[0]
            missing, free = [role for role in missing if role != "item"], [name for name in free if name != shared[0]]
    if missing == ["label"] and sample is not None and {"item", "worker"} <= chosen.keys():
        possible = could_be_labels(sample(), chosen["item"], chosen["worker"], free)
        if len(possible) > 1:
            raise ColumnError(
                f"Several columns could be the label ({listed(possible)}): they differ between workers on the same item; "
                "choose one with --label-column."
            )
        if possible:
            chosen["label"], missing = possible[0], []
    if missing:
        raise ColumnError(_not_found(missing, needed, names, free))
    return {role: chosen[role] for role in roles if role in chosen}


def could_be_items(rows: Sequence[Mapping[str, Any]], worker: str, names: Sequence[str]) -> list[str]:
    """List the columns whose names end in "id" and that may tell items: workers share their values, and have each once.

    >>> rows = [{"who": n % 2, "meme_id": n // 2, "row_id": n, "batch_id": 1} for n in range(6)]
    >>> could_be_items(rows, "who", ["meme_id", "row_id", "batch_id"])
    ['meme_id']
    """
    candidates = []
    for name in names:
        pairs = [(row.get(name), row.get(worker)) for row in rows]
        shared = len(set(pairs)) > len({value for value, _ in pairs})
        if plain_name(name).endswith("id") and shared and len(set(pairs)) == len(pairs):
            candidates.append(name)
    return candidates


def could_be_labels(rows: Sequence[Mapping[str, Any]], item: str, worker: str, names: Sequence[str]) -> list[str]:
    """List the columns that may hold labels: their few values differ within items, and within workers.

    What an item shows is the same in all of its rows, and what is known of a worker in all of the worker's.

    >>> rows = [{"i": n // 2, "w": n % 2, "text": n // 2, "age": n % 2, "tone": n % 3 > 0, "row": n} for n in range(8)]
    >>> could_be_labels(rows, "i", "w", ["text", "age", "tone", "row"])
    ['tone']
    """
    candidates = []
    for name in names:
        cells = [(row.get(item), row.get(worker), value) for row in rows if (value := _cell(row.get(name))) is not None]
        few = len({value for *_, value in cells}) <= min(MOST_CLASSES, len(cells) / 2)
        within = (len({(cell[at], cell[2]) for cell in cells}) > len({cell[at] for cell in cells}) for at in (0, 1))
        if few and all(within) and not any(plain_name(name) in words for words in (WORDS["time"], WORDS["duration"])):
            candidates.append(name)
    return candidates


def _refuse_row_numbers(sample: Sample, item: str, worker: str, names: Sequence[str]) -> None:
    """Raise `ColumnError` where `id` numbers the rows, and another id is what several workers share."""
    others = [name for name in names if name not in {item, worker} and plain_name(name).endswith("id")]
    if plain_name(item) != "id" or not others:
        return
    rows = sample()
    shared = [
        name
        for name in others
        if len({(row.get(name), row.get(worker)) for row in rows}) > len({row.get(name) for row in rows})
    ]
    if shared and len(rows) > 1 and len({row.get(item) for row in rows}) == len(rows):
        raise ColumnError(
            f"The column {shown(item)} is different in every row, so that no item would have two labels; if {listed(shared)} "
            "tells items apart, name it with --item-column, as you may name 'id'."
        )


def _cell(value: Any) -> str | None:
    return None if value is None or isinstance(value, list | dict) or not str(value).strip() else str(value)


def plain_name(name: str) -> str:
    """Return a column's name without blanks, underscores, hyphens and capitals."""
    return re.sub(r"[\s_\-]+", "", name).casefold()


def _spellings(role: str) -> list[str]:
    suffixes = ("", "id") if role in {"item", "worker"} else ("",)
    tries = ((WORDS, suffixes), (WORDS, SUFFIXES.get(role, ())), (LAST, suffixes))
    return [word + suffix for words, endings in tries for word in words.get(role, ()) for suffix in endings]


def _best(role: str, names: Sequence[str]) -> list[str]:
    for spelling in _spellings(role):
        if matches := [name for name in names if plain_name(name) == spelling]:
            return matches
    return []


def _check_given(role: str, name: str, names: Sequence[str], chosen: Mapping[str, str]) -> None:
    if name not in names:
        near = difflib.get_close_matches(plain_name(name), [plain_name(other) for other in names], 1)
        hint = f"; did you mean {shown(next(other for other in names if plain_name(other) == near[0]))}?" if near else "."
        raise ColumnError(f"There is no column {shown(name)} for the {role}; the columns are {listed(names)}{hint}")
    if list(names).count(name) > 1:
        raise ColumnError(f"There are several columns named {shown(name)}; rename all but one.")
    if rivals := [other for other, taken in chosen.items() if taken == name and other != role]:
        raise ColumnError(f"The column {shown(name)} cannot be both the {role} and the {rivals[0]}; name another for one.")


def _remedy(role: str, roles: Sequence[str], naming: str, renaming: str) -> str:
    # The command line has no options for the columns of a truth or gold file.
    return f"{renaming} '{role}'" if "truth" in roles else f"{naming} --{role}-column"


def _not_found(missing: Sequence[str], roles: Sequence[str], names: Sequence[str], free: Sequence[str]) -> str:
    if len(missing) == len(roles):
        looks = " or ".join([", ".join(roles[:-1]), roles[-1]])
        options = " and ".join([", ".join(f"--{role}-column" for role in roles[:-1]), f"--{roles[-1]}-column"])
        remedy = f"rename them {listed(roles)}" if "truth" in roles else f"name them with {options}"
        header = "add a header row if there is none"
        return f"None of the columns ({listed(names)}) looks like an {looks} column; {header}, or {remedy}."
    role = missing[0]
    spelled = {
        name: max(difflib.SequenceMatcher(None, plain_name(name), word).ratio() for word in _spellings(role)) for name in free
    }
    nearest = max(spelled, key=spelled.__getitem__, default=None)
    hint = f"; the nearest is {shown(nearest)}" if nearest is not None and spelled[nearest] >= 0.7 else ""
    remedy = _remedy(role, roles, "name it with", "rename it")
    if len(missing) > 1 and "truth" not in roles:
        remedy = f"name them with {' and '.join(f'--{one}-column' for one in missing)}"
    return f"No {' or '.join(missing)} column found among {listed(names)}{hint}; {remedy}."
