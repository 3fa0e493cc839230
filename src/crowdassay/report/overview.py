"""The first screen: agreement, what is settled, how much is wrong, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crowdassay.data.result import Result
from crowdassay.insight.notes import ABOUT_WORKERS
from crowdassay.insight.totals import Against
from crowdassay.insight.verdicts import ADVERSARY, SPAMMER
from crowdassay.insight.worth import LOOKED_AT, SETTLED
from crowdassay.io.values import counted
from crowdassay.metrics.agreement import agreement

MOST_RESAMPLED = 2_000_000  # labels beyond which agreement has no interval


def cards(result: Result, against: Against | None) -> list[dict[str, str]]:
    """Return a title, a figure, a tone and a sentence for each card."""
    found, totals = result.insight, result.insight.totals
    found_cards = [_agreement(result)]
    share = totals.settled / totals.items
    found_cards.append(
        _card(
            "Items settled",
            f"{share:.0%}",
            f"{totals.settled:,} of {totals.items:,} have a label that is at least {SETTLED:.0%} sure"
            + (f"; {totals.tied:,} are tied." if totals.tied else "."),
            "good" if share > 0.9 else "warn" if share < 0.5 else "",
        )
    )
    wrong, spread = totals.wrong, totals.variance**0.5  # items taken as independent
    if not found.connection.identified.any() or found.chance:
        found_cards.append(_card("Estimated error", "unknown", "Nothing in these labels shows who is right.", "bad"))
    else:
        low, high = max(wrong - 1.96 * spread, 0), min(wrong + 1.96 * spread, totals.items)
        text = f"About {wrong:,.0f} of {totals.items:,} labels are expected to be wrong ({low:,.0f} to {high:,.0f}), if the "
        found_cards.append(_card("Estimated error", f"{wrong / totals.items:.1%}", text + "method's probabilities are honest."))
    if against is not None:
        rate, text = against.mean("error_rate"), f"On {counted(against.known, 'item')} of known class{told(against)}."
        found_cards.append(_card("Error against the truth", f"{rate:.1%}", text))
    return found_cards


def told(against: Against) -> str:
    """Say how many items were left out because their class was given."""
    return f" ({against.gold:,} given as gold left out)" if against.gold else ""


def _card(title: str, value: str, text: str, tone: str = "") -> dict[str, str]:
    return {"title": title, "value": value, "text": text, "tone": tone}


def _agreement(result: Result) -> dict[str, str]:
    labels, all_labels = result.insight.sample, result.insight.totals.labels
    table = agreement(labels, resamples=200 if labels.n_labels <= MOST_RESAMPLED else 0).tables["overall"].to_pylist()
    raw, alpha = table[0], table[1]
    if raw["value"] is None:
        return _card("Agreement", "undefined", f"{str(raw['undefined']).capitalize()}.", "warn")
    text = "is the share of pairs of labels on the same item that agree."
    if alpha["value"] is not None:
        between = "" if alpha["low"] is None else f" ({alpha['low']:.2f} to {alpha['high']:.2f})"
        text += f" Krippendorff's alpha, which takes chance off, is {alpha['value']:.2f}{between}."
    if labels.n_labels < all_labels:
        text += f" Measured on {labels.n_items:,} items drawn at random."
    return _card("Agreement", f"{raw['value']:.0%}", text)


def worth_knowing(notes: Sequence[str]) -> list[str]:
    """Return notes once each, without those on workers, which are among the steps."""
    return [note for note in dict.fromkeys(notes) if not note.startswith(ABOUT_WORKERS)]


def next_steps(result: Result) -> list[str]:
    """Return what to do, the most useful first."""
    found, n_labels = result.insight, result.insight.n_labels
    verdicts = np.asarray(found.verdicts, dtype=object)
    steps: list[str] = []
    if not found.connection.identified.all():
        steps.append("Let a second worker label some of the items that only one has seen, or give some items of known class.")
    if found.chance:
        steps.append("Check the question and its instructions: these labels agree no better than chance.")
        return steps
    bad = np.isin(verdicts, (SPAMMER, ADVERSARY))
    if bad.any():
        steps.append(
            f"Look at {counted(int(bad.sum()), 'worker')} flagged below ({counted(int(n_labels[bad].sum()), 'label')}): "
            "their labels add little or nothing, and asking them no more saves money."
        )
    if found.copies[0]:
        steps.append("Look at the workers who seem to be copies of one another: their labels count as several but are one.")
    steps += _labels_to_ask(result)
    if not result.converged:
        steps.append("Let the fit go on: it stopped before it had converged (--max-iter).")
    return steps or ["Nothing: every item is settled and no worker stands out."]


def _labels_to_ask(result: Result) -> list[str]:
    worth: list[Any] = result.insight.worth
    if not worth or not result.insight.connection.identified.any():
        return []
    few = [one for one in worth if one.labels is not None]
    steps = []
    if few:
        unsettled = result.insight.totals.unsettled
        which = (
            f"the {len(few):,} least sure of {unsettled:,} items"
            if unsettled > LOOKED_AT
            else f"the {counted(len(few), 'item')}"
        )
        total = sum(one.labels for one in few)
        gain = sum(one.expert for one in few)
        steps.append(
            f"About {counted(total, 'more label')} would settle {which} that labels can settle; {gain:,.1f} errors are "
            "expected among them. The list below says where to begin."
        )
    many = [one for one in worth if one.labels is None]
    if many:
        steps.append(
            f"Ask an expert about {counted(len(many), 'item')} that more labels would hardly settle: "
            f"{sum(one.expert for one in many):,.1f} errors are expected among them."
        )
    return steps
