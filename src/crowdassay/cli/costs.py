"""`--cost`: the price of a label, or the column that says what was paid for each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crowdassay.arrays import FloatArray
    from crowdassay.labels.facts import Facts


def price(text: str) -> float | None:
    """Return the price that a text gives; None where it is the name of a column."""
    try:
        return float(text)
    except ValueError:
        return None


def check_cost(text: str | None, labels: tuple[str, ...]) -> None:
    """Refuse a price that is none, and a column where there is not one table to read it from."""
    from crowdassay.errors import ParameterError
    from crowdassay.findings.money import check_price

    if text is None:
        return
    each = price(text)
    if each is not None:
        check_price(each)
    elif len(labels) != 1 or not Path(labels[0]).is_file():
        raise ParameterError(f"--cost '{text}' names a column, which needs one file of labels; give a price such as 0.05.")


def read_cost(text: str | None, labels: tuple[str, ...], facts: Facts) -> float | FloatArray | None:
    """Return the price of a label, what each worker was paid (n_workers,), or None where neither was asked for.

    Rows without a label were paid for as well, so that all rows of a worker count.
    """
    import numpy as np

    from crowdassay.errors import DataError
    from crowdassay.labels.probe import probe
    from crowdassay.labels.source import open_source

    if text is None:
        return None
    each = price(text)
    if each is not None:
        return each
    path = Path(labels[0])
    if facts.report.format != "plain":
        raise DataError(f"--cost '{text}' names a column, which only plain tables have; give a price such as 0.05.")
    names = {"worker": facts.report.columns["worker"], "label": text}
    table = open_source(probe(path), ("worker", "label"), names).read()
    paid = np.zeros(facts.n_workers)
    place = {str(name): i for i, name in enumerate(facts.workers.to_pylist())}
    for row, (worker, amount) in enumerate(zip(table["worker"].to_pylist(), table["label"].to_pylist(), strict=True), 1):
        value = None if amount is None or str(amount).strip() == "" else price(str(amount).strip().lstrip("$€£"))
        if value is None and amount is not None and str(amount).strip():
            raise DataError(f"Row {row} of {path.name} has the price '{amount}', which is no number; mend it or give a price.")
        if value is not None and str(worker) in place:
            paid[place[str(worker)]] += value
    return paid
