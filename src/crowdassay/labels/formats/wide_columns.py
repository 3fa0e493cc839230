"""Which columns of a table with a column for each worker are workers', which names the item, and which knows the truth.

Columns that are numbered like workers are theirs. Of other columns, those are that hold the same words. Where two sets of
columns could be meant, by their names or by what they hold, the user is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np

from crowdassay.errors import ColumnError
from crowdassay.labels.choices import choices_of
from crowdassay.labels.columns import check_given, matching_columns
from crowdassay.labels.contents import LABEL_LENGTH, YES_OR_NO, is_id, is_known, is_made, words_of
from crowdassay.labels.delimited import FIRST_ROWS
from crowdassay.labels.formats.stems import COMPUTED_WORDS, LEAST_FAMILY, as_pattern, family_of, questions_of_workers
from crowdassay.labels.roles import NUMBERED_WORKER, ROLES
from crowdassay.labels.values import listed, number_key, number_of, shown
from crowdassay.read_options import ReadOptions

NO_LABEL_CELLS = frozenset({"", "nan", "none", "null", "na", "<na>"})
INDEX_NAMES = frozenset({"", "unnamed: 0", "index", "id"}) | {
    word + suffix for word in ROLES["item"].words for suffix in ("", "_id", "id")
}
NUMBERED_ROWS = "Items are numbered by row, from 0."
MOST_HEADLESS_CLASSES = 50  # classes up to which columns that no name explains are taken for labels
ROWS_TO_COMPARE = 10  # rows from which on a column may be told from its neighbours though some of its values repeat
LEAST_ROWS_SHARED = 5  # rows from which on workers of one question agree somewhere, and sums that stay the same are no chance
WAYS_LISTED = 4
COLUMNS_LISTED = 8  # that a proposal would take for workers
ASKING_BEGINNINGS = frozenset({"is", "has", "does", "are", "was", "can"})
UNLESS_WORKERS = "if they are workers with one question, name them with --worker-columns"
LEAST_ASKING = 3  # columns named like questions from which on they may have others among them: Florence and Bob are people
MOST_OVERRULED = 0.15  # share of rows in which what was decided in the end is not what most had said, at most
OPPOSED = 2 / 3  # variance of sums up to which columns hardly judge the same things: where one is high, the others are low
STEADY = 0.1  # variance of rows' sums, as a share of their columns' variances, up to which the columns count something
RESULT_COLUMN = re.compile(r"(?:.*[\s_\-])?(?:kappa|p[\s_\-]?value)", re.IGNORECASE)
COMPUTED = re.compile(r"-?\d*\.\d{3,}(?:[eE][+-]?\d+)?")  # a number with so many decimals is nobody's answer
PAIRED_SIDES = ({"a", "b"}, {"left", "right"})
# What questions, facts and figures are called, and people hardly ever are: by their endings, and by these words.
QUESTION_ENDING = re.compile(
    r".{3,}(?:ness|ity|acy|ance|ence|ancy|ency|tion|sion|ment|ism|ship|ing|ité|té|heit|keit|ung)s?|.*pathy"
)
QUESTION_WORDS = re.compile(
    "tone|style|overall|global|safety|facts?|data|grammar|spelling|structure|language|scores?|type|category|topic|domain|intent|"
    "role|status|source|year|level|rules?|criterion|criteria|aspect|dimension|questions?|flag|errors?|err|name|currency|concern|"
    "signals|strategy|option|mean|avg|std|count|rate|ratio|total|sum|median|margin|percent|target|base|baseline|system|is|are|"
    "has|does|do|if|any|not|the|match|from|to|predicted|suggested|expected"
)
NUMBERED_THINGS = frozenset(
    {"q", "question", "item", "criterion", "aspect", "dimension", "option", "task", "statement", "strategy"}
)


def is_nothing(cell: str) -> bool:
    """Return whether a cell means that there is no label."""
    return cell.strip().lower() in NO_LABEL_CELLS


def are_classes(cells: Sequence[str]) -> bool:
    """Return whether cells hold few different values, as labels do."""
    return 0 < len(set(cells)) <= min(MOST_HEADLESS_CLASSES, len(cells) / 2)


def worker_proposal(names: Sequence[str], columns: Sequence[Sequence[str]]) -> str | None:
    """Return in which case which option reads a table with a column for each worker; None if that would be a misreading.

    Of columns that answer alike and are no workers a `ColumnError` says what they are.

    >>> columns = [["i", "j"], ["a", "b"], ["a", "a"]]
    >>> worker_proposal(["id", "ann", "bob"], columns)
    "if 'ann', 'bob' are workers who answer one question, say --from wide"
    >>> worker_proposal(["id", "ann", "text"], [*columns[:2], ["x", "y"]])
    """
    if any(map(ROLES["worker"].is_named, names)):
        return None
    item, _ = choose_item(names, columns, ReadOptions())
    workers, doubt, _, cells = _workers(names, columns, item)
    chosen = doubt[0] if doubt else workers
    if len(chosen) < 2 or len(columns[0]) < 2 or not all(names[n].strip() for n in chosen):
        return None
    if not are_classes([cell for n in chosen for cell in cells[n]]):
        return None
    if np.mean([len(cell) for n in chosen for cell in cells[n]]) > LABEL_LENGTH:
        return None
    sets = doubt or [workers]
    may = [some for some in sets if no_workers(names, columns, some) is None]
    reason = no_workers(names, columns, chosen) if not may else _counted(names, columns, workers) if doubt and workers else None
    if reason is not None:
        raise ColumnError(f"{reason}; {UNLESS_WORKERS}.")
    ways = [(some, ways_of(names, [some]) if doubt else "--from wide") for some in may]
    ways = [(some[:-1] if _ends_with_conclusion(names, columns, some) else some, way) for some, way in ways]
    return _told(names, ways)


def numbered_proposal(names: Sequence[str]) -> str | None:
    """Return the options for columns of answers that end in numbered workers, whoever else is named; None if there are none.

    >>> numbered_proposal(["id", "user", "tag_ann1", "tag_ann2", "note_1"])
    "if 'tag_ann1', 'tag_ann2' are workers who answer one question, say --worker-columns 'tag_ann*'"
    """
    sets = _sets_of_numbered(names, range(len(names)))
    return _told(names, [(places, ways_of(names, [places])) for places in sets])


def _sets_of_numbered(names: Sequence[str], places: Iterable[int]) -> list[list[int]]:
    """Return the sets of columns that are named alike but for a numbered worker at the beginning or the end.

    >>> _sets_of_numbered(["rater1_tone", "rater2_tone", "tone_score", "note_1"], range(4))
    [[0, 1]]
    """
    stems: dict[str, list[int]] = {}
    for n in places:
        parts = re.split(r"([\s_\-.]+)", names[n])
        for end, stem in ((parts[0], "*" + "".join(parts[1:])), (parts[-1], "".join(parts[:-1]) + "*")):
            if len(parts) > 2 and NUMBERED_WORKER.fullmatch(end):
                stems.setdefault(stem, []).append(n)
    return [some for some in stems.values() if len(some) > 1]


def _told(names: Sequence[str], ways: Sequence[tuple[Sequence[int], str]]) -> str | None:
    """Return one sentence on sets of columns and the options that read them; None where no option does."""
    said = [f"if {listed([names[n] for n in some], COLUMNS_LISTED)} are{{}}, say {way}" for some, way in ways if way]
    more = " workers who answer one question"
    return "; ".join(one.format(more if n == 0 else "") for n, one in enumerate(said[:WAYS_LISTED])) or None


def ways_of(names: Sequence[str], sets: Sequence[Sequence[int]]) -> str:
    """Return the options of which one chooses some set of columns; a set whose names cannot be written in one is left out."""
    ways = [way for some in sets if _reads(names, some, way := as_pattern(names, some))]
    return " or ".join(f"--worker-columns '{way}'" for way in ways[:WAYS_LISTED])


def _reads(names: Sequence[str], places: Sequence[int], way: str) -> bool:
    """Return whether ``--worker-columns`` chooses these columns by what `as_pattern` returns, in quotes on a command line."""
    parts = ReadOptions.of({"worker_columns": way}).worker_columns
    every = all(any(fnmatchcase(name, part) or name == part for name in names) for part in parts)
    return "'" not in way and every and matching_columns(names, parts) == [names[n] for n in places]


def no_workers(names: Sequence[str], columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> str | None:
    """Return what columns that answer alike are, where they are hardly workers with one question; None if they may be.

    >>> def why(table, *names):
    ...     return no_workers(names, list(zip(*table)), range(len(names)))
    >>> why(["54", "43", "54"], "tone", "clarity")[:75]
    "'tone', 'clarity' look like different questions, not like workers who answe"
    >>> why(["521", "170", "800", "044", "350"], "yes", "no", "both")
    "The rows of 'yes', 'no', 'both' sum to nearly the same number: they count labels, and do not say who gave which"
    >>> why(["54", "43", "54"], "ann", "bob")
    """
    said, rows = listed([names[n] for n in chosen]), _rows(columns, chosen)
    beside = next((name for n, name in enumerate(names) if n not in chosen and _is_result(name, columns[n])), None)
    if beside is not None:
        return f"{said} and {shown(beside)} make a table of results, not of labels; there is nothing to combine"
    called = bool(chosen) and all(COMPUTED_WORDS.intersection(words_of(names[n])) for n in chosen)
    if called or any(COMPUTED.fullmatch(cell) for row in rows for cell in row if cell):
        return f"{said} hold numbers that were computed, such as means, and no labels"
    if _hold_several([cell for row in rows for cell in row if cell]):
        return f"The cells of {said} hold several answers each, without saying who gave which"
    others = [name for n, name in enumerate(names) if n not in chosen]
    if (reason := _asking(said, [names[n] for n in chosen], others) or _counted(names, columns, chosen)) is not None:
        return reason
    several = [given for row in rows if len(given := [cell for cell in row if cell is not None]) > 1]
    if len(several) >= LEAST_ROWS_SHARED and all(len(set(given)) == len(given) for given in several):
        return f"No two of {said} ever hold the same value in a row, so that they hardly answer one question"
    return None


def _is_result(name: str, cells: Sequence[str]) -> bool:
    """Return whether a column is called after an agreement or a test, and holds any."""
    return RESULT_COLUMN.fullmatch(name) is not None and not all(map(is_nothing, cells))


def _hold_several(cells: Sequence[str]) -> bool:
    """Return whether most cells hold several answers, some the same: those of several workers, and no set of choices.

    >>> _hold_several(["1 0 0", "0 0 1", "0 0 0", "1 1 0"]), _hold_several(["a, b", "b", "a", "a, b"])
    (True, False)
    """
    answers = [re.split(r"[\s,;|]+", cell.strip()) for cell in cells]
    words = Counter(word for parts in answers for word in parts)
    repeated = sum(len(set(parts)) < len(parts) for parts in answers)
    return 2 * repeated > len(cells) and len(words) <= len(cells) / 2


def _asking(said: str, names: Sequence[str], others: Sequence[str]) -> str | None:
    """Return what columns are that are named like questions, or like the sides of comparisons; None if they are not.

    Where another column tells what was decided, those are people's.
    """
    shared, rest = _words_apart(names)
    decided = any(is_known(name) and shared.issubset(words_of(name)) for name in others)
    sides = {word for own in rest for word in own} in PAIRED_SIDES and shared and not decided
    if sides and not any(map(ROLES["worker"].is_named, shared)):
        return f"{said} look like the two sides of comparisons, which crowdassay rank reads"
    if not _are_questions(names):
        return None
    return (
        f"{said} look like different questions, not like workers who answer one; unless another column names the worker, there "
        "is nothing to combine"
    )


def _words_apart(names: Sequence[str]) -> tuple[set[str], list[list[str]]]:
    """Return the words that all names share, if there are several names, and the others of each."""
    words = list(map(words_of, names))
    shared = set(words[0]).intersection(*words[1:]) if len(words) > 1 else set()
    return shared, [[word for word in own if word not in shared] for own in words]


def _are_questions(names: Sequence[str]) -> bool:
    """Return whether columns are named like questions.

    >>> _are_questions(["tone", "style"]), _are_questions(["is_flip", "is_bad"]), _are_questions(["is_bad_e", "is_bad_w"])
    (True, True, False)
    """
    shared, rest = _words_apart(names)
    asking = sum(any(map(is_asking, own)) for own in rest)
    told_apart = all(len(word) <= 2 for own in rest for word in own)  # by initials, or by numbers
    begun = all(own[:1] and own[0] in ASKING_BEGINNINGS for own in map(words_of, names)) and not told_apart
    questions = begun or asking == len(rest) or (asking >= LEAST_ASKING and 2 * asking > len(rest))
    return len(rest) > 1 and (questions or (not any(rest) and bool(shared & NUMBERED_THINGS)))


def is_asking(word: str) -> bool:
    """Return whether questions, facts or figures are called by a word, and people hardly ever."""
    return bool(QUESTION_WORDS.fullmatch(word.casefold()) or QUESTION_ENDING.fullmatch(word.casefold()))


def _is_answered(names: Sequence[str], columns: Sequence[Sequence[str]], places: Sequence[int]) -> bool:
    """Return whether columns hold the labels of workers who answer one question."""
    cells = [cell for n in places for cell in columns[n] if not is_nothing(cell)]
    short = sum(map(len, cells)) <= LABEL_LENGTH * len(cells)
    every = all(any(not is_nothing(cell) for cell in columns[n]) for n in places)
    return every and short and are_classes(cells) and no_workers(names, columns, places) is None


def _rows(columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> list[tuple[str | None, ...]]:
    def plain(cell: str) -> str | None:
        return None if is_nothing(cell) else number_key(cell.strip()) or cell.strip()

    return list(zip(*(map(plain, columns[n]) for n in chosen), strict=True))


def _counted(names: Sequence[str], columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> str | None:
    """Return a sentence where rows hold whole numbers whose sum hardly varies, as the votes that each class got; else None."""
    spread = _spread_of_sums(_rows(columns, chosen))
    if spread is None or spread > STEADY:
        return None
    said = listed([names[n] for n in chosen])
    return f"The rows of {said} sum to nearly the same number: they count labels, and do not say who gave which"


def opposed(names: Sequence[str], columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> list[str]:
    """Note numbers that are high where the others of their row are low, as counts are that share a sum."""
    spread = _spread_of_sums(_rows(columns, chosen)) if len(chosen) >= LEAST_FAMILY else None
    if spread is None or spread > OPPOSED:
        return []
    said = listed([names[n] for n in chosen])
    return [f"In {said} numbers are high where others are low; if they count votes, they do not say who gave which."]


def _spread_of_sums(rows: Sequence[tuple[str | None, ...]]) -> float | None:
    """Return the variance of rows' sums as a share of the columns' own: 1 if unrelated; None unless they may count."""
    numbers = [[number_of(cell or "") for cell in row] for row in rows]
    table = [[number for number in row if number is not None and number >= 0 and number.is_integer()] for row in numbers]
    if len(table) < LEAST_ROWS_SHARED or any(len(row) < len(rows[0]) for row in table):
        return None
    apart = np.var(table, axis=0).sum()
    return float(np.var(np.sum(table, axis=1)) / apart) if apart else None


def _ends_with_conclusion(names: Sequence[str], columns: Sequence[Sequence[str]], workers: Sequence[int]) -> bool:
    """Return whether the last of some columns holds what was decided in the end, and is no worker's."""
    return not NUMBERED_WORKER.fullmatch(names[workers[-1]]) and _concludes(_rows(columns, workers))


