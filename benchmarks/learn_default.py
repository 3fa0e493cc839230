"""Learn the constants of the default from datasets of known truth, and how well they do where a group is left out.

    python benchmarks/learn_default.py [--most LABELS]
    python benchmarks/learn_default.py --growth                 only how logits grow with labels, all else as it stands
    python benchmarks/learn_default.py --try [--page FILE]      the loss with other settings of the members, which are fixed

Writes src/crowdassay/models/assay/constants.json, which ships, and benchmarks/left_out.json: the constants learned without
each group of datasets, by which benchmarks/accuracy.py scores the default on that group. Weights and correlation minimise the
mean log-loss over groups; so does, with these fixed, the growth of the logits with labels. The ridges of what known items teach
minimise the log-loss on the items that are not known; the share of the pool in the mean of a scale minimises the root mean
square error. Everything is chosen anew without each group.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logit, softmax

from corpus import Dataset, datasets, mean_of_groups
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.labels.join import take_items
from crowdassay.models.assay.constants import Constants
from crowdassay.models.assay.dependence import sharpening, worth
from crowdassay.solvers.assay.gold import learn, read_gold
from crowdassay.solvers.assay.members import make_pool
from crowdassay.solvers.assay.pool import answers, blend, parts, predict_proba
from page import fill
from pooling import NAMES, Lessons, Looks, features, look

HERE = Path(__file__).parent
SHIPPED = HERE.parent / "src" / "crowdassay" / "models" / "assay" / "constants.json"
BEGIN = Constants(
    dawid_skene=0.3, population=0.8, vote=0.2, items=1.6, correlation=0.4, few=10.0, growth=0.3, slip=0.3, anchor=0.3, hold=0.5,
    belief=10.0, concentration=4.0, smoothing=0.1, many=50.0, ridge_pool=2.0, ridge_class=5.0, ridge_worker=1.0, scale=0.4,
    spread=0.7,
)  # fmt: skip
MEMBERS = (
    {},
    {"anchor": 0.1},
    {"belief": 3.0},
    {"concentration": 8.0},
    {"smoothing": 0.3},
)  # what --try tries
SLIPS = (0.2, 0.3, 0.4)
RIDGES = tuple(product((0.3, 1.0, 3.0), (1.0, 3.0, 10.0), (0.1, 0.3, 1.0)))
SIZES = (5, 20, 50, 100)
SCALES = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
SPREADS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
COVERED = 0.88  # of the datasets, by intervals that are to cover 90 % of them; 80 % is promised
WIDE = 1.645


def learn_pool(sets: list[Dataset]) -> tuple[dict[str, Constants], dict[str, Looks], Constants]:
    """Return the constants without each group, what the members say of each dataset, and the constants of all groups."""
    looks = [look(one, BEGIN) for one in sets]
    lessons = Lessons(looks, BEGIN)
    whole, loss = lessons.fit()
    print(f"loss with all groups: {loss:.4f}", flush=True)

    def named(theta: np.ndarray, group: str | None) -> Constants:
        few, growth, _ = lessons.fit_growth(theta, group)
        weights = {name: float(value) for name, value in zip(NAMES, theta, strict=True)}
        return replace(BEGIN, **weights, few=few, growth=growth)

    left_out = {group: named(lessons.fit(group, whole)[0], group) for group in sorted({one.group for one in sets})}
    return left_out, {one.name: found for one, found in zip(sets, looks, strict=True)}, named(whole, None)


def learn_growth(sets: list[Dataset]) -> None:
    """Learn how logits grow with labels where there are more than two classes, and write it beside the other constants."""
    lessons = Lessons([look(one, BEGIN) for one in sets], BEGIN)
    shipped = json.loads(SHIPPED.read_text(encoding="utf-8"))
    left_out = json.loads((HERE / "left_out.json").read_text(encoding="utf-8"))
    for group, constants in [(None, shipped["constants"]), *left_out.items()]:
        few, growth, loss = lessons.fit_growth(np.array([constants[name] for name in NAMES]), group)
        print(f"{group or 'all groups':24s} beyond {few:g} labels the power is {growth:.4f}, loss {loss:.4f}", flush=True)
        constants |= {"few": few, "growth": round(growth, 4)}
    shipped["learned"]["growth"] = {"by": "python benchmarks/learn_default.py --growth", "on": today()}
    write(shipped, left_out)


def write(shipped: dict[str, Any], left_out: dict[str, dict[str, float]]) -> None:
    """Write the constants that ship, with their provenance, and those learned without each group."""
    SHIPPED.write_text(json.dumps(shipped, indent=1) + "\n", encoding="utf-8")
    (HERE / "left_out.json").write_text(json.dumps(left_out, indent=1) + "\n", encoding="utf-8")


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def try_settings(sets: list[Dataset]) -> list[str]:
    """Return a table of the loss with other settings of the members, the weights learned anew for each."""
    lines = ["| setting | log-loss, share of slips " + " | ".join(map(str, SLIPS)) + " |", "|---" * (len(SLIPS) + 1) + "|"]
    before: list[Looks] | list[None] = [None] * len(sets)
    for setting in MEMBERS:
        begin = replace(BEGIN, **setting)
        before = [look(one, begin, old) for one, old in zip(sets, before, strict=True)]
        losses = [Lessons(before, replace(begin, slip=slip)).fit()[1] for slip in SLIPS]
        name = ", ".join(f"{key} {value:g} instead of {getattr(BEGIN, key):g}" for key, value in setting.items())
        lines.append(f"| {name or 'as it is'} | " + " | ".join(f"{loss:.4f}" for loss in losses) + " |")
        print(lines[-1], flush=True)
    return lines


def pool_posterior(looks: Looks, constants: Constants) -> np.ndarray:
    """Return the class probabilities of a dataset's items by the members' looks."""
    x, n_labels = features(looks, constants)
    share = worth(n_labels, constants.correlation)
    tempered = share[:, None] * (x[:, :, 0] * constants.dawid_skene + x[:, :, 1] * constants.population)
    logits = tempered + x[:, :, 2] * constants.vote + x[:, :, 3] * constants.items
    if logits.shape[1] > 2:
        logits = sharpening(n_labels, constants.few, constants.growth)[:, None] * logits
    return np.asarray(softmax(logits, axis=1))


def log_loss(posterior: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean log-loss where the truth is known."""
    known = np.flatnonzero(truth >= 0)
    return float(-np.log(np.maximum(posterior[known, truth[known]], 1e-6)).mean())


