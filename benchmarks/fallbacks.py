"""Is a fit left where it is worse than the vote, and only there?

    python benchmarks/fallbacks.py [--methods minimax minimax-ordinal] [--most LABELS] [--names NAME ...]

Every dataset found (CROWDASSAY_DATA, else ../shared/data) is fitted as asked for, and as `fit` gives it. A fit that was left
though it is better than the vote by the truth is a false alarm; one that was kept though it is more than a point worse is a
miss. The rule has two constants (`crowdassay.results.checks`); they hold for all datasets, none is fitted to one of them.
Methods for a scale are given the datasets
with one, and those that are named. Errors are in percent, a tie among m classes counting 1 - 1/m if one is right.
"""

from __future__ import annotations

import argparse

from corpus import datasets
from crowdassay import MajorityVote
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.estimators.methods import METHODS
from crowdassay.results.run import fit

POINT = 0.01  # of the error rate


def main() -> None:
    """Print one line for every fit that was left or missed, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=["minimax", "minimax-ordinal"])
    parser.add_argument("--most", type=int, default=10**9)
    parser.add_argument("--names", nargs="+", default=[])
    options = parser.parse_args()
    print("| dataset | method | vote | as asked | as given | used | |\n|---|---|---|---|---|---|---|")
    counts = dict.fromkeys(("fits", "left", "false alarms", "missed", "given more than a point worse than the vote"), 0)
    for one in datasets(options.most, options.names):
        vote = MajorityVote().fit(one.labels).result_.score(one.truth)["error_rate"]
        for name in options.methods:
            if METHODS[name].make().needs_order() and not (one.ordered or options.names):
                continue
            asked, given = (fit(METHODS[name].make(), MemoryPlace(one.labels), fallbacks=also) for also in (False, True))
            before, after = (result.score(one.truth)["error_rate"] for result in (asked, given))
            left = given.fallback is not None
            words = "false alarm" if left and before < vote else "missed" if not left and before > vote + POINT else ""
            counts["fits"] += 1
            counts["left"] += left
            counts["false alarms"] += words == "false alarm"
            counts["missed"] += words == "missed"
            counts["given more than a point worse than the vote"] += after > vote + POINT
            if left or words:
                used = repr(given.fallback) if left else "as asked"
                errors = " | ".join(f"{100 * error:.1f}" for error in (vote, before, after))
                print(f"| {one.name} | {name} | {errors} | {used} | {words} |", flush=True)
    print("\n" + "; ".join(f"{name}: {count}" for name, count in counts.items()))


if __name__ == "__main__":
    main()
