"""Comparisons of two things: which two columns hold the sides, which says who won, and the words for sides and ties."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from crowdassay.errors import ColumnError
from crowdassay.labels.contents import LABEL_LENGTH, YES_OR_NO, cell_text, words_of
from crowdassay.labels.roles import ROLES, Role, plain_name
from crowdassay.labels.values import are_numbers, counted, listed, shown, shown_file
from crowdassay.statistics import connected_parts
from crowdassay.text import joined

LEFT, RIGHT, TIED, BOTH_BAD, MISSING = 0, 1, 2, 3, -1
SIDE_WORDS = {
    "left": LEFT, "a": LEFT, "modela": LEFT, "model1": LEFT, "first": LEFT, "1": LEFT, "leftwins": LEFT, "awins": LEFT,
    "modelawins": LEFT, "right": RIGHT, "b": RIGHT, "modelb": RIGHT, "model2": RIGHT, "second": RIGHT, "2": RIGHT,
    "rightwins": RIGHT, "bwins": RIGHT, "modelbwins": RIGHT, "home": LEFT, "homewins": LEFT, "hometeam": LEFT, "away": RIGHT,
    "awaywins": RIGHT, "awayteam": RIGHT, "visitor": RIGHT,
}  # fmt: skip
TIE_WORDS = {
    "tie": TIED, "ties": TIED, "draw": TIED, "equal": TIED, "same": TIED, "bothgood": TIED, "tiebothgood": TIED,
    "tieinconsistent": TIED, "bothbad": BOTH_BAD, "tiebothbad": BOTH_BAD, "neither": BOTH_BAD,
}  # fmt: skip
SIDE_NAMES = (
    ("a", "b", "c"), ("left", "right", "middle"), ("1", "2", "3"), ("first", "second", "third"), ("home", "away", "neutral"),
    ("home", "visitor", "away"),
)  # fmt: skip
SIDES_OF_THEIR_OWN = ("home",)  # words for sides that are whole names of columns, which no role knows
PICKED = ("chosen", "preferred", "selected", "picked")
NEGATIONS = ("not", "un", "non", "dis")  # before a word for the one that won, such as unchosen
OPPOSITES = {  # what the loser is called beside a winner
    "winner": ("loser",),
    "chosen": ("rejected",),
    "better": ("worse",),
    "winning": ("losing",),
}
OPPOSITES |= {word: (*OPPOSITES.get(word, ()), *(no + word for no in NEGATIONS)) for word in PICKED}
LOST_WORDS = frozenset({"worst", "lose", "loses", "lost", *(word for words in OPPOSITES.values() for word in words)})
OF_THE_TWO = ("", "id", "name", "model", "team", "choice", "item")  # what may follow a word for the winner or the loser
WON_AND_LOST = (
    Role("winner", "--winner-column", tuple(OPPOSITES), OF_THE_TWO),
    Role("loser", "--right-column", tuple(word for words in OPPOSITES.values() for word in words), OF_THE_TWO),
)
WON_WORDS = frozenset({"win", "wins", "won", "winner", "better", "best", "prefer", "prefers", "is", "was", "has", *PICKED})
MOST_CODES = 5  # words for winners among which some may be codes, and that a message lists
MOST_AGAINST = 0.1  # share of rows in which another column may name the other one as the winner
LEAST_DIFFERENT = 0.9  # share of rows in which the two that were compared are different
LEAST_ON_BOTH = 0.5  # share of the names of the side with fewer that stand on the other side as well
LEAST_LINKED = 3  # names from which on comparisons in one order only link them

Rows = Sequence[Mapping[str, Any]]


def plain_word(text: str) -> str:
    """Return a word without case and punctuation.

    >>> plain_word("tie (bothbad)"), plain_word("Model_A")
    ('tiebothbad', 'modela')
    """
    return re.sub(r"[^0-9a-z]+", "", text.casefold())


def choose_sides(names: Sequence[str], rows: Rows) -> tuple[str, str] | None:
    """Return the columns of the left and the right one where no plain name tells them; None if none may be.

    Several such pairs are refused. Where the loser has a column, the sides are not needed.
    """
    if any(plain_name(name).startswith(("loser", "losing", "rejected")) for name in names):
        return None
    pairs = side_columns(names, rows)
    if len(pairs) > 1:
        ways = ", or ".join(joined([shown(name) for name in pair]) for pair in pairs)
        raise ColumnError(
            f"Several pairs of columns could be the two that were compared ({ways}); name one pair with --left-column and "
            "--right-column."
        )
    return pairs[0] if pairs else None


def side_columns(names: Sequence[str], rows: Rows) -> list[tuple[str, str]]:
    """Return the pairs of columns that are named alike but for a word for a side, and that hold what was compared.

    >>> rows = [{"shown_a": "x", "shown_b": "y", "n_a": 1, "n_b": 2}, {"shown_a": "y", "shown_b": "x", "n_a": 2, "n_b": 1}]
    >>> side_columns(["shown_a", "shown_b", "n_a", "n_b"], rows)
    [('shown_a', 'shown_b')]
    """
    return [pair for pair in alike(names) if _hold_names(rows, *pair)]


def fuller_winner(winner: str, names: Sequence[str], rows: Rows, compared: Sequence[str]) -> str:
    """Return the column that says who won: another, where the first is empty in its ties, and both agree elsewhere.

    >>> rows = [{"l": "x", "r": "y", "winner": "x", "pick": "a"}, {"l": "x", "r": "y", "winner": "", "pick": "tie"}]
    >>> fuller_winner("winner", ["pick"], rows, ["l", "r"])
    'pick'
    """
    gaps = [row for row in rows if cell_text(row.get(winner)) is None]
    if not gaps:
        return winner
    there = {name: [plain_word(cell) for cell in texts_of(gaps, name)] for name in names}
    tied = [name for name, words in there.items() if words and TIE_WORDS.keys() >= {*words}]
    full = [name for name in tied if len(texts_of(rows, name)) == len(rows) and says_who_won(rows, name, compared)]
    full = [name for name in full if all(_side(row, winner, compared) in {None, _side(row, name, compared)} for row in rows)]
    if len(full) == 1:
        return full[0]
    if tied:
        raise ColumnError(
            f"The winner's column {shown(winner)} is empty in rows in which {listed(tied)} says that there was a tie; name the "
            f"column that says who won with --winner-column, such as --winner-column {shown_file(tied[0])}."
        )
    return winner


def doubt_winner(winner: str, names: Sequence[str], rows: Rows, compared: Sequence[str]) -> None:
    """Raise `ColumnError` where a column tells winners by side, and others by name who say otherwise: sides may be as shown."""
    if not {plain_word(cell) for cell in texts_of(rows, winner)} <= SIDE_WORDS.keys() | TIE_WORDS.keys():
        return
    against, sides = [], {side for pair in alike(names) for side in pair}
    for name in names:
        if name in sides:
            continue
        both = [(_side(row, winner, compared), _side(row, name, compared)) for row in rows]
        decided = [pair for pair in both if set(pair) <= {LEFT, RIGHT}]
        by_name = not {plain_word(cell) for cell in texts_of(rows, name)} <= SIDE_WORDS.keys() | TIE_WORDS.keys()
        if decided and by_name and says_who_won(rows, name, compared):
            apart = sum(one != other for one, other in decided)
            against += [(name, apart, len(decided))] if apart > MOST_AGAINST * len(decided) else []
    if against:
        name, apart, n_rows = against[0]
        ways = listed([winner, *(one[0] for one in against)])
        raise ColumnError(
            f"{shown(winner)} and {shown(name)} say that different ones won in {apart:,} of {counted(n_rows, 'row')}: sides "
            f"may be meant as they were shown. Choose one of {ways} with --winner-column."
        )


def only_winner(names: Sequence[str], rows: Rows, compared: Sequence[str]) -> str | None:
    """Return the column that says who won, such as ``overall_winner``, where no other is called like one.

    >>> only_winner(["is_tie", "text"], [{"is_tie": False, "text": "a"}], ["l", "r"])
    >>> only_winner(["A wins", "text"], [{"A wins": False, "text": "a"}], ["A", "B"])
    'A wins'
    """
    called = called_winner(names) or [name for name in names if won_by(name, compared) is not None]
    if len(called) != 1:
        return None
    says = says_who_won(rows, called[0], compared) or says_of_one(called[0], names, rows, compared)
    return called[0] if says else None


def won_by(name: str, compared: Sequence[str]) -> int | None:
    """Return the side that a column is called the winner of, by the side's own name and words for winners alone; else None.

    The word in which the two sides' names differ stands for the name as well, but no number at the end, which numbers winners.

    >>> won_by("audio1 wins", ["audio1", "audio2"]), won_by("is_B_selected", ["condition_A", "condition_B"])
    (0, 1)
    >>> won_by("audio1 is louder", ["audio1", "audio2"]), won_by("winner_2", ["audio1", "audio2"])
    (None, None)
    """
    parts, owns = name_parts(name), [name_parts(side) for side in compared]
    apart = [pair for pair in zip(*owns, strict=False) if pair[0] != pair[1]]
    differ = apart[0] if len(apart) == 1 and len({*map(len, owns)}) == 1 else ()
    for side, own in [*enumerate(owns), *enumerate((word,) for word in differ)]:
        for place in range(len(parts) - len(own) + 1):
            rest = {*parts[:place], *parts[place + len(own) :]}
            numbers = own != owns[side] and own[0].isdecimal() and place == len(parts) - 1
            called = rest <= WON_WORDS and not rest <= {"is", "was", "has"}
            if parts[place : place + len(own)] == own and called and not numbers:
                return side
    return None


def says_of_one(name: str, names: Sequence[str], rows: Rows, compared: Sequence[str]) -> bool:
    """Return whether a column says yes or no of one side's winning, and no other column says so of the other or of ties.

    Yes and no may be written as true and false, or 1 and 0, unless what was compared is called so.

    >>> rows = [{"a wins": 1}, {"a wins": 0}]
    >>> [says_of_one("a wins", names, rows, ["a", "b"]) for names in (["a wins"], ["a wins", "b wins"], ["a wins", "is_tie"])]
    [True, False, False]
    """
    side = won_by(name, compared)
    cells = {cell.casefold() for cell in texts_of(rows, name)}
    cells = cells if all(cells.isdisjoint(texts_of(rows, other)) for other in compared) else set()
    others = [other for other in names if other != name and other not in compared]
    tied = any(word in TIE_WORDS or word == "tied" for other in others for word in [*words_of(other), plain_word(other)])
    alone = not tied and all(won_by(other, compared) is None for other in others)
    return side is not None and bool(cells) and cells <= YES_OR_NO and alone


def called_winner(names: Sequence[str]) -> list[str]:
    """Return the columns with a word for winners, verdicts or choices in their names."""
    return [name for name in names if any(map(ROLES["winner"].is_named, words_of(name)))]


def says_who_lost(name: str) -> bool:
    """Return whether a column is called after the one that lost.

    >>> says_who_lost("unchosen_pair"), says_who_lost("pairNotChosen"), says_who_lost("chosen_pair")
    (True, True, False)
    """
    parts = name_parts(name)
    return not LOST_WORDS.isdisjoint([*parts, *("".join(two) for two in pairwise(parts))])


def won_and_lost(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of columns that are called after the winner and the loser, those first that need no other words.

    >>> won_and_lost(["prompt", "chosen_pair", "unchosen_pair", "chosen", "notChosen"])
    [('chosen', 'notChosen'), ('chosen_pair', 'unchosen_pair')]
    """
    won, lost = (role.best(names) for role in WON_AND_LOST)
    pairs = [(won[0], lost[0])] if won and lost else []
    by_parts = {"".join(name_parts(name)): name for name in names}
    for name in names:
        parts = name_parts(name)
        for place, word in enumerate(parts):
            spelt = ("".join([*parts[:place], lost, *parts[place + 1 :]]) for lost in OPPOSITES.get(word, ()))
            pairs += [(name, by_parts[other]) for other in spelt if other in by_parts]
    return list(dict.fromkeys(pairs))


