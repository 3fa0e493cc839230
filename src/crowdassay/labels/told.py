"""Say in words what happened while labels were read: on the command line, and as warnings in Python."""

from __future__ import annotations

from crowdassay.errors import in_python, warn
from crowdassay.labels.labels import ImportReport
from crowdassay.labels.values import counted


def told(report: ImportReport) -> list[str]:
    """Say what was left out, and what became of repeats.

    >>> told(ImportReport(dropped={"missing label": 2}))
    ['Left out 2 rows: missing label.']
    """
    left_out = [f"Left out {counted(count, 'row')}: {reason}." for reason, count in report.dropped.items()]
    return [*left_out, *([told_repeats(report)] if report.repeats else [])]


def told_repeats(report: ImportReport) -> str:
    """Say what became of labels that a worker gave an item again.

    >>> told_repeats(ImportReport(repeats=541))
    '541 labels repeat an item that the same worker had already labelled. All were kept; --repeats last keeps only the latest.'
    """
    one = report.repeats == 1
    what = (
        f"{counted(report.repeats, 'label')} {'repeats' if one else 'repeat'} an item that the same worker had already labelled"
    )
    if report.repeats_policy == "keep":
        return f"{what}. {'It was' if one else 'All were'} kept; --repeats last keeps only the latest."
    return f"{what}. Only the {report.repeats_policy} label was kept each time."


def warn_of(report: ImportReport) -> None:
    """Warn, in Python, of all there is to know of labels that were read."""
    for words in (*told(report), *report.notes):
        warn(in_python(words))