def _concludes(rows: Sequence[tuple[str | None, ...]]) -> bool:
    """Return whether the last cell of rows is what most of the others say, far more often than that holds of any other cell."""
    if not rows or len(rows[0]) <= LEAST_FAMILY:
        return False
    right, compared = np.zeros(len(rows[0]), int), np.zeros(len(rows[0]), int)
    for row in rows:
        counts = Counter(cell for cell in row if cell is not None).most_common(3)  # of which one loses its place at most
        for n, cell in enumerate(row):
            if cell is not None and (most := _most_of_others(counts, cell)) is not None:
                right[n], compared[n] = right[n] + (cell == most), compared[n] + 1
    if compared.min() < ROWS_TO_COMPARE:
        return False
    wrong = 1 - right / compared
    return bool(wrong[-1] <= MOST_OVERRULED and wrong[:-1].min() >= max(2 * wrong[-1], LEAST_FAMILY / compared.min()))


def _most_of_others(counts: Sequence[tuple[str, int]], cell: str) -> str | None:
    """Return what is said most often but for one time ``cell``; None where that is several things, or none.

    >>> counts = [("a", 2), ("b", 1)]
    >>> _most_of_others(counts, "b"), _most_of_others(counts, "a"), _most_of_others(counts[1:], "b")
    ('a', None, None)
    """
    top = sorted(((n - (other == cell), other) for other, n in counts), reverse=True)
    return top[0][1] if top and top[0][0] > max((n for n, _ in top[1:]), default=0) else None


