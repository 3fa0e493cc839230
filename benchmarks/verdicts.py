"""How often each kind of bad worker is found, and how often a good one is accused: simulated jobs with known roles, or real.

    python benchmarks/verdicts.py --jobs 40
    python benchmarks/verdicts.py --real [--most LABELS] [--show]      see real_verdicts.py

The jobs that print the table were never looked at while the tests were made: those had the seeds 0 to 24.

A job: three classes, 40 workers, five labels an item. 30 workers are honest, with accuracies from 0.80 to 0.97; one worker of
each kind below has the fault that is named. Times run over 60 days and labels take about ten seconds.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa

from crowdassay import Assay, Labels

CLASSES = ("negative", "neutral", "positive")
FAULTS = (
    "falls from .93 to .50", "falls from .93 to .70", "reads neutral as positive (66%)", "reads neutral as positive (40%)",
    "guesses", "one answer", "copies another", "below par (.65)", "too fast (1 s)", "contradicts",
)  # fmt: skip
WANTED = ("drifting", "drifting", "biased", "biased", "spammer", "one answer", "copy", "below par", "too fast", "adversary")
HONEST, DAY = 30, 86400.0


def coin(accuracy, n_classes=3):
    off = (1 - accuracy) / (n_classes - 1)
    return np.full((n_classes, n_classes), off) + (accuracy - off) * np.eye(n_classes)


def draw_job(generator, *, per_worker, faults=True, each=5):
    """Return labels, with times and durations, and the name of each worker's fault, empty for the honest."""
    n_workers = HONEST + (len(FAULTS) if faults else 0)
    n_items = n_workers * per_worker // each
    tables = np.array([coin(a) for a in generator.uniform(0.80, 0.97, n_workers)])
    late = tables.copy()
    place = {name: HONEST + n for n, name in enumerate(FAULTS)}
    if faults:
        for name, after in (("falls from .93 to .50", 0.5), ("falls from .93 to .70", 0.7)):
            tables[place[name]], late[place[name]] = coin(0.93), coin(after)
        for name, share in (("reads neutral as positive (66%)", 0.66), ("reads neutral as positive (40%)", 0.40)):
            tables[place[name]] = late[place[name]] = [[0.92, 0.04, 0.04], [0.04, 0.96 - share, share], [0.04, 0.04, 0.92]]
        tables[place["guesses"]] = late[place["guesses"]] = 1 / 3
        tables[place["one answer"]] = late[place["one answer"]] = [0.02, 0.96, 0.02]
        tables[place["below par (.65)"]] = late[place["below par (.65)"]] = coin(0.65)
        tables[place["contradicts"]] = late[place["contradicts"]] = [[0.1, 0.1, 0.8], [0.4, 0.2, 0.4], [0.8, 0.1, 0.1]]
    truth = generator.integers(3, size=n_items)
    worker = np.argsort(generator.random((n_items, n_workers)), axis=1)[:, :each]
    time = 1.7e9 + 60 * DAY * generator.random((n_items, each))
    where = np.where((time > 1.7e9 + 30 * DAY)[..., None], late[worker, truth[:, None]], tables[worker, truth[:, None]])
    label = (generator.random((n_items, each, 1)) > where.cumsum(axis=2)).sum(axis=2).clip(max=2)
    pace = np.exp(generator.normal(np.log(10), 0.4, n_workers))
    if faults:
        pace[place["too fast (1 s)"]] = 1.0
        copy = place["copies another"]
        for j in np.flatnonzero((worker == copy).any(axis=1)):  # the first honest worker does the item too, and is copied
            here = int(np.flatnonzero(worker[j] == copy)[0])
            if 0 not in worker[j]:
                worker[j, (here + 1) % each] = 0
                label[j, (here + 1) % each] = int(generator.choice(3, p=tables[0, truth[j]]))
            if generator.random() < 0.9:
                label[j, here] = label[j, np.flatnonzero(worker[j] == 0)[0]]
    duration = pace[worker] * np.exp(generator.normal(0, 0.6, worker.shape))
    labels = Labels.from_codes(
        np.repeat(np.arange(n_items), each), worker.ravel(), label.ravel(),
        items=pa.array([f"i{j}" for j in range(n_items)]), workers=pa.array([f"w{i}" for i in range(n_workers)]),
        classes=pa.array(CLASSES), time=time.ravel(), duration=duration.ravel(),
    )  # fmt: skip
    return labels, [""] * HONEST + list(FAULTS if faults else ())


def run_jobs(seeds, per_worker):
    """Return for each fault how often it is named, and how often its worker is pointed out at all; and false accusations."""
    named, noticed = np.zeros(len(FAULTS)), np.zeros(len(FAULTS))
    accused = honest = flagged = alone = 0
    for seed in seeds:
        labels, _ = draw_job(np.random.default_rng(seed), per_worker=per_worker)
        found = Assay().fit(labels).result_.insight
        for n in range(len(FAULTS)):
            kinds = [str(reason.kind) for reason in found.reasons[HONEST + n]]
            named[n] += WANTED[n] in kinds
            noticed[n] += bool(kinds)
        wrong = sum(bool(reasons) for reasons in found.reasons[1:HONEST])  # the first honest worker is copied
        accused, honest = accused + wrong, honest + HONEST - 1
        flagged += sum(bool(reasons) for reasons in found.reasons)
        labels, _ = draw_job(np.random.default_rng([seed, 1]), per_worker=per_worker, faults=False)
        found = Assay().fit(labels).result_.insight
        alone += any(found.reasons)
    return named / len(seeds), noticed / len(seeds), (accused / honest, accused / max(flagged, 1), alone / len(seeds))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=5000, help="of the first job")
    parser.add_argument("--per-worker", type=int, nargs="+", default=[50, 100, 200])
    parser.add_argument("--real", action="store_true", help="hold the verdicts on real workers against the truth")
    parser.add_argument("--most", type=float, default=np.inf, help="labels of a real dataset")
    parser.add_argument("--show", action="store_true", help="name the innocent")
    options = parser.parse_args()
    if options.real:
        from real_verdicts import measure_real  # noqa: PLC0415  needs the data

        return measure_real(options.most, options.show)
    seeds = range(options.seed, options.seed + options.jobs)
    found = [run_jobs(seeds, size) for size in options.per_worker]
    head = " | ".join(f"{size} labels each" for size in options.per_worker)
    print(f"| worker who | {head} |\n|---|{'---|' * len(found)}")
    for n, fault in enumerate(FAULTS):
        print(f"| {fault} | " + " | ".join(f"{named[n]:.0%} ({noticed[n]:.0%})" for named, noticed, _ in found) + " |")
    titles = ("honest workers accused", "false among all accused", "jobs of honest workers only with any accusation")
    for n, title in enumerate(titles):
        print(f"| {title} | " + " | ".join(f"{rates[n]:.1%}" for _, _, rates in found) + " |")
    return None


if __name__ == "__main__":
    main()
