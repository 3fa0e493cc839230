"""What may be the two sides of comparisons, and who won, where names do not tell: proposed in messages, and never taken."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, TypeAlias

from crowdassay.labels.contents import (
    CLOCK_WORDS,
    LABEL_LENGTH,
    YES_OR_NO,
    cell_text,
    is_count,
    is_id,
    is_known,
    is_position,
    key_of,
    words_of,
)
from crowdassay.labels.formats.stems import as_pattern
from crowdassay.labels.roles import ROLES, is_worker_name
from crowdassay.labels.sides import (
    LEFT,
    MOST_CODES,
    OPPOSITES,
    RIGHT,
    SIDE_WORDS,
    TIE_WORDS,
    Rows,
    alike,
    called_winner,
    name_parts,
    options_of_won,
    plain_word,
    says_of_one,
    says_who_lost,
    says_who_won,
    texts_of,
    turned_round,
    won_and_lost,
)
from crowdassay.labels.values import are_numbers, listed, number_of, shown, shown_file
from crowdassay.read_options import join_names
from crowdassay.text import joined

SCORE_WORDS = frozenset(
    {"score", "scores", "goals", "points", "pts", "runs", "sets", "votes", "rating", "ratings", "grade", "reward", "result"}
)
WORDS_OF_A_TEXT = 6  # from which on what was compared is a text, and no name
BETWEEN_NAMES = (",", ";", "|", " vs. ", " vs ", "_vs_", " / ", "_")  # what stands between two names in one cell
LEAST_CHOICES = 10  # rows from which on a column that always names one of two others says who won
MOST_LIKELY_BY_CHANCE = 1e-3  # chance at most that among all columns tried one always names one of two others
MOST_OTHERS = 3  # other columns that a proposal names

Cells: TypeAlias = Sequence[str | None]


def compared_said(names: Sequence[str], known: Mapping[str, str], given: Mapping[str, str | None], rows: Rows) -> list[str]:
    """Return a sentence on which columns may be the two that were compared and say who won, and the options that say so.

    Parameters
    ----------
    names : sequence of str
    known : mapping
        The columns that are known, by role.
    given : mapping
        Those of them that a user named, as they were named.
    rows : sequence of mappings

    Examples
    --------
    >>> rows = [{"doc_a": f"a{n}", "doc_b": f"b{n}", "radio": "abs"[n]} for n in range(3)]
    >>> compared_said(["doc_a", "doc_b", "radio"], {}, {}, rows)[0].partition(", say ")[2]
    "--left-column 'doc_a' --right-column 'doc_b' --winner-column 'radio'."
    """
    sides = [known[side] for side in ("left", "right") if side in known]
    free = [name for name in names if name not in known.values()]
    pairs = [] if sides else _may_be_sides(free, rows)
    if not sides and (both := _both_in_one(free, rows)):
        return both
    if not sides and (way := way_to_rank(free, rows, pairs, known.get("winner"))) is not None:
        return [f"{way[0].upper()}{way[1:]}."]
    if not sides and not pairs:
        return ["If no column names the two that were compared, add left and right with their names to every row."]
    if len(sides) == 1:
        return []
    pair = [*sides] if sides else [*pairs[0]]
    options = {role: given.get(role) or (None if sides else name) for role, name in zip(("left", "right"), pair, strict=True)}
    ifs = [] if sides else [f"{joined([shown(name) for name in pair])} are the two that were compared"]
    told = "winner" in known or given.get("winner")
    voters = [] if told else _voters(free, rows, pair)
    won = [] if told or voters else _may_say_who_won(free, rows, pair)
    scores = [] if told or voters or won else _may_be_scores(free, rows, pair)
    options["winner"] = given.get("winner")
    if len(won) == 1:
        ifs.append(f"{shown(won[0])} says who won")
        options["winner"] = won[0]
    if scores:
        ifs.append(f"the larger of {joined([shown(name) for name in scores[0]])} won")
        options["winner"] = join_names(scores[0])
    if voters:
        ifs.append(f"each of {listed(voters, MOST_OTHERS)} holds the choices of one worker")
    if not ifs and not won:
        return []
    said = " ".join(f"{ROLES[role].option} {shown_file(name)}" for role, name in options.items() if name)
    said = f"say {said}" if said else ""
    if voters:
        own = as_pattern(names, [n for n, name in enumerate(names) if name in voters])
        said += f"{' ' if said else 'say '}--worker-columns {shown_file(own)}"
    elif len(won) > 1:
        said += f"{', and ' if said else ''}choose one of {listed(won, MOST_OTHERS)} with --winner-column"
    elif not (won or scores or told):
        said += ", and name the column that says who won with --winner-column"
    said = f"If {' and '.join(ifs)}, {said}." if ifs else f"{said[0].upper()}{said[1:]}, if it says who won."
    return [said, *_others("The two", pairs), *_others("The numbers", scores)]


def way_to_rank(
    names: Sequence[str], rows: Rows, pairs: Sequence[tuple[str, str]] = (), winner: str | None = None
) -> str | None:
    """Return in which case `rank` reads columns that were not called sides, and the options that say so; None if it does not.

    These are the one that won and the one that lost or, beside no ``pairs`` of sides, a column that names one of two others,
    the ``winner`` where it is known.

    >>> rows = [{"chosen_key": "xyz"[n % 3], "unchosen_key": "uvx"[n % 3]} for n in range(9)]
    >>> way_to_rank([*rows[0]], rows).partition(", say ")[0]
    "if 'chosen_key' names the one that won and 'unchosen_key' the one that lost"
    """
    for won, lost in won_and_lost(names) if winner is None else []:
        if (options := options_of_won(won, lost)) and _may_hold_sides(rows, won, lost):
            return f"if {shown(won)} names the one that won and {shown(lost)} the one that lost, say {options}"
    three = None if pairs else chosen_of_two([*names, *([winner] if winner else [])], rows)
    if three is None or winner not in {None, three[2]}:
        return None
    one, two, winner = three
    options = f"--left-column {shown_file(one)} --right-column {shown_file(two)} --winner-column {shown_file(winner)}"
    return f"if {shown(one)} and {shown(two)} are the two that were compared and {shown(winner)} says who won, say {options}"


def chosen_of_two(names: Sequence[str], rows: Rows) -> tuple[str, str, str] | None:
    """Return two columns that always differ and a third that says in every row what one of them holds; None if there are none.

    Of several such thirds one that is called like a winner is meant, and where that does not tell none is. Workers' own columns
    and questions of a survey are none, whose few classes may agree by chance.

    >>> rows = [{"plain": f"p{n}", "rich": f"r{n}", "pick": ("p", "r")[n % 3 > 0] + str(n), "n": n} for n in range(12)]
    >>> chosen_of_two(["n", "plain", "rich", "pick"], rows)
    ('plain', 'rich', 'pick')
    """
    names = list(dict.fromkeys(names))
    cells = {name: [cell if _is_given(cell := cell_text(row.get(name))) else None for row in rows] for name in names}
    sides = [name for name in names if not (is_worker_name(name) or is_known(name) or _is_called_won_or_lost(name))]
    found = []
    for name in (name for name in names if not (is_worker_name(name) or is_known(name) or says_who_lost(name))):
        picked = cells[name]
        same = {other for other in sides for a, b in zip(cells[other], picked, strict=True) if a is not None and a == b}
        near = [other for other in sides if other in same and other != name]
        found += [
            (one, two, name)
            for one, two in combinations(near, 2)
            if not _are_numbered_alike(names, one, two, name)
            and _always_names_one(cells[one], cells[two], picked, len(names) * math.comb(len(names) - 1, 2))
        ]
    called = [three for three in found if three[2] in called_winner(names) or _is_called_won_or_lost(three[2])]
    return (called or found)[0] if len(called or found) == 1 else None


def _always_names_one(one: Cells, two: Cells, picked: Cells, n_tried: int) -> bool:
    """Return whether a column names one of two others in every row, not always the same one, and hardly by chance.

    By chance a row names one of two as often as the column holds either of them anywhere; so all rows do with the product.

    >>> _always_names_one(list("xyzuvw") * 2, list("yzuvwx") * 2, list("xzzvvw") * 2, 3), _always_names_one(*["ab" * 6] * 3, 3)
    (True, False)
    """
    given = [(a, b, w) for a, b, w in zip(one, two, picked, strict=True) if None not in (a, b, w)]
    first = sum(a == w for a, _, w in given)
    every = all(a != b and w in {a, b} for a, b, w in given)
    if len(given) < LEAST_CHOICES or 2 * len(given) <= len(one) or not every or not 0 < first < len(given):
        return False
    held = Counter(w for *_, w in given)
    chances = (min((held[a] + held[b]) / len(given), 1.0) for a, b, _ in given)
    return math.log(n_tried) + sum(map(math.log, chances)) < math.log(MOST_LIKELY_BY_CHANCE)


def _are_numbered_alike(names: Sequence[str], one: str, two: str, winner: str) -> bool:
    """Return whether a winner is numbered as a side is, or sides are two of more that are numbered alike, as questions are.

    >>> names = ["word1", "word2", "word1_ms", "word2_ms", "Question 1: a", "Question 2: b", "Question 3: c", "pick"]
    >>> _are_numbered_alike(names, *names[4:7]), _are_numbered_alike(names, "word1", "word2", "pick")
    (True, False)
    """
    numbered = {name: (found[1], found[2]) for name in names if (found := re.match(r"(\D*)(\d+)", name)) is not None}
    stems = [numbered[side][0] for side in (one, two) if side in numbered]
    numbers = Counter(stem for stem, _ in set(numbered.values()))
    return (winner in numbered and numbered[winner][0] in stems) or any(numbers[stem] > len((one, two)) for stem in stems)


def _is_called_won_or_lost(name: str) -> bool:
    """Return whether a column is called after the one that won or lost, and so after neither side."""
    return says_who_lost(name) or not OPPOSITES.keys().isdisjoint(name_parts(name))


def split_both(cells: Sequence[str]) -> list[tuple[str, str]] | None:
    """Return the two names that every cell holds; None where nothing separates them in all.

    >>> split_both(["x,y", "y, z"]), split_both(["x vs y"]), split_both(["x,y", "z"])
    ([('x', 'y'), ('y', 'z')], [('x', 'y')], None)
    """
    for mark in BETWEEN_NAMES:
        parts = [tuple(part.strip() for part in cell.split(mark)) for cell in cells]
        if cells and all(len(one) == 2 and all(one) for one in parts):
            return [(one[0], one[1]) for one in parts]
    return None


def _both_in_one(names: Sequence[str], rows: Rows) -> list[str]:
    """Return a sentence on a column that holds both names, of which others say which one won, and the options that say so."""
    for name in names:
        held = [row for row in rows if cell_text(row.get(name)) is not None]
        both = split_both(texts_of(held, name))
        if both is None or 2 * len(held) <= len(rows):
            continue
        halves = [{**row, 0: one, 1: two} for row, (one, two) in zip(held, both, strict=True)]
        named = [other for other in names if _names_winners(halves, other)]
        if named:
            who, option = f" and {shown(named[0])} says who won", f" --winner-column {shown_file(named[0])}"
            who, option = (
                (who, option) if len(named) == 1 else ("", f", and choose one of {listed(named)} with --winner-column")
            )
            sides = f"--left-column {shown_file(name)} --right-column {shown_file(name)}"
            return [f"If {shown(name)} holds the two that were compared{who}, say {sides}{option}."]
    return []


def _names_winners(rows: Sequence[Mapping[Any, Any]], name: str) -> bool:
    """Return whether a column names one of the two halves of a cell, 0 and 1, in every row, or says that there was a tie."""
    cells = [(cell, {row[0], row[1]}) for row in rows if (cell := cell_text(row.get(name))) is not None]
    named = sum(cell in both for cell, both in cells)
    return named > 0 and all(cell in both or plain_word(cell) in TIE_WORDS for cell, both in cells)


def _others(what: str, pairs: Sequence[Sequence[str]]) -> list[str]:
    """Return a sentence on the pairs of columns that may be meant besides the first."""
    others = ", or ".join(joined([shown(name) for name in other]) for other in pairs[1 : MOST_OTHERS + 1])
    return [f"{what} may also be {others}."] if others else []


def _is_given(cell: str | None) -> bool:
    """Return whether a cell holds something, and not NA or its like.

    >>> _is_given("NA"), _is_given(None), _is_given("0")
    (False, False, True)
    """
    from crowdassay.labels.formats.not_workers import is_nothing  # noqa: PLC0415 - seldom needed

    return cell is not None and not is_nothing(cell)


def _may_be_scores(names: Sequence[str], rows: Rows, compared: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of columns of numbers, the left's first, of which the larger may tell who won; those called so alone.

    >>> rows = [{"home_goals": n % 3, "away_goals": n % 2, "home_odds": 1.5 + n, "away_odds": 2.5} for n in range(4)]
    >>> _may_be_scores([*rows[0]], rows, ["home", "away"])
    [('home_goals', 'away_goals')]
    """
    found = []
    for pair in alike(names):
        cells = [[cell_text(row.get(name)) for name in pair] for row in rows]
        both = [[number_of(cell) for cell in one if cell is not None] for one in cells if all(map(_is_given, one))]
        beside = any(is_id(name) or is_position(name) or is_count(name) for name in pair)
        if beside or not CLOCK_WORDS.isdisjoint(words_of(pair[0])) or 2 * len(both) <= len(rows):
            continue
        if all(None not in one for one in both) and any(one[0] != one[1] for one in both):
            found.append((pair[1], pair[0]) if turned_round(compared, pair) else pair)
    called = [pair for pair in found if not SCORE_WORDS.isdisjoint(words_of(pair[0]))]
    return called or found


