"""The first screen: what is finished, how wrong it is, who needs attention, what it will cost, and what to do next."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crowdassay.findings.agreement import agreement
from crowdassay.findings.insight import Insight
from crowdassay.findings.money import KNOWN_ITEMS, Money, further_labels, wants_known_items
from crowdassay.findings.scores import Against
from crowdassay.findings.verdicts import REMOVE, RETRAIN, TALK
from crowdassay.labels.values import counted
from crowdassay.notes import NoteKind, kind_of
from crowdassay.text import short

MOST_RESAMPLED = 2_000_000  # labels beyond which agreement has no interval
WORKERS_NAMED = 4  # workers named on a card for each verb
VERBS = {REMOVE: "Remove", TALK: "Talk to", RETRAIN: "Retrain"}
IN_BRACKETS, COMMAND_OPTION = re.compile(r" \([^()]*--[a-z][^()]*\)"), re.compile(r"(^|\s)--[a-z]|`")


def cards(insight: Insight, against: Against | None, money: Money | None) -> list[dict[str, str]]:
    """Return a question, a figure, a tone and a sentence for each card."""
    four = [_finished(insight), _wrong(insight, against), _attention(insight), _cost(insight, money)]
    gold_warning = insight.record.gold_warning
    return [*four, _card("Known items", "contradict the crowd", gold_warning, "bad")] if gold_warning else four


def _card(title: str, value: str, text: str, tone: str = "") -> dict[str, str]:
    return {"title": title, "value": value, "text": text, "tone": tone}


def _finished(insight: Insight) -> dict[str, str]:
    totals = insight.totals
    share = totals.settled / totals.items
    tied = f" {counted(totals.tied, 'item')} {'is' if totals.tied == 1 else 'are'} tied." if totals.tied else ""
    text = (
        f"{totals.settled:,} of {totals.items:,} items have a label that is at least {insight.record.settled:.0%} sure." + tied
    )
    return _card("What is finished?", f"{share:.0%}", text, "good" if share > 0.9 else "warn" if share < 0.5 else "")


def _wrong(insight: Insight, against: Against | None) -> dict[str, str]:
    totals = insight.totals
    measured = ""
    if against is not None:
        rate = against.mean("error_rate")
        measured = f" Against the truth of {counted(against.known, 'item')}{told(against)}: {rate:.1%} wrong."
    if not insight.connection.identified.any() or insight.chance:
        return _card("How wrong is it?", "unknown", f"Nothing in these labels shows who is right.{measured}", "bad")
    low, high = totals.error_interval(insight.record.spread)
    text = f"About {totals.wrong:,.0f} of {totals.items:,} labels are expected to be wrong ({low:,.0f} to {high:,.0f}), "
    text += "if the method's probabilities are honest." if insight.record.spread is None else "as far as real data can tell."
    return _card("How wrong is it?", f"{totals.wrong / totals.items:.1%}", text + measured)


def told(against: Against) -> str:
    """Return how many items were left out because their class was given."""
    return f" ({against.gold:,} given as gold left out)" if against.gold else ""


def _attention(insight: Insight) -> dict[str, str]:
    workers = insight.record.labels.workers
    if not insight.connection.identified.any() or insight.chance:
        return _card("Who needs attention?", "unknown", "No worker can be judged from these labels.", "bad")
    flagged = insight.attention
    if not flagged:
        return _card("Who needs attention?", "nobody", "Nothing speaks against any worker.", "good")
    parts = []
    for action, verb in VERBS.items():
        chosen = [i for i in flagged if insight.actions[i] == action]
        names = [short(workers[i].as_py(), 24) for i in chosen[:WORKERS_NAMED]]
        if chosen:
            parts.append(f"{verb} {listed(names, len(chosen) - len(names))}.")
    removed = any(insight.actions[i] == REMOVE for i in flagged)
    return _card("Who needs attention?", f"{len(flagged):,}", " ".join(parts), "bad" if removed else "warn")


def listed(names: Sequence[str], more: int = 0) -> str:
    """Return names in a sentence.

    >>> listed(["Ann", "Bob"]), listed(["Ann", "Bob"], 3), listed(["Ann"])
    ('Ann and Bob', 'Ann, Bob and 3 more', 'Ann')
    """
    words = [*names, f"{more:,} more"] if more > 0 else list(names)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _cost(insight: Insight, money: Money | None) -> dict[str, str]:
    needed, experts = further_labels(insight)
    title, items = "What will it cost?", counted(experts, "item")
    spent = "" if money is None else _spent(money)
    if needed and not wants_known_items(insight):
        value = f"{needed:,} labels" if money is None else f"{money.to_settle:,.2f}"
        expert = f" Show {items} to an expert." if experts else ""
        settled = counted(max(insight.totals.unsettled - experts, 1), "item")
        return _card(title, value, f"About {counted(needed, 'more label')} would settle {settled}.{expert}{spent}")
    if wants_known_items(insight):
        text = (
            f"Let an expert answer {KNOWN_ITEMS} items drawn at random. Given as known, they show how far all can be trusted."
        )
        return _card(title, f"{KNOWN_ITEMS} known items", text + spent)
    if experts:
        text = f"Further labels like these would hardly settle the rest. Show {'it' if experts == 1 else 'them'} to an expert."
        return _card(title, items, text + spent)
    return _card(title, "nothing", f"No further labels are worth asking for.{spent}")


def _spent(money: Money) -> str:
    settled = "" if money.per_settled_item is None else f", {money.per_settled_item:,.2f} for each settled item"
    vain = f" {money.spent_on_removed:,.2f} of it went to workers to remove." if money.spent_on_removed else ""
    return f" Spent so far: {money.spent:,.2f}{settled}.{vain}"


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
        text += f" Krippendorff's alpha, which takes chance off, is {alpha['value']:.2f}{between}."
    if labels.n_labels < all_labels:
        text += f" Measured on {labels.n_items:,} items drawn at random."
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


def next_steps(insight: Insight, money: Money | None) -> list[str]:
    """Return what to do, the most useful first."""
    n_labels = insight.n_labels
    steps: list[str] = []
    if not insight.connection.identified.all():
        steps.append("Let a second worker label some of the items that only one has seen, or give some items of known class.")
    if insight.chance and insight.record.labels.n_classes > 1:
        steps.append("Check the question and its instructions: these labels agree no better than chance.")
        return steps
    removed = [i for i in insight.attention if insight.actions[i] == REMOVE]
    if removed:
        names = listed(
            [short(insight.record.labels.workers[i].as_py(), 24) for i in removed[:WORKERS_NAMED]], len(removed) - WORKERS_NAMED
        )
        count = int(n_labels[removed].sum())
        steps.append(f"Stop asking {names}: {counted(count, 'label')} that tell nothing, and every further one costs the same.")
    rest = len(insight.attention) - len(removed)
    if rest:
        who = "the other worker" if removed and rest == 1 else f"the {'other ' if removed else ''}{counted(rest, 'worker')}"
        steps.append(f"Talk to {who} on the list above. The reasons are beside the names.")
    steps += _labels_to_ask(insight, money)
    if not insight.record.converged:
        steps.append("Run the analysis again and let it go on for longer: it was stopped before it had finished.")
    return steps or ["Nothing. Every item is settled and no worker stands out."]


def _labels_to_ask(insight: Insight, money: Money | None) -> list[str]:
    needed, experts = further_labels(insight)
    totals, steps = insight.totals, []
    open_items = f"{counted(totals.unsettled, 'item')} {'is' if totals.unsettled == 1 else 'are'} not certain yet. "
    errors = f"Expect about {totals.wrong:,.0f} errors among all items. "
    if wants_known_items(insight):
        return [
            f"{open_items}{errors}Nothing here says how far these labels can be trusted, so they count like those "
            "of an average real crowd.",
            f"Let an expert answer {KNOWN_ITEMS} items drawn at random and give them as known. Then run this again.",
        ]
    if needed:
        price = "" if money is None else f", at a cost of about {money.to_settle:,.2f},"
        does = f"settle {counted(max(totals.unsettled - experts, 1), 'item')}" if experts else "fix most of that"
        more = f"About {counted(needed, 'more label')}{price} would {does}. The list of items below says where to begin."
        steps.append(open_items + errors + more)
    if experts:
        before = "" if needed else open_items + errors
        steps.append(f"{before}Ask an expert about {counted(experts, 'item')} that more labels like these would hardly settle.")
    return steps
