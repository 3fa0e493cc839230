"""The first screen: what is known, how wrong it is, who needs attention, what it will cost, and what to do next."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crowdassay.findings.agreement import agreement
from crowdassay.findings.insight import Insight
from crowdassay.findings.money import WAYS_TO_SETTLE, Ask, Money, count_money
from crowdassay.findings.money_words import advice, headline, missing_prices, spending
from crowdassay.findings.scores import Against
from crowdassay.findings.verdicts import REMOVE, RETRAIN, TALK
from crowdassay.labels.values import counted
from crowdassay.notes import NoteKind, kind_of
from crowdassay.results.show import Section, card, table_section
from crowdassay.text import joined, short

MOST_RESAMPLED = 2_000_000  # labels beyond which agreement has no interval
WORKERS_NAMED = 4  # workers named on a card for each verb
VERBS = {REMOVE: "Remove", TALK: "Talk to", RETRAIN: "Retrain"}
IN_BRACKETS, COMMAND_OPTION = re.compile(r" \([^()]*--[a-z][^()]*\)"), re.compile(r"(^|\s)--[a-z]|`")


def cards(insight: Insight, against: Against | None, money: Money | None = None) -> list[dict[str, str]]:
    """Return a question, a figure, a tone and a sentence for each card."""
    money = money or count_money(insight)
    tone = "bad" if money.chance and money.open_items else ""
    cost = card("What will it cost?", headline(money), " ".join(worth_knowing([advice(money), missing_prices(money)])), tone)
    four = [_known(insight), _wrong(insight, against), _attention(insight), cost]
    gold_warning = insight.record.gold_warning
    return [*four, card("Known items", "contradict the crowd", gold_warning, "bad")] if gold_warning else four


def _known(insight: Insight) -> dict[str, str]:
    totals, likely = insight.totals, insight.likely_right
    share = totals.settled / totals.items
    # Where nothing is settled, that is no reason to say that nothing is known.
    value = f"{totals.settled or likely or 0:,} of {totals.items:,}"
    return card("What is known?", value, insight.told_known, "good" if share > 0.9 else "warn" if share < 0.5 else "")


def _wrong(insight: Insight, against: Against | None) -> dict[str, str]:
    measured, error = "", insight.error
    if against is not None:
        rate = against.mean("error_rate")
        measured = f" Against the truth of {counted(against.known, 'item')}{told(against)}: {rate:.1%} wrong."
    text = " ".join(worth_knowing([insight.told_error, insight.told_bands, insight.told_next])) + measured
    value, tone = ("unknown", "bad") if error is None else (f"{error.error:.1%}", "")
    return card("How wrong is it?", value, text, tone)


def told(against: Against) -> str:
    """Return how many items were left out because their class was given."""
    return f" ({against.gold:,} given as gold left out)" if against.gold else ""


def _attention(insight: Insight) -> dict[str, str]:
    workers = insight.record.labels.workers
    if not insight.connection.identified.any() or insight.chance:
        return card("Who needs attention?", "unknown", "No worker can be judged from these labels.", "bad")
    flagged = insight.attention
    if not flagged:
        return card("Who needs attention?", "nobody", "Nothing speaks against any worker.", "good")
    parts = []
    for action, chosen in _by_action(insight).items():
        names = [short(workers[i].as_py(), 24) for i in chosen]
        parts.append(f"{VERBS[action]} {joined(names, WORKERS_NAMED)}.")
    removed = any(insight.actions[i] == REMOVE for i in flagged)
    return card("Who needs attention?", f"{len(flagged):,}", " ".join(parts), "bad" if removed else "warn")


def _by_action(insight: Insight) -> dict[str, list[int]]:
    """Return the workers who need attention by what to do with them, the most urgent first."""
    chosen = {action: [i for i in insight.attention if insight.actions[i] == action] for action in VERBS}
    return {action: workers for action, workers in chosen.items() if workers}


def costs(money: Money) -> Section:
    """Return the ways to settle what is open side by side: what each asks for, costs and buys."""
    today = "" if money.error is None else f" The expected error today is {money.error:.1%}."
    left = f"{counted(money.open_items, 'item is', 'items are')} open.{today}" if money.open_items else ""
    text = f"{left} {spending(money)}".strip()
    return table_section("cost", "What will it cost?", WAYS_TO_SETTLE, money.rows(), money.shown, text=text)


def agreement_note(insight: Insight) -> str:
    """Return how far workers agree, in a sentence."""
    labels, all_labels = insight.sample, insight.totals.labels
    table = agreement(labels, resamples=200 if labels.n_labels <= MOST_RESAMPLED else 0).tables["overall"].to_pylist()
    raw, alpha = table[0], table[1]
    if raw["value"] is None:
        return f"Agreement is undefined: {raw['undefined']}."
    text = f"Two workers who labelled the same item agree {raw['value']:.0%} of the time."
    if alpha["value"] is not None:
        between = "" if alpha["low"] is None else f" ({alpha['low']:.2f} to {alpha['high']:.2f})"
        text += f" Beyond chance (Krippendorff's alpha: 1 is full agreement, 0 none) it is {alpha['value']:.2f}{between}."
    if labels.n_labels < all_labels:
        text += f" Measured on {counted(labels.n_items, 'item')} drawn at random."
    return text


def worth_knowing(notes: Sequence[str]) -> list[str]:
    """Return notes once each, without those on workers, which have a place of their own, and without options of commands.

    >>> from crowdassay.notes import Note
    >>> copies = Note("Likely copies: 2.", NoteKind.WORKERS)
    >>> worth_knowing(["Too few labels. Give known items (--gold).", copies, "Stopped. Raise --max-iter."])
    ['Too few labels. Give known items.', 'Stopped.']
    """
    kept = []
    for note in dict.fromkeys(notes):
        if kind_of(note) is NoteKind.WORKERS:
            continue
        sentences = re.split(r"(?<=[.;]) ", IN_BRACKETS.sub("", note))
        text = " ".join(sentence for sentence in sentences if not COMMAND_OPTION.search(sentence))
        if text:
            kept.append(re.sub(r";$", ".", text))
    return kept


def next_steps(insight: Insight, money: Money | None = None) -> list[str]:
    """Return what to do, the most useful first."""
    n_labels = insight.n_labels
    steps: list[str] = []
    if insight.totals.classes_given < 2 and not insight.totals.known:
        remedy = (
            "Name all classes if there are others"
            if insight.record.labels.n_classes == 1
            else "Let an expert answer some items"
        )
        return [f"{remedy}: labels that all say the same show nobody's mistakes."]
    if insight.chance:
        return ["Check the question and its instructions: these labels agree no better than chance."]
    money = money or count_money(insight)
    ask = []
    if money.open_items:
        open_items = f"{counted(money.open_items, 'item is', 'items are')} not settled yet."
        ask = [f"{advice(money)} {open_items}"]
    if money.way(Ask.KNOWN) is not None:  # until something is known, nothing else says how far to trust all the rest
        steps, ask = [*steps, *ask], []
    for action, chosen in _by_action(insight).items():
        names = joined([short(insight.record.labels.workers[i].as_py(), 24) for i in chosen], WORKERS_NAMED)
        if action == REMOVE:
            told = counted(int(n_labels[chosen].sum()), "label tells", "labels tell")
            steps.append(f"Stop asking {names}: their {told} nothing about the items.")
        else:
            steps.append(f"{VERBS[action]} {names}. The table of workers says why.")
    steps += ask
    if 0 < money.alone < money.open_items:  # few or many, all else is worth more; alone, they are what is asked about above
        steps.append("Let a second worker label some of the items that only one has seen, or give some items of known class.")
    if not insight.record.converged:
        steps.append("Run the analysis again and let it go on for longer: it was stopped before it had finished.")
    return steps or ["Nothing. Every item is settled and no worker stands out."]
