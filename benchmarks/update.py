"""What new labels cost: taking them into a model, refreshing its workers, and a fresh fit, after every tenth of a stream.

python benchmarks/update.py
    Labels come about item by item. Agreement is the share of items whose label is that of a fresh fit to all labels so far:
    with the workers as of the last refresh, and after the refresh.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pyarrow as pa

from crowdassay import DawidSkene, MinimaxEntropy, simulate
from crowdassay.results.saved.update import update


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--batch", type=int, default=100, help="labels taken in at a time")
    parser.add_argument("--tol", type=float, default=1e-4, help="of a refresh")
    given = parser.parse_args()
    labels, _ = simulate(np.random.default_rng(0), n_items=given.items, n_workers=given.workers, n_classes=given.classes)
    delay = np.random.default_rng(1).exponential(0.02 * given.items, labels.n_labels)
    tenths = np.array_split(np.argsort(labels.label_item + delay), 10)

    def rows(positions: np.ndarray) -> tuple[pa.Array, ...]:
        codes = (labels.label_item[positions], labels.worker[positions], labels.label[positions].astype(np.int64))
        return tuple(
            names.take(pa.array(code))
            for names, code in zip((labels.items, labels.workers, labels.classes), codes, strict=True)
        )

    for make, options in ((MinimaxEntropy, {"starts": 1}), (DawidSkene, {"smoothing": 0.5})):
        model = make(tol=given.tol, **options).fit(rows(tenths[0]))
        spent = {"updates": 0.0, "refresh": 0.0, "fresh": 0.0}
        print(
            f"{model.method}: labels, ms of processor a batch of {given.batch}, agreement before, after, sweeps, fresh sweeps"
        )
        for tenth in tenths[1:]:
            batches = np.array_split(tenth, max(1, len(tenth) // given.batch))
            started = time.process_time()
            for batch in batches:
                update(model, rows(batch))
            took = time.process_time() - started
            before = model.result_.code
            started = time.process_time()
            model.refresh()
            spent["refresh"] += time.process_time() - started
            started = time.process_time()
            fresh = make(**options).fit(model.result_.labels)
            spent["fresh"] += time.process_time() - started
            spent["updates"] += took
            agree = [float((code == fresh.result_.code).mean()) for code in (before, model.result_.code)]
            print(
                f"{model.result_.labels.n_labels:9,} {1e3 * took / len(batches):6.1f} {agree[0]:9.4f} {agree[1]:9.4f} "
                f"{model.n_iter_:4d} {fresh.n_iter_:4d}"
            )
        print(", ".join(f"{name} {seconds:.2f} s" for name, seconds in spent.items()), "of processor in all")


if __name__ == "__main__":
    main()
