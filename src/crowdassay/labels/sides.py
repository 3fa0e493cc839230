"""Comparisons of two things: which two columns hold the sides, which says who won, and the words for sides and ties."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from crowdassay.errors import ColumnError
from crowdassay.labels.contents import LABEL_LENGTH, YES_OR_NO, cell_text, words_of
from crowdassay.labels.roles import ROLES, Role, plain_name
from crowdassay.labels.values import are_numbers, counted, listed, shown, shown_file
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
WON_AND_LOST = (
    Role(
        "winner",
        "--winner-column",
        ("winner", "chosen", "better", "winning"),
        ("", "id", "name", "model", "team", "choice", "item"),
    ),
    Role(
        "loser",
        "--right-column",
        ("loser", "rejected", "worse", "losing"),
        ("", "id", "name", "model", "team", "choice", "item"),
    ),
)
WON_WORDS = frozenset({"win", "wins", "won", "winner", "better", "best", "preferred", "chosen", "is", "was", "has"})
MOST_CODES = 5  # words for winners among which some may be codes, and that a message lists
MOST_AGAINST = 0.1  # share of rows in which another column may name the other one as the winner
LEAST_DIFFERENT = 0.9  # share of rows in which the two that were compared are different
LEAST_ON_BOTH = 0.5  # share of the names of the side with fewer that stand on the other side as well

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

    >>> won_by("audio1 wins", ["audio1", "audio2"]), won_by("audio_2_is_better", ["audio1", "audio2"])
    (0, 1)
    >>> won_by("audio1 is louder", ["audio1", "audio2"]), won_by("audio1 better than audio2", ["audio1", "audio2"])
    (None, None)
    """
    parts = name_parts(name)
    for side, own in enumerate(map(name_parts, compared)):
        for place in range(len(parts) - len(own) + 1):
            rest = {*parts[:place], *parts[place + len(own) :]}
            if parts[place : place + len(own)] == own and rest <= WON_WORDS and not rest <= {"is", "was", "has"}:
                return side
    return None


def says_of_one(name: str, names: Sequence[str], rows: Rows, compared: Sequence[str]) -> bool:
    """Return whether a column says true or false of one side's winning, and no other column says so of the other or of ties.

    >>> rows = [{"a wins": True}, {"a wins": False}]
    >>> [says_of_one("a wins", names, rows, ["a", "b"]) for names in (["a wins"], ["a wins", "b wins"], ["a wins", "is_tie"])]
    [True, False, False]
    """
    side = won_by(name, compared)
    cells = {cell.casefold() for cell in texts_of(rows, name)}
    others = [other for other in names if other != name and other not in compared]
    tied = any(word in TIE_WORDS or word == "tied" for other in others for word in [*words_of(other), plain_word(other)])
    alone = not tied and all(won_by(other, compared) is None for other in others)
    return side is not None and bool(cells) and cells <= {"true", "false"} and alone


def called_winner(names: Sequence[str]) -> list[str]:
    """Return the columns with a word for winners, verdicts or choices in their names."""
    return [name for name in names if any(map(ROLES["winner"].is_named, words_of(name)))]


def winners_said(names: Sequence[str]) -> list[str]:
    """Return a sentence on columns of winners and losers, which are no labels, where there are such.

    >>> winners_said(["prompt", "chosen", "rejected"])
    ["'chosen' and 'rejected' look like winners and losers, which crowdassay rank reads."]
    """
    won, lost = (role.best(names) for role in WON_AND_LOST)
    both = won and lost and f"{shown(won[0])} and {shown(lost[0])}"
    return [f"{both} look like winners and losers, which crowdassay rank reads."] if both else []


def turned_round(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether of two pairs of columns, each named alike but for a word for a side, one has its right side first.

    >>> turned_round(["home_team", "away_team"], ["away_goals", "home_goals"]), turned_round(["x", "y"], ["goals_b", "goals_a"])
    (True, False)
    """
    first = [[pair == (names[0], names[1]) for pair in alike(names)] for names in (one, other)]
    return all(first) and first[0] != first[1]


def could_compare(names: Sequence[str]) -> bool:
    """Return whether two columns are named like the sides of comparisons, whatever they hold."""
    return all(ROLES[side].best(names) for side in ("left", "right")) or bool(alike(names))


def refuse_comparisons(names: Sequence[str], rows: Rows, labels: Iterable[str]) -> None:
    """Raise `ColumnError` where labels say which of two won that other columns name: these are sides, which change."""
    plain = [ROLES[side].best(names) for side in ("left", "right")]
    pairs = [(plain[0][0], plain[1][0])] if all(len(one) == 1 for one in plain) else []
    pairs = [pair for pair in pairs if _hold_names(rows, *pair)] or side_columns(names, rows)
    for pair in pairs:
        for label in labels:
            if label not in pair and not are_numbers(texts_of(rows, label)) and says_who_won(rows, label, pair):
                raise ColumnError(
                    f"{joined([shown(name) for name in pair])} look like the two sides of comparisons and {shown(label)} says "
                    "which one won, which crowdassay rank reads; if these are classes all the same, say --label-column "
                    f"{shown_file(label)}."
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


def _hold_names(rows: Rows, one: str, two: str) -> bool:
    """Return whether two columns hold what was compared: names that come again on both sides, nearly never side by side."""
    cells = [(cell_text(row.get(one)), cell_text(row.get(two))) for row in rows]
    given = [(left, right) for left, right in cells if left is not None and right is not None]
    left, right = ({pair[side] for pair in given} for side in (0, 1))
    names = left | right
    if len(given) < 2 or 2 * len(given) < len(rows) or len(names) > len(given):
        return False
    if are_numbers(names) or {name.casefold() for name in names} <= YES_OR_NO:
        return False
    short = sum(map(len, names)) <= LABEL_LENGTH * len(names)
    shared = len(left & right) >= LEAST_ON_BOTH * min(len(left), len(right)) > 0
    return short and shared and sum(a != b for a, b in given) >= LEAST_DIFFERENT * len(given)


def texts_of(rows: Rows, name: str) -> list[str]:
    """Return what a column holds where it holds something."""
    return [cell for row in rows if (cell := cell_text(row.get(name))) is not None]


def name_parts(name: str) -> tuple[str, ...]:
    """Return the words and numbers of a name, small.

    >>> name_parts("leftModel_2")
    ('left', 'model', '2')
    """
    return tuple(re.findall(r"\d+|[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold()))
