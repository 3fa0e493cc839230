"""One fit of a store, in a process of its own: `python -m crowdassay.service.fits.process UPTO FOLDER PARENT DECIDE`.

The place of the store comes on standard input. The process reads what is stored, writes the fitted model and what is said of
workers into FOLDER, and ends; it writes nothing to the store. It can be cancelled at any moment, and the server answers while
it computes. A fifth argument is the probability from which a label counts as settled.
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from crowdassay.errors import CrowdassayError, DataError
from crowdassay.findings.items import STANDINGS
from crowdassay.labels.record import LIKELIEST
from crowdassay.planning.expert import draw_items
from crowdassay.read_options import ReadOptions
from crowdassay.service.fits.snapshot import FACTS_FILE, PLANNING_FILE, STANDINGS_FILE
from crowdassay.service.store.labels import labels_since
from crowdassay.service.store.open import find_home
from crowdassay.service.store.records import Correction, WorkerRow, newest
from crowdassay.service.store.truths import fixed_classes, item_names, known_classes

if TYPE_CHECKING:
    from crowdassay.labels.labels import Labels
    from crowdassay.results.result import Result

NICENESS = 5  # requests go first, but a fit on a busy machine must end, too
MOST_PLANNING_CELLS = 4_000_000  # of the tables of all workers


def read_store(place: str, upto: int | None = None) -> tuple[Labels, dict[str, str], int]:
    """Return the labels of a store up to a number, with the classes that people know; these by item; and the last correction.

    Without a number all labels are read, and items that nobody has labelled yet are among the items, after the others.
    """
    from crowdassay.labels.frames import take_labels  # noqa: PLC0415 - slow to load

    schema = pa.schema([*((name, pa.string()) for name in ("item", "worker", "label", "time")), ("duration", pa.float64())])
    blocks = []
    with find_home(place).read() as session:
        for block in labels_since(session, 0, upto):
            _, *columns = zip(*block, strict=True)
            blocks.append(pa.table(list(map(list, columns)), schema))
        classes = fixed_classes(session)
        known = {item: label for item, (label, _) in known_classes(session).items()}
        declared = item_names(session) if upto is None else []
        corrected = newest(session, Correction) if upto is not None else 0
    if not blocks:
        raise DataError("There are no labels yet.")
    table = pa.concat_tables(blocks)
    unknown = [name for name in ("time", "duration") if table[name].null_count == len(table)]
    labels = take_labels(table.drop_columns(unknown), ReadOptions(classes=classes or None))
    names = dict.fromkeys([*map(str, labels.items.to_pylist()), *declared])
    if len(names) > labels.n_items:
        starts = np.append(labels.starts, np.full(len(names) - labels.n_items, labels.starts[-1]))
        gold = np.full(len(names), -1, labels.gold.dtype)
        labels = replace(labels, starts=starts, items=pa.array(names, pa.string()), gold=gold)
    codes = {name: code for code, name in enumerate(labels.class_names)}
    gold = np.array([codes.get(known.get(name, ""), -1) for name in names], np.int64)
    if n_known := int((gold >= 0).sum()):  # they are a random sample if they are the first that an expert is asked about
        first = draw_items(map(str, names), n_known)
        report = replace(labels.report, drawn=n_known if (gold[first] >= 0).all() else 0)
        labels = replace(labels.with_gold(gold), report=report)
    return labels, known, corrected


def fit_store(place: str, upto: int, folder: Path, settled: float | None = None, decide: str = LIKELIEST) -> None:
    """Fit all labels up to a number and write what was found; ``settled`` and ``decide`` are those of the estimator."""
    from crowdassay.estimators.assay import Assay  # noqa: PLC0415
    from crowdassay.threads import available_cores  # noqa: PLC0415

    labels, known, corrected = read_store(place, upto)
    estimator = Assay(decide=decide, settled=settled, threads=max(1, available_cores() // 2)).fit(labels)
    estimator.save(folder)
    facts, standings = describe(estimator.result_)
    facts["known"], facts["corrected"] = known, corrected
    if unused := sorted(set(known.values()) - set(labels.class_names)):
        facts["notes"].append(f"Known classes that no worker ever gave were left out: {', '.join(unused[:5])}.")
    (folder / STANDINGS_FILE).write_bytes(standings.tobytes())
    (folder / PLANNING_FILE).write_bytes(planning(estimator.result_))
    (folder / FACTS_FILE).write_text(json.dumps(facts, ensure_ascii=False), encoding="utf-8")


def describe(result: Result) -> tuple[dict[str, Any], np.ndarray]:
    """Return what the page says of workers and the whole job, and the standing of every item as a code."""
    from crowdassay.findings.money import wants_known_items  # noqa: PLC0415
    from crowdassay.results.report.overview import next_steps  # noqa: PLC0415

    insight, labels = result.insight, result.labels
    names = [str(name) for name in labels.workers.to_pylist()]
    workers = [
        WorkerRow(
            worker=name,
            labels=int(insight.n_labels[i]),
            verdict=insight.verdicts[i],
            accuracy=round(float(insight.accuracy[i]), 4) if insight.estimable[i] else None,
            low=round(float(insight.low[i]), 4),
            high=round(float(insight.high[i]), 4),
            action=insight.actions[i],
            evidence=insight.evidence[i],
            looks_like=insight.looks_like[i],
        )._asdict()
        for i, name in enumerate(names)
    ]
    codes = {name: code for code, name in enumerate(STANDINGS)}
    standings = np.array([codes.get(name, 0) for name in insight.standings], np.uint8)
    # Where nothing says how far these labels can be trusted, known items are asked for, and no further labels.
    needed = [] if wants_known_items(insight) else [worth.labels for worth in insight.next_items]
    reachable = [count for count in needed if count is not None]
    facts = {
        "workers": workers,
        "notes": list(dict.fromkeys([*result.notes, *insight.notes])),
        "advice": next_steps(insight, None),
        "why_no_error": insight.why_no_error,
        "at_random": insight.known_at_random,
        "method": result.method,
        "decide": result.decide,
        "seconds": round(float(result.seconds), 2),
        "converged": bool(result.converged),
        "n_labels": int(labels.n_labels),
        # The least sure items were looked at; more labels would settle these, with this many on average.
        "looked_at": len(needed),
        "settled_by_labels": len(reachable),
        "labels_each": float(np.mean(reachable)) if reachable else None,
    }
    return facts, standings


def planning(result: Result) -> bytes:
    """Return what a plan needs of workers and classes: tables, the crowd's table and the class prior."""
    from crowdassay.planning.state import State  # noqa: PLC0415

    state = State.of(result, crowd=result.insight.crowd)
    stream = io.BytesIO()
    tables = state.tables if state.tables.size <= MOST_PLANNING_CELLS else state.tables[:0]  # all are then taken for typical
    np.savez(stream, tables=tables, crowd=state.crowd, log_prior=state.log_prior)
    return stream.getvalue()


def die_with_parent(parent: int) -> None:
    """End when the server has ended, even by kill -9: nobody would read what is found."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(3)

    threading.Thread(target=watch, daemon=True).start()


def main(arguments: list[str]) -> int:
    """Fit, and say on standard error what went wrong; the exit code is 0 when the folder is complete."""
    upto, folder, parent, decide, *settled = arguments
    die_with_parent(int(parent))
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    place = sys.stdin.readline().rstrip("\n")  # not an argument: a URL may hold a password, and arguments are public
    try:
        fit_store(place, int(upto), Path(folder), float(settled[0]) if settled else None, decide)
    except CrowdassayError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except MemoryError:
        sys.stderr.write("There was not enough memory for the fit.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