def choose_workers(
    names: Sequence[str], columns: Sequence[Sequence[str]], asked: ReadOptions, source: str, item: int | None = None
) -> tuple[list[int], list[int], int | None]:
    """Return the workers' columns, the others that were not asked for, and the one of these that knows the truth, if any does.

    Columns may hold their first cells alone, the same number each.
    """
    if asked.worker_columns:
        named = matching_columns(names, asked.worker_columns)
        return [n for n, name in enumerate(names) if name in named and n != item], [], None
    workers, doubt, free, cells = _workers(names, columns, item)
    if doubt:
        may = [some for some in doubt if not _are_questions([names[n] for n in some])]
        if not may:
            raise ColumnError(f"{no_workers(names, columns, doubt[0])}; {UNLESS_WORKERS}.")
        ways = ways_of(names, may)
        such = f"say which are, such as {ways}" if ways else "rename them without commas and quotes, and say which are"
        raise ColumnError(f"Not all columns of {source} may be workers' ({listed(names)}); {such}.")
    columns = [column[:FIRST_ROWS] for column in columns]
    if reason := no_workers(names, columns, workers):
        raise ColumnError(f"{reason}; {UNLESS_WORKERS}.")
    if not workers:
        raise ColumnError(f"No column of {source} looks like a worker's ({listed(names)}); name them with --worker-columns.")
    for place in workers:
        check_given("worker", names[place], names)
        if not names[place].strip():
            raise ColumnError(f"Column {place + 1} of {source} holds values but has no name; name it after its worker.")
    if _ends_with_conclusion(names, columns, workers):
        return workers[:-1], [n for n in free if n not in workers[:-1]], workers[-1]
    left, classes = [n for n in free if n not in workers], {word for n in workers for word in cells[n]}
    known = [n for n in left if is_known(names[n]) and not is_made(names[n]) and classes.issuperset(cells[n])]
    return workers, left, known[0] if len(known) == 1 else None