def options_of_won(won: str, lost: str) -> str:
    """Return the options that name the columns of the winner and the loser; none where `rank` knows them by their names.

    >>> options_of_won("chosen", "rejected"), options_of_won("chosen_pair", "unchosen_pair")[:28]
    ('', "--left-column 'chosen_pair' ")
    """
    if all(role.best([name]) for role, name in zip(WON_AND_LOST, (won, lost), strict=True)):
        return ""
    sides = zip(("left", "right", "winner"), (won, lost, won), strict=True)
    return " ".join(f"{ROLES[side].option} {shown_file(name)}" for side, name in sides)


def winners_said(names: Sequence[str]) -> list[str]:
    """Return a sentence on columns of winners and losers, which are no labels, where there are such that `rank` knows.

    >>> winners_said(["prompt", "chosen", "rejected"])
    ["'chosen' and 'rejected' look like winners and losers, which crowdassay rank reads."]
    """
    known = [pair for pair in won_and_lost(names) if not options_of_won(*pair)]
    return [f"{_said_of_won(*pair)}." for pair in known[:1]]


def _said_of_won(won: str, lost: str) -> str:
    options = options_of_won(won, lost)
    return (
        f"{shown(won)} and {shown(lost)} look like winners and losers, which crowdassay rank reads"
        f"{f' with {options}' if options else ''}"
    )