def _may_be_sides(names: Sequence[str], rows: Rows) -> list[tuple[str, str]]:
    """Return the pairs of columns that may hold what was compared, first those whose values stand on both sides.

    Pairs of ids make one together where one alone would compare many with themselves.

    >>> rows = [{"talk_id_a": 7, "line_id_a": n, "talk_id_b": 7 + n // 2, "line_id_b": 3 + n // 4} for n in range(6)]
    >>> _may_be_sides([*rows[0]], rows)
    [('talk_id_a,line_id_a', 'talk_id_b,line_id_b')]
    """
    pairs = [pair for pair in alike(names) if _may_hold_sides(rows, *pair)]
    pairs.sort(key=lambda pair: set(texts_of(rows, pair[0])).isdisjoint(texts_of(rows, pair[1])))
    ids = [pair for pair in pairs if _are_ids(*pair)]
    lefts, rights = [one for one, _ in ids], [two for _, two in ids]

    def with_itself(left: Sequence[str], right: Sequence[str]) -> int:
        return sum(key_of(row, left) == key_of(row, right) for row in rows)

    if len(ids) > 1 and with_itself(lefts, rights) < min(with_itself([one], [two]) for one, two in ids):
        return [(join_names(lefts), join_names(rights)), *(pair for pair in pairs if pair not in ids)]
    return pairs