def choose_item(names: Sequence[str], columns: Sequence[Sequence[str]], asked: ReadOptions) -> tuple[int | None, list[str]]:
    """Return the column that names items, None where a row is an item, and notes on that."""
    if asked.item_column is not None:
        check_given("item", asked.item_column, names)
        return list(names).index(asked.item_column), []
    workers = matching_columns(names, asked.worker_columns) if asked.worker_columns else []
    named = [n for n, name in enumerate(names) if _names_items(name, n) and name not in workers]
    for n in named:
        if len(set(columns[n])) == len(columns[n]):
            return n, []
    if not named:
        return None, []
    return None, [f"A row is an item: {shown(names[named[0]])} repeats; --item-column says otherwise."]


def not_workers(names: Sequence[str]) -> list[str]:
    """Note columns of a wide table that were not taken for workers."""
    if not names:
        return []
    if len(names) == 1:
        return [f"Not taken as a worker: the column {shown(names[0])}; if it is one, name all workers with --worker-columns."]
    return [f"Not taken as workers: the columns {listed(names)}; if they are, name all workers with --worker-columns."]


def _names_items(name: str, place: int) -> bool:
    """Return whether a column is called like one of items; without a name only the first is."""
    return (name.lower() in INDEX_NAMES or ROLES["item"].is_named(name)) and (bool(name.strip()) or place == 0)


