"""One page of findings: cards, notes, and sections with a chart and a table each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crowdassay.labels.write import write_bytes
from crowdassay.results.report.build import check_report
from crowdassay.results.report.chart import Chart
from crowdassay.results.report.html import asset, render
from crowdassay.results.show import Section
from crowdassay.text import short
from crowdassay.version import VERSION

FIXED = ("map", "matrix")  # charts that keep their size; the others fill the page


@dataclass(frozen=True)
class Findings:
    """What a page says."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    notes: Sequence[str] = ()
    cards: Sequence[dict[str, str]] = ()
    charts: dict[str, Chart] = field(default_factory=dict)


def write_findings(findings: Findings, path: Path) -> None:
    """Write the page as one HTML file that opens offline."""
    check_report(path)
    write_bytes(findings_page(findings).encode(), path)


def findings_page(findings: Findings) -> str:
    """Return the page as HTML."""
    bare = {}
    for name, chart in findings.charts.items():
        spec = {key: value for key, value in chart.spec.items() if key != "title"}  # the page has headings of its own
        bare[name] = Chart(spec if name in FIXED else {**spec, "width": "container"}, chart.note)
    return render(
        asset("findings.html"),
        bare,
        title=short(findings.title, 120),
        subtitle=findings.subtitle,
        cards=list(findings.cards),
        notes=list(findings.notes),
        sections=list(findings.sections),
        version=VERSION,
    )


def number(value: float | None, digits: int = 2) -> str:
    """Return a figure, or a dash for what is undefined."""
    return "–" if value is None or value != value else f"{value:.{digits}f}"  # noqa: PLR0124  NaN


def small(p: float | None) -> str:
    """Return a probability."""
    return "–" if p is None or p != p else "<.001" if p < 0.001 else f"{p:.3f}"  # noqa: PLR0124