def _may_hold_sides(rows: Rows, one: str, two: str) -> bool:
    """Return whether two columns may hold what was compared, judged more mildly than what is taken without a word."""
    cells = [(cell_text(row.get(one)), cell_text(row.get(two))) for row in rows]
    given = [(left, right) for left, right in cells if left is not None and right is not None]
    names = {cell for pair in given for cell in pair}
    beside = any(word in CLOCK_WORDS or ROLES["label"].is_named(word) for word in words_of(one))  # times, or answers
    if len(given) < 2 or 2 * len(given) < len(rows) or beside:
        return False
    votes = {plain_word(name) for name in names} <= SIDE_WORDS.keys() | TIE_WORDS.keys()
    if votes or {name.casefold() for name in names} <= YES_OR_NO:
        return False
    n_words = sum(len(name.split()) for name in names)  # of texts, which cannot be ranked
    short = sum(map(len, names)) <= LABEL_LENGTH * len(names) and n_words < WORDS_OF_A_TEXT * len(names)
    return short and (_are_ids(one, two) or not are_numbers(names)) and 2 * sum(a != b for a, b in given) > len(given)


def _are_ids(one: str, two: str) -> bool:
    """Return whether two names without their words for sides, or for winner and loser, are those of ids.

    >>> _are_ids("Argument ID A", "Argument ID B"), _are_ids("n_a", "n_b")
    (True, False)
    """
    return is_id(" ".join(word for word in name_parts(one) if word in name_parts(two)))