def _workers(
    names: Sequence[str], columns: Sequence[Sequence[str]], item: int | None
) -> tuple[list[int], list[list[int]], list[int], list[list[str]]]:
    """Return the workers' columns, or the sets that could be meant; all columns that could be; and what each column says."""
    cells = _comparable(columns)
    free = [n for n, name in enumerate(names) if n != item and cells[n] and not _names_items(name, n)]
    rest = [n for n in free if not is_known(names[n]) and not is_id(names[n])]
    numbered = [n for n in free if NUMBERED_WORKER.fullmatch(names[n])]
    if len(numbered) < 2 and len(sets := _sets_of_numbered(names, rest)) == 1:
        numbered = sets[0]
    if len(numbered) > 1:
        return numbered, [], free, cells
    if sets := questions_of_workers(names, rest, is_asking, lambda places: _is_answered(names, columns, places)):
        return [], sets, free, cells
    held = Counter(cell for n in rest for cell in set(columns[n]))
    rest = [n for n in rest if len(rest) < 2 or not _is_other(columns[n], held)]  # alone there is none to compare it with
    if len(rest) < 2 or max(len(cells[n]) for n in rest) < ROWS_TO_COMPARE:
        return rest, [], free, cells
    groups = sorted(_alike(cells, rest), key=len, reverse=True)
    if len(groups) > 1 and len(groups[0]) == len(groups[1]):
        return [], [group for group in groups if len(group) == len(groups[0])], free, cells
    said = [group for group in groups[1:] if len(group) > 1 and _are_flags_of(names, cells, groups[0], group)]
    if said:
        return said[0], [], free, cells
    family = family_of(names, groups[0])
    rest_of = [[n for n in groups[0] if n not in family], *groups[1:]]
    like = [other for other in rest_of if len(other) == len(family) and "*" in as_pattern(names, other)]
    return groups[0], [family, *like] if family else [], free, cells


