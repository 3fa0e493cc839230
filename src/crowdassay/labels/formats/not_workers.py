"""What columns that answer alike are, where they are hardly workers with one question: questions, sides, counts, means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from crowdassay.labels.choices import listed_choices
from crowdassay.labels.contents import is_known, words_of
from crowdassay.labels.formats.stems import COMPUTED_WORDS, GAP, LEAST_FAMILY
from crowdassay.labels.roles import NUMBERED_WORKER, ROLES
from crowdassay.labels.values import listed, number_key, number_of, shown

NO_LABEL_CELLS = frozenset({"", "nan", "none", "null", "na", "n/a", "<na>"})
LEAST_ROWS_SHARED = 5  # rows from which on workers of one question agree somewhere, and sums that stay the same are no chance
QUESTION_MARKS = ("?", "？", "؟")
ASKING_BEGINNINGS = frozenset({"is", "has", "does", "are", "was", "can"})
LEAST_ASKING = 3  # columns named like questions from which on they may have others among them: Florence and Bob are people
OPPOSED = 2 / 3  # variance of sums up to which columns hardly judge the same things: where one is high, the others are low
BY_CHANCE = 1.0  # standard errors above chance up to which columns do not agree
SLIGHT_AGREEMENT, WOULD_SHOW = 0.2, 3.0  # kappa of workers who hardly agree, and standard errors from which on it would show
STEADY = 0.1  # variance of rows' sums, as a share of their columns' variances, up to which the columns count something
NEARLY_ALL, MOSTLY_EMPTY = 0.95, 0.5  # shares of rows: what is filled so beside several that are so is hardly a worker's
LEAST_TO_COPY = 10  # rows from which on columns that put all in the same order are hardly two workers'
MOST_BY_CHANCE = 10  # different values up to which two workers may agree on every row
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
    "has|does|do|if|any|not|the|match|from|to|predicted|suggested|expected|confidence|conf|parsed|ok|valid|correct|reason|rationale|"
    "relevant|specific|appropriate|helpful|useful|fluent|coherent|readable|natural|concise|complete|accurate|factual|informative"
)
NUMBERED_THINGS = frozenset(
    {"q", "question", "item", "criterion", "aspect", "dimension", "option", "task", "statement", "strategy"}
)


def is_nothing(cell: str) -> bool:
    """Return whether a cell means that there is no label."""
    return cell.strip().lower() in NO_LABEL_CELLS


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
    said, rows = listed([names[n] for n in chosen]), rows_of(columns, chosen)
    beside = next((name for n, name in enumerate(names) if n not in chosen and _is_result(name, columns[n])), None)
    if beside is not None:
        return f"{said} and {shown(beside)} make a table of results, not of labels; there is nothing to combine"
    called = bool(chosen) and all(COMPUTED_WORDS.intersection(words_of(names[n])) for n in chosen)
    computed = [names[n] for n in chosen if called or _is_computed(names[n], columns[n])]
    if computed:
        return f"There are numbers that were computed, such as means, and no labels in {listed(computed)}"
    if _hold_several([cell for row in rows for cell in row if cell]):
        return f"The cells of {said} hold several answers each, without saying who gave which"
    others = [name for n, name in enumerate(names) if n not in chosen]
    if (reason := _asking(said, [names[n] for n in chosen], others) or counted_votes(names, columns, chosen)) is not None:
        return reason
    several = [given for row in rows if len(given := [cell for cell in row if cell is not None]) > 1]
    if len(several) >= LEAST_ROWS_SHARED and all(len(set(given)) == len(given) for given in several):
        return f"{said} never hold the same value in a row, so that they hardly answer one question"
    return None


def _is_result(name: str, cells: Sequence[str]) -> bool:
    """Return whether a column is called after an agreement or a test, and holds any."""
    return RESULT_COLUMN.fullmatch(name) is not None and not all(map(is_nothing, cells))


def _is_computed(name: str, cells: Sequence[str]) -> bool:
    """Return whether a column holds a number with many decimals, or mostly such where a numbered worker is in its name.

    >>> [_is_computed(name, ["9", "8.5", "9.6667"]) for name in ("week1_judge2_mark", "week1_mark")]
    [False, True]
    """
    computed = sum(COMPUTED.fullmatch(cell.strip()) is not None for cell in cells)
    says_who = any(map(NUMBERED_WORKER.fullmatch, [name, *GAP.split(name)]))
    return 2 * computed > sum(not is_nothing(cell) for cell in cells) if says_who else computed > 0


def _hold_several(cells: Sequence[str]) -> bool:
    """Return whether most cells hold several answers, some the same: those of several workers, and no set of choices.

    >>> _hold_several(["1 0 0", "0 0 1", "0 0 0", "1 1 0"]), _hold_several(["a, b", "b", "a", "a, b"])
    (True, False)
    >>> _hold_several(["['a', 'a', 'b']", "['b', 'b']", "['a', 'a']", "['a']"])
    True
    """
    answers = [listed_choices(cell) or re.split(r"[\s,;|]+", cell.strip()) for cell in cells]
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
    if not are_questions(names):
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


def are_questions(names: Sequence[str]) -> bool:
    """Return whether columns are named like questions; whole ones that a number tells apart may ask of an item each.

    >>> are_questions(["How warm?", "How cold?"]), are_questions(["Is 1 so?", "Is 2 so?"])
    (True, False)
    >>> are_questions(["tone", "style"]), are_questions(["is_flip", "is_bad"]), are_questions(["is_bad_e", "is_bad_w"])
    (True, True, False)
    """
    shared, rest = _words_apart(names)
    asking = sum(any(map(is_asking, own)) for own in rest)
    told_apart = all(len(word) <= 2 for own in rest for word in own)  # by initials, or by numbers
    begun = all(own[:1] and own[0] in ASKING_BEGINNINGS for own in map(words_of, names)) and not told_apart
    whole = 2 * sum(name.endswith(QUESTION_MARKS) and re.search(r"\d", name) is None for name in names) > len(names)
    questions = begun or whole or asking == len(rest) or (asking >= LEAST_ASKING and 2 * asking > len(rest))
    return len(rest) > 1 and (questions or (not any(rest) and bool(shared & NUMBERED_THINGS)))


def is_asking(word: str) -> bool:
    """Return whether questions, facts or figures are called by a word, and people hardly ever."""
    return bool(QUESTION_WORDS.fullmatch(word.casefold()) or QUESTION_ENDING.fullmatch(word.casefold()))


def rows_of(columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> list[tuple[str | None, ...]]:
    """Return what each row says in some columns, numbers in one form; None where a cell holds nothing."""

    def plain(cell: str) -> str | None:
        return None if is_nothing(cell) else number_key(cell.strip()) or cell.strip()

    return list(zip(*(map(plain, columns[n]) for n in chosen), strict=True))


def counted_votes(names: Sequence[str], columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> str | None:
    """Return a sentence where rows hold whole numbers whose sum hardly varies, as the votes that each class got; else None."""
    spread, said = _spread_of_sums(rows_of(columns, chosen)), listed([names[n] for n in chosen])
    if spread is not None and spread < 1 and all("vote" in name.casefold() for name in map(names.__getitem__, chosen)):
        return f"In {said} numbers are high where others are low: they count votes, and do not say who gave which"
    if spread is None or spread > STEADY:
        return None
    return f"The rows of {said} sum to nearly the same number: they count labels, and do not say who gave which"


def opposed(names: Sequence[str], columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> list[str]:
    """Note numbers that are high where the others of their row are low, as counts are that share a sum."""
    spread = _spread_of_sums(rows_of(columns, chosen)) if len(chosen) >= LEAST_FAMILY else None
    if spread is None or spread > OPPOSED:
        return []
    said = listed([names[n] for n in chosen])
    return [f"In {said} numbers are high where others are low; if they count votes, they do not say who gave which."]


def may_know(columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> list[int]:
    """Return the columns that are filled in nearly every row where several others are mostly empty.

    They may hold the known answer, as nobody else labels everything. Where the others hardly meet, whoever does is a worker.

    >>> table = list(zip(*["y    y", "n   n ", "y  y  ", "y y   ", "nn    ", "n  nny"]))
    >>> [may_know(list(map(list, table)), range(6)), may_know(list(map(list, table))[1:], range(5))]
    [[0], []]
    """
    rows = rows_of(columns, chosen)
    shares = np.array([[cell is not None for cell in row] for row in rows]).mean(axis=0) if rows else np.zeros(0)
    full = [n for n, share in zip(chosen, shares, strict=True) if share >= NEARLY_ALL]
    sparse = [n for n, share in zip(chosen, shares, strict=True) if 0 < share < MOSTLY_EMPTY]
    meet = sum(sum(cell is not None for cell in row) > 1 for row in rows_of(columns, sparse))
    apart = len(full) < len(sparse) >= LEAST_FAMILY and len(full) + len(sparse) == np.count_nonzero(shares)
    return full if apart and meet else []


def said_again(columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> list[int]:
    """Return the columns that put all rows in the same order as an earlier one, by numbers of another scale or very many.

    >>> marks, tones = [str(n % 12) for n in range(20)], [str(n % 3) for n in range(20)]
    >>> said_again([marks, [f"{mark}.5" for mark in marks], marks, tones, tones], range(5))
    [1, 2]
    """
    first: dict[tuple[int | None, ...], tuple[str | None, ...]] = {}
    again = []
    for n, cells in zip(chosen, zip(*rows_of(columns, chosen), strict=True), strict=True):
        times = Counter(cell for cell in cells if cell is not None)
        numbers = {cell: number for cell in times if (number := number_of(cell)) is not None}
        given, places = (
            sum(times.values()),
            {cell: place for place, cell in enumerate(sorted(numbers, key=numbers.__getitem__))},
        )
        if len(numbers) < len(times) or given < LEAST_TO_COPY or 2 * max(times.values()) > given:  # else alike by chance
            continue
        order = tuple(None if cell is None else places[cell] for cell in cells)
        if first.setdefault(order, cells) is not cells and (first[order] != cells or len(places) > MOST_BY_CHANCE):
            again.append(n)
    return again


def are_flags(names: Sequence[str], columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> list[int]:
    """Return the columns that answer questions of their own, such as ``is_new``, by true or false, where not all are called so.

    >>> are_flags(["is_new", "ann", "bob"], [["True", "False"]] * 3, [0, 1, 2])
    [0]
    """
    begun = [n for n in chosen if words_of(names[n])[:1] and words_of(names[n])[0] in ASKING_BEGINNINGS]
    flags = [n for n in begun if {cell.casefold() for cell in columns[n] if not is_nothing(cell)} <= {"true", "false"}]
    return flags if len(begun) < len(chosen) else []


def settings(names: Sequence[str], columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> list[int]:
    """Return the columns that hold one number in all of many rows, where all that vary beside them are called figures.

    Nothing shows that they answer what the others do: they may be a number of draws beside a score.

    >>> table = [["8"] * 12, ["7", "8", "9"] * 4]
    >>> settings(["k", "cal_score"], table, [0, 1]), settings(["ann", "bob"], table, [0, 1])
    ([0], [])
    """
    held = {n: {cell for cell in columns[n] if not is_nothing(cell)} for n in chosen}
    steady = [n for n, cells in held.items() if len(cells) == 1 and number_of(next(iter(cells))) is not None]
    vary = [n for n in chosen if n not in steady]
    figures = bool(vary) and all(any(map(is_asking, words_of(names[n]))) for n in vary)
    unlike = not any(is_asking(word) for n in steady for word in words_of(names[n]))
    return steady if figures and unlike and len(columns[chosen[0]]) >= LEAST_TO_COPY else []


def _spread_of_sums(rows: Sequence[tuple[str | None, ...]]) -> float | None:
    """Return the variance of rows' sums as a share of the columns' own: 1 if unrelated; None unless they may count."""
    numbers = [[number_of(cell or "") for cell in row] for row in rows]
    table = [[number for number in row if number is not None and number >= 0 and number.is_integer()] for row in numbers]
    if len(table) < LEAST_ROWS_SHARED or any(len(row) < len(rows[0]) for row in table):
        return None
    apart = np.var(table, axis=0).sum()
    return float(np.var(np.sum(table, axis=1)) / apart) if apart else None


def are_strangers(columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> bool:
    """Return whether columns agree no more than chance would have them, by their values or by their order.

    They may where there are too few rows to show even slight agreement.

    >>> table = list(zip(*["xxy", "yyx", "xxx", "yyy"] * 60))
    >>> are_strangers(table, [0, 1]), are_strangers(table, [0, 2])
    (False, True)
    """
    rows = rows_of(columns, chosen)
    places = {cell: n for n, cell in enumerate(sorted({cell for row in rows for cell in row if cell is not None}))}
    codes = np.array([[-1 if cell is None else places[cell] for cell in row] for row in rows])
    numbers = np.array([number_of(cell) or 0.0 for cell in places]) if all(number_of(c) is not None for c in places) else None
    gain = spread = order = slight = 0.0
    n_ordered = 0
    for n, one in enumerate(codes.T):
        for other in codes.T[n + 1 :]:
            first, second = one[(one >= 0) & (other >= 0)], other[(one >= 0) & (other >= 0)]
            if not len(first):
                continue
            shares = [np.bincount(half, minlength=len(places)) / len(first) for half in (first, second)]
            chance = float(shares[0] @ shares[1])
            gain += float((first == second).sum()) - len(first) * chance
            spread += len(first) * chance * (1 - chance)
            slight += SLIGHT_AGREEMENT * len(first) * (1 - chance)
            if numbers is not None and len(set(first)) > 1 and len(set(second)) > 1:
                order += float(np.corrcoef(numbers[first], numbers[second])[0, 1]) * np.sqrt(len(first) - 1)
                n_ordered += 1
    if not spread or slight <= WOULD_SHOW * np.sqrt(spread):
        return False
    above = [gain / np.sqrt(spread), *([order / np.sqrt(n_ordered)] if n_ordered else [])]
    return bool(max(above) <= BY_CHANCE)