def _voters(names: Sequence[str], rows: Rows, compared: Sequence[str]) -> list[str]:
    """Return the columns of workers who said which one won: numbered alike, with few words or codes that all of them use.

    >>> rows = [{"ann1": n % 2, "ann2": n % 3 % 2, "len_1": 7 * n, "len_2": 5 * n} for n in range(12)]
    >>> _voters([*rows[0]], rows, ["l", "r"])
    ['ann1', 'ann2']
    """
    families: dict[str, list[str]] = {}
    for name in (name for name in names if name not in compared and (re.search(r"\d", name) or is_worker_name(name))):
        families.setdefault(re.sub(r"\d+|(?<=[\s_\-])[a-z]$", "*", name), []).append(name)
    for family in (own for own in families.values() if len(own) > 1 and len(rows) >= LEAST_CHOICES):
        words = {cell for name in family for cell in texts_of(rows, name) if _is_given(cell)}
        codes = all(map(is_worker_name, family)) and 1 < len(words) <= MOST_CODES
        if codes or (not are_numbers(words) and all(says_who_won(rows, name, compared) for name in family)):
            return family
    return []


def _may_say_who_won(names: Sequence[str], rows: Rows, compared: Sequence[str]) -> list[str]:
    """Return the columns that may say who won, first those that are called so; of numbers with signs only if none else may.

    >>> rows = [{"radio": "abs"[n], "best": "aab"[n], "worst": "bba"[n], "gap": n - 1} for n in range(3)]
    >>> _may_say_who_won([*rows[0]], rows, ["l", "r"]), _may_say_who_won(["gap"], rows, ["l", "r"])
    (['radio', 'best'], ['gap'])
    """
    called, words, signed = called_winner(names), [], []
    sides = {side for pair in alike(names) for side in pair}
    for name in names:
        cells = set(filter(_is_given, texts_of(rows, name)))
        numbers = are_numbers(cells)
        if not cells or says_who_lost(name) or name in compared or (numbers and name in sides):
            continue
        copied = any(all(row.get(name) == row.get(side) for row in rows) for side in compared)
        if (
            (copied and name not in called)
            or is_id(name)
            or is_position(name)
            or is_count(name)
            or not CLOCK_WORDS.isdisjoint(words_of(name))
        ):
            continue
        plain = {plain_word(cell) for cell in cells}
        some = {LEFT, RIGHT} <= {SIDE_WORDS.get(word) for word in plain} and len(plain) <= MOST_CODES and "c" not in plain
        if says_of_one(name, names, rows, compared):
            words.append(name)
        elif numbers:
            words += [name] if name in called and some and says_who_won(rows, name, compared) else []
            values = [number for cell in cells if (number := number_of(cell)) is not None]
            signed += [name] if min(values) < 0 < max(values) else []
        elif some or says_who_won(rows, name, compared):
            words.append(name)
    found = words or signed
    return [*(name for name in found if name in called), *(name for name in found if name not in called)]