def ridge_losses(one: Dataset, looks: Looks, constants: Constants) -> np.ndarray:
    """Return the log-loss on unknown items by ridges and number of known items, NaN where items are too few."""
    found = np.full((len(RIDGES), len(SIZES)), np.nan)
    rows = np.flatnonzero(one.truth >= 0)
    labels, truth = take_items(one.labels, rows), one.truth[rows]
    engine = LocalEngine(one.labels)
    pool = make_pool(engine, looks.tables, constants, ordered=False)
    logits, share = parts(labels, pool)
    eye = np.eye(labels.n_classes)
    for place, size in enumerate(SIZES):
        if len(rows) < size + 50:
            continue
        chosen = np.sort(np.random.default_rng(size).choice(len(rows), size, replace=False))
        gold = read_gold(take_items(labels, chosen), pool, eye[truth[chosen]])
        rest = np.where(np.isin(np.arange(len(rows)), chosen), -1, truth)
        cast = answers(labels, share[labels.label_item])
        for at, (by_pool, by_class, by_worker) in enumerate(RIDGES):
            held = replace(constants, ridge_pool=by_pool, ridge_class=by_class, ridge_worker=by_worker)
            change, bias, own = learn(gold, held)
            more = cast @ (np.repeat(own, len(eye))[:, None] * np.tile(eye, (labels.n_workers, 1)))
            found[at, place] = log_loss(softmax(logits @ (1.0 + change) + bias + more, axis=1), rest)
    return found


def choose_ridges(sets: list[Dataset], losses: list[np.ndarray]) -> dict[str, float]:
    """Return the ridges of the least loss, means over groups, sizes counting alike."""
    total = np.zeros(len(RIDGES))
    for place in range(len(SIZES)):
        taken = [at for at in range(len(sets)) if not np.isnan(losses[at][0, place])]
        for ridge in range(len(RIDGES)):
            total[ridge] += mean_of_groups([sets[at] for at in taken], [float(losses[at][ridge, place]) for at in taken])
    return dict(zip(("ridge_pool", "ridge_class", "ridge_worker"), RIDGES[int(total.argmin())], strict=True))


