"""The first screen: agreement, what is settled, how much is wrong, and what to do next."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdassay.data.result import Result
from crowdassay.insight.verdicts import ADVERSARY, SPAMMER
from crowdassay.insight.worth import LOOKED_AT, SETTLED
from crowdassay.metrics.agreement import agreement
from crowdassay.metrics.scores import error_rate

MOST_RESAMPLED = 2_000_000  # labels beyond which agreement has no interval


def expected_errors(result: Result) -> tuple[float, float]:
    """Return the expected number of wrong labels and its standard deviation, items taken as independent."""
    wrong = np.where(result.labels.gold >= 0, 0.0, 1 - result.probability)
    return float(wrong.sum()), float(np.sqrt((wrong * (1 - wrong)).sum()))


def cards(result: Result, truth: np.ndarray | None) -> list[dict[str, str]]:
    """Return a title, a figure, a tone and a sentence for each card."""
    labels, found = result.labels, result.insight
    found_cards = [_agreement(result)]
    settled = int(sum(name in ("settled", "known") for name in found.standings))
    tied = int(result.tied.sum())
    share = settled / labels.n_items
    found_cards.append(
        _card(
            "Items settled",
            f"{share:.0%}",
            f"{settled:,} of {labels.n_items:,} have a label that is at least {SETTLED:.0%} sure"
            + (f"; {tied:,} are tied." if tied else "."),
            "good" if share > 0.9 else "warn" if share < 0.5 else "",
        )
    )
    wrong, spread = expected_errors(result)
    if not found.connection.identified.any() or found.chance:
        found_cards.append(_card("Estimated error", "unknown", "Nothing in these labels shows who is right.", "bad"))
    else:
        low, high = max(wrong - 1.96 * spread, 0), min(wrong + 1.96 * spread, labels.n_items)
        text = f"About {wrong:,.0f} of {labels.n_items:,} labels are expected to be wrong ({low:,.0f} to {high:,.0f}), if the "
        found_cards.append(
            _card("Estimated error", f"{wrong / labels.n_items:.1%}", text + "method's probabilities are honest.")
        )
    if truth is not None:
        rate = error_rate(result.winners, truth)
        found_cards.append(
            _card("Error against the truth", f"{rate:.1%}", f"On {int((truth >= 0).sum()):,} items of known class.")
        )
    return found_cards


def _card(title: str, value: str, text: str, tone: str = "") -> dict[str, str]:
    return {"title": title, "value": value, "text": text, "tone": tone}


def _agreement(result: Result) -> dict[str, str]:
    labels = result.labels
    table = agreement(labels, resamples=200 if labels.n_labels <= MOST_RESAMPLED else 0).tables["overall"].to_pylist()
    raw, alpha = table[0], table[1]
    if raw["value"] is None:
        return _card("Agreement", "undefined", f"{str(raw['undefined']).capitalize()}.", "warn")
    text = "is the share of pairs of labels on the same item that agree."
    if alpha["value"] is not None:
        between = "" if alpha["low"] is None else f" ({alpha['low']:.2f} to {alpha['high']:.2f})"
        text += f" Krippendorff's alpha, which takes chance off, is {alpha['value']:.2f}{between}."
    return _card("Agreement", f"{raw['value']:.0%}", text)


def next_steps(result: Result) -> list[str]:
    """Return what to do, the most useful first."""
    labels, found = result.labels, result.insight
    n_labels = np.bincount(labels.worker, minlength=labels.n_workers)
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
            f"Look at {int(bad.sum()):,} worker{'s' if bad.sum() > 1 else ''} flagged below ({n_labels[bad].sum():,} labels): "
            "their labels add little or nothing, and asking them no more saves money."
        )
    if found.copies[0]:
        steps.append("Look at the workers who seem to be copies of one another: their labels count as several but are one.")
    steps += _labels_to_ask(result)
    if not result.converged:
        steps.append("Let the fit go on: it stopped before it had converged (--max-sweeps).")
    return steps or ["Nothing: every item is settled and no worker stands out."]


def _labels_to_ask(result: Result) -> list[str]:
    worth: list[Any] = result.insight.worth
    if not worth or not result.insight.connection.identified.any():
        return []
    few = [one for one in worth if one.labels is not None]
    steps = []
    if few:
        unsettled = int(((result.probability < SETTLED) & (result.labels.gold < 0)).sum())
        which = f"the {len(few):,} items" if unsettled <= LOOKED_AT else f"the {len(few):,} least sure of {unsettled:,} items"
        total = sum(one.labels for one in few)
        gain = sum(one.expert for one in few)
        steps.append(
            f"About {total:,} more labels would settle {which} that labels can settle; {gain:,.1f} errors are expected among "
            "them. The list below says where to begin."
        )
    many = [one for one in worth if one.labels is None]
    if many:
        steps.append(
            f"Ask an expert about {len(many):,} item{'s' if len(many) > 1 else ''} that more labels would hardly settle: "
            f"{sum(one.expert for one in many):,.1f} errors are expected among them."
        )
    return steps