def turned_round(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether of two pairs of columns, each named alike but for a word for a side, one has its right side first.

    >>> turned_round(["home_team", "away_team"], ["away_goals", "home_goals"]), turned_round(["x", "y"], ["goals_b", "goals_a"])
    (True, False)
    """
    first = [[pair == (names[0], names[1]) for pair in alike(names)] for names in (one, other)]
    return all(first) and first[0] != first[1]


def could_compare(names: Sequence[str]) -> bool:
    """Return whether two columns are named like the sides of comparisons, or winner and loser, whatever they hold."""
    sides = all(ROLES[side].best(names) for side in ("left", "right")) or alike(names)
    return bool(sides or won_and_lost(names))


def refuse_comparisons(names: Sequence[str], rows: Rows, label: str | None, free: Sequence[str]) -> None:
    """Raise `ColumnError` where labels say which of two won that other columns name: these are sides, which change.

    Where no name tells the label, what is called a winner among the ``free`` columns may be one, and a winner or loser as well.
    """
    for won, lost in won_and_lost(names):
        if label in {None, won, lost} and _hold_names(rows, won, lost, in_one_order=True):
            raise ColumnError(f"{_said_of_won(won, lost)}; if another column holds the labels, name it with --label-column.")
    plain = [ROLES[side].best(names) for side in ("left", "right")]
    pairs = [(plain[0][0], plain[1][0])] if all(len(one) == 1 for one in plain) else []
    for pair in (pair for pair in [*pairs, *alike(names)] if _hold_names(rows, *pair, in_one_order=True)):
        called = [name for name in free if won_by(name, pair) is not None]
        for name in [*called_winner(free), *called] if label is None else [label]:
            named = not are_numbers(texts_of(rows, name)) and says_who_won(rows, name, pair)
            if name not in pair and (named or says_of_one(name, names, rows, pair)):
                raise ColumnError(
                    f"{joined([shown(side) for side in pair])} look like the two sides of comparisons and {shown(name)} says "
                    "which one won, which crowdassay rank reads; if these are classes all the same, say --label-column "
                    f"{shown_file(name)}."
                )


def alike(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of columns that are named alike but for a word for a side, of which there is no third.

    >>> alike(["left_model", "right_model", "x1", "x2", "x3", "rater_a", "rater_b", "homeTeam", "awayTeam"])
    [('left_model', 'right_model'), ('homeTeam', 'awayTeam')]
    """
    by_parts = {name_parts(name): name for name in names}
    pairs = []
    for parts, name in by_parts.items():
        for place, word in enumerate(parts):
            rest = (parts[:place], parts[place + 1 :])
            of_workers = any(map(ROLES["worker"].is_named, (*rest[0], *rest[1])))
            whole = len(parts) == 1 and word not in SIDES_OF_THEIR_OWN
            for one, two, three in SIDE_NAMES if not (whole or of_workers) else ():
                other = by_parts.get((*rest[0], two, *rest[1]))
                if word == one and other is not None and (*rest[0], three, *rest[1]) not in by_parts:
                    pairs.append((name, other))
    return pairs


def says_who_won(rows: Rows, name: str, compared: Sequence[str]) -> bool:
    """Return whether a column holds nothing but sides, ties and, row by row, what was compared, and more than ties."""
    words = [plain_word(cell) for cell in texts_of(rows, name)]
    decided = [n for n, word in enumerate(words) if word not in TIE_WORDS]
    return bool(decided) and (
        all(words[n] in SIDE_WORDS for n in decided)
        or all(
            (cell := cell_text(row.get(name))) is None
            or plain_word(cell) in TIE_WORDS
            or cell in {cell_text(row.get(other)) for other in compared}
            for row in rows
        )
    )


def _side(row: Mapping[str, Any], name: str, compared: Sequence[str]) -> int | None:
    """Return which side won a comparison, or that it was a tie, as a column says by name or by side; None where it does not."""
    cell = cell_text(row.get(name))
    if cell is None:
        return None
    names = [cell_text(row.get(side)) for side in compared]
    word = plain_word(cell)
    return names.index(cell) if cell in names else TIED if word in TIE_WORDS else SIDE_WORDS.get(word, MISSING)


def _hold_names(rows: Rows, one: str, two: str, *, in_one_order: bool = False) -> bool:
    """Return whether two columns hold what was compared: names that come again on both sides, nearly never side by side.

    Where they may be compared ``in_one_order`` only, names need not come on both sides if comparisons link all of them.
    """
    cells = [(cell_text(row.get(one)), cell_text(row.get(two))) for row in rows]
    given = [(left, right) for left, right in cells if left is not None and right is not None]
    left, right = ({pair[side] for pair in given} for side in (0, 1))
    names = left | right
    if len(given) < 2 or 2 * len(given) < len(rows) or len(names) > len(given):
        return False
    if are_numbers(names) or {name.casefold() for name in names} <= YES_OR_NO:
        return False
    short = sum(map(len, names)) <= LABEL_LENGTH * len(names)
    shared = len(left & right) >= LEAST_ON_BOTH * min(len(left), len(right)) > 0 or (in_one_order and _are_linked(given))
    return short and shared and sum(a != b for a, b in given) >= LEAST_DIFFERENT * len(given)


def _are_linked(pairs: Sequence[tuple[str, str]]) -> bool:
    """Return whether names that come again are linked by having been side by side, as no two answers to each question are.

    >>> _are_linked([("x", "y"), ("x", "z")] * 3), _are_linked([("x", "y"), ("u", "v")] * 3), _are_linked([("x", "y")] * 3)
    (True, False, False)
    """
    place = {name: n for n, name in enumerate({name for pair in pairs for name in pair})}
    if not LEAST_LINKED <= len(place) <= len(pairs) / 2:
        return False
    left, right = (np.array([place[pair[side]] for pair in pairs]) for side in (0, 1))
    return not connected_parts(left, right, len(place)).any()


def texts_of(rows: Rows, name: str) -> list[str]:
    """Return what a column holds where it holds something."""
    return [cell for row in rows if (cell := cell_text(row.get(name))) is not None]


def name_parts(name: str) -> tuple[str, ...]:
    """Return the words and numbers of a name, small.

    >>> name_parts("leftModel_2")
    ('left', 'model', '2')
    """
    return tuple(re.findall(r"\d+|[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold()))