def scale_errors(one: Dataset, looks: Looks, constants: Constants) -> list[float]:
    """Return the root mean square error of the labels on a scale, for each share of the pool in the mean."""
    engine = LocalEngine(one.labels)
    pool = replace(make_pool(engine, looks.tables, constants, ordered=True), scale=1.0)
    plain = predict_proba(one.labels, replace(pool, precision=None))
    own, mixed = blend(one.labels, plain, pool), blend(one.labels, plain, replace(pool, scale=0.0))
    known, found = one.truth >= 0, []
    for share in SCALES:
        label = np.rint(share * own + (1.0 - share) * mixed)
        found.append(float(np.sqrt(((label - one.truth)[known] ** 2).mean())))
    return found


def misses(one: Dataset, posterior: np.ndarray) -> tuple[float, float]:
    """Return how far the logit of the real error is from the estimated one, and the variance that chance explains."""
    known = np.flatnonzero(one.truth >= 0)
    expected = float((1.0 - posterior[known].max(axis=1)).mean())
    wrong = float((posterior[known].argmax(axis=1) != one.truth[known]).sum())
    real = (wrong + 0.5) / (len(known) + 1.0)
    return float(logit(real) - logit(expected)), 1.0 / (len(known) * expected * (1.0 - expected))


def covered(found: list[tuple[float, float]], spread: float) -> float:
    """Return the share of datasets whose error lies in its interval."""
    return float(np.mean([abs(miss) <= WIDE * np.sqrt(spread**2 + chance) for miss, chance in found]))


def choose_spread(found: list[tuple[float, float]]) -> float:
    """Return the least spread that covers enough datasets."""
    return next((spread for spread in SPREADS if covered(found, spread) >= COVERED), SPREADS[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=10**9, help="leave out datasets with more labels")
    parser.add_argument(
        "--try", dest="others", action="store_true", help="only print the loss with other settings of the members"
    )
    parser.add_argument("--growth", action="store_true", help="only learn how logits grow with labels; all else stays")
    parser.add_argument("--page", type=Path, help="--try: a page, such as docs/accuracy.md, into which to write the table")
    arguments = parser.parse_args()
    sets = list(datasets(arguments.most))
    if arguments.growth:
        learn_growth(sets)
        return
    if arguments.others:
        lines = try_settings(sets)
        if arguments.page:
            fill(arguments.page, {"settings": lines})
        return
    groups = sorted({one.group for one in sets})
    left_out, looks, whole = learn_pool(sets)
    own = [left_out[one.group] for one in sets]
    seen = [looks[one.name] for one in sets]
    posteriors = [pool_posterior(*pair) for pair in zip(seen, own, strict=True)]
    losses = [log_loss(posterior, one.truth) for one, posterior in zip(sets, posteriors, strict=True)]
    print(f"log-loss with its group left out: {mean_of_groups(sets, losses):.4f}")
    ridges = [ridge_losses(*row) for row in zip(sets, seen, own, strict=True)]
    scales = {at: scale_errors(one, seen[at], own[at]) for at, one in enumerate(sets) if one.ordered}
    off = [misses(*pair) for pair in zip(sets, posteriors, strict=True)]

    def rest(group: str | None) -> dict[str, float]:
        """Choose what is left without a group."""
        kept = [at for at, one in enumerate(sets) if one.group != group]
        on_scale = [at for at in kept if at in scales]
        errors = [mean_of_groups([sets[at] for at in on_scale], [scales[at][n] for at in on_scale]) for n in range(len(SCALES))]
        return {
            **choose_ridges([sets[at] for at in kept], [ridges[at] for at in kept]),
            "scale": SCALES[int(np.argmin(errors))] if errors else BEGIN.scale,
            "spread": choose_spread([off[at] for at in kept]),
        }

    final = {group: replace(left_out[group], **rest(group)) for group in groups}
    inside = [covered([off[at]], final[one.group].spread) for at, one in enumerate(sets)]
    print(f"real error inside its interval, group left out: {np.mean(inside):.3f} of datasets")
    rounded = {group: {name: round(value, 4) for name, value in one.as_dict().items()} for group, one in final.items()}
    shipped = {name: round(value, 4) for name, value in replace(whole, **rest(None)).as_dict().items()}
    provenance = {
        "by": "python benchmarks/learn_default.py",
        "on": today(),
        "groups": len(groups),
        "datasets": sorted(one.name for one in sets),
    }
    write({"constants": shipped, "learned": provenance}, rounded)
    print(json.dumps(shipped, indent=1))


if __name__ == "__main__":
    main()
