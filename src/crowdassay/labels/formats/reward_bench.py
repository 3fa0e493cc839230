"""RewardBench and alike: what one judge preferred, pair by pair, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crowdassay.labels.formats.record import Rows, as_list, as_name
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import counted
from crowdassay.read_options import ReadOptions

SCORES = ("scores_chosen", "scores_rejected")
HALF = "0.5"
NAMES = ("model", "judge", "model_name")


def recognise(probe: Probe) -> bool:
    """Tell whether there are verdicts on chosen and rejected answers by subset."""
    return probe.has("results", "subset") and (bool({*SCORES, "text_chosen", "chosen"} & probe.keys))


def read(probe: Probe, wanted: ReadOptions) -> Rows:
    """Read verdicts: an item is a pair, a worker is the judge, named in the file or else after it."""
    rows = Rows({"item": "id", "worker": "model", "label": "results"})
    stem = probe.path.name.removesuffix(".gz").rsplit(".", 1)[0]
    halves = 0
    for record in probe.records():
        for number, pair in enumerate(_pairs(record)):
            item = pair.get("id")
            worker = next((pair[name] for name in NAMES if pair.get(name) is not None), stem)
            verdict = pair.get("results")
            halves += as_name(verdict) == HALF
            rows.add(f"pair {number}" if item is None else item, worker, {"results": as_list(verdict)})
    if halves:
        rows.note(f"{counted(halves, 'verdict')} of {HALF}: a tie, or an answer of the judge that could not be read.")
    return rows


def _pairs(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield pairs; one object may hold all of them as lists of equal length."""
    if not isinstance(record.get("results"), list):
        yield record
        return
    count = len(record["results"])
    for number in range(count):
        yield {
            name: value[number] if isinstance(value, list) and len(value) == count else value for name, value in record.items()
        }