def _are_flags_of(names: Sequence[str], cells: Sequence[Sequence[str]], flags: Sequence[int], said: Sequence[int]) -> bool:
    """Return whether columns say yes or no of what others name, class by class: who named it are the workers."""
    yes_or_no = all(cell.casefold() in YES_OR_NO for n in flags for cell in cells[n])
    classes = {cell.casefold() for n in said for cell in cells[n]}
    return yes_or_no and 2 * sum(names[n].casefold() in classes for n in flags) > len(flags)


def _is_other(cells: Sequence[str], held: Mapping[str, int]) -> bool:
    """Return whether a column holds texts of its own, not one worker's labels; ``held`` counts the columns with each text."""
    given = [cell for cell in cells if not is_nothing(cell)]
    different = set(given)
    own = sum(held[cell] == 1 for cell in given)
    if len(given) < ROWS_TO_COMPARE:
        return len(given) > 1 and len(different) == len(given) == own
    return len(different) > 0.5 * len(given) and own > 0.5 * len(given)


def _comparable(columns: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return what each column says, cell by cell: numbers in one form, several choices one by one, gaps left out."""
    given = [[cell.strip() for cell in column if not is_nothing(cell)] for column in columns]
    apart = choices_of({cell for column in given for cell in column})
    return [[number_key(choice) or choice for cell in column for choice in apart[cell]] for column in given]


def _alike(cells: Sequence[Sequence[str]], places: Sequence[int]) -> list[list[int]]:
    """Group columns that are answered in the same words, directly or by way of others: most of one is said in the other too.

    >>> _alike([["yes", "no"], ["no", "no"], ["31", "45"]], [0, 1, 2])
    [[0, 1], [2]]
    """
    words = {n: set(cells[n]) for n in places}

    def mostly(n: int, m: int) -> bool:
        return 2 * sum(word in words[m] for word in cells[n]) > len(cells[n])

    return linked(places, lambda n, m: mostly(n, m) or mostly(m, n))


def linked(places: Iterable[int], near: Callable[[int, int], bool]) -> list[list[int]]:
    """Group columns that are near each other, directly or by way of others."""
    groups: list[list[int]] = []
    for n in places:
        met = [group for group in groups if any(near(n, m) for m in group)]
        groups = [group for group in groups if group not in met] + [sorted([n, *(m for group in met for m in group)])]
    return sorted(groups)
