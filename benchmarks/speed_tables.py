"""The tables and the picture of the speed benchmark."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdassay.results.report.charts import SCHEMA

HEAD = ("labels", "K", "method", "seconds", "CPU seconds", "times faster (spread)", "times less CPU", "times faster per sweep",
        "bytes a label",
        "n_iter", "ns per label and sweep", "share of the limit", "objective", "error")  # fmt: skip

WHOSE = ["crowdassay", "crowd-kit", "scipy.sparse"]
HEIGHT, SPACE = 360, 11  # of a panel, and of a number in it


def as_text(report: dict[str, Any]) -> str:
    """Return Markdown: the machine, a row for every run, the slopes, and what the command line takes."""
    lines = [
        f"{report['date'][:10]}, {report['machine']}, {report['cores']} cores: copies {report['copy'] / 1e9:.1f} GB/s (read "
        f"and written), {report['multiply_add'] / 1e9:.1f} thousand million multiply-adds a second; {report['minutes']:.1f} "
        "minutes in all.",
        "",
        "| " + " | ".join(HEAD) + " |",
        "|---" * len(HEAD) + "|",
    ]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in report["rows"]]
    if found := slopes(report["rows"]):
        lines += ["", "| method | K | slope of log seconds against log labels |", "|---|---|---|"]
        lines += [f"| {method} | {classes} | {slope:.2f} |" for (method, classes), slope in found.items()]
    if "commands" in report:
        lines += ["", "| command | seconds (spread) | CPU seconds |", "|---|---|---|"]
        lines += [command_row(name, sorted(runs)) for name, runs in report["commands"].items()]
    return "\n".join(lines)


def command_row(name: str, runs: list[tuple[float, float]]) -> str:
    """Return the median run of a command as a row, with the fewest and the most seconds where there were several."""
    seconds, cpu = runs[(len(runs) - 1) // 2]
    spread = f" ({runs[0][0]:.2f} to {runs[-1][0]:.2f})" if len(runs) > 1 else ""
    return f"| {name} | {seconds:.2f}{spread} | {cpu:.2f} |"


def cells(row: dict[str, Any]) -> list[str]:
    """Return one row as text."""
    start = [f"{row['labels']:,}", str(row["classes"]), row["method"]]
    if "failed" in row:
        return [*start, row["failed"], *[""] * (len(HEAD) - 4)]
    mark = "~" if row.get("capped") else ""
    return [
        *start,
        f"{mark}{row['seconds']:.3g}",
        f"{mark}{row['cpu']:.3g}",
        f"{row['ratio']:.3g} ({row['ratio_low']:.3g} to {row['ratio_high']:.3g})" if "ratio" in row else "",
        f"{row['ratio_cpu']:.3g}" if "ratio_cpu" in row else "",
        f"{row['ratio_each']:.3g}" if "ratio_each" in row else "",
        f"{row['memory'] / row['labels']:.0f}",
        str(row.get("whole", row.get("iterations", ""))),
        f"{row['nanoseconds']:.3g}" if "nanoseconds" in row else "",
        f"{row['share']:.1%}" if "share" in row else "",
        f"{row['objective']:.6g}" if row.get("objective") is not None else "",
        f"{row['error']:.2%}" if "error" in row else "",
    ]


def slopes(rows: list[dict[str, Any]]) -> dict[tuple[str, int], float]:
    """Return the slope of log seconds against log labels of every method and number of classes with several sizes."""
    found = {}
    for key in dict.fromkeys((row["method"], row["classes"]) for row in rows):
        line = [(row["labels"], row["seconds"]) for row in rows if (row["method"], row["classes"]) == key and "seconds" in row]
        if len(line) > 1:
            found[key] = float(np.polyfit(*np.log(np.array(line).T), 1)[0])
    return found


def chart(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a Vega-Lite chart of seconds against labels on logarithmic scales, a panel for each number of classes."""
    slope = slopes(rows)
    records = [
        {
            "labels": row["labels"],
            "seconds": row["seconds"],
            "K": f"{row['classes']} classes",
            "method": row["method"].removeprefix("crowd-kit ").removeprefix("scipy.sparse "),
            "whose": next((whose for whose in WHOSE[1:] if row["method"].startswith(whose)), WHOSE[0]),
            "slope": f"{slope[row['method'], row['classes']]:.2f}" if (row["method"], row["classes"]) in slope else "",
        }
        for row in rows
        if "seconds" in row
    ]
    spread_numbers(records)
    log = {"type": "quantitative", "scale": {"type": "log"}}
    x = {"field": "labels", "title": "labels", "axis": {"format": "~s", "tickCount": 3}, **log}
    y = {"field": "seconds", "title": "seconds, frame to labels", "axis": {"format": "~g", "tickCount": 6}, **log}
    colour = {"field": "method", "type": "nominal", "title": None, "sort": None}
    dash = {
        "field": "whose",
        "type": "nominal",
        "title": None,
        "sort": WHOSE,
        "legend": {"symbolType": "stroke", "symbolStrokeColor": "black", "symbolStrokeWidth": 2, "symbolSize": 400},
    }
    encoding = {"x": x, "color": colour}
    return {
        "$schema": SCHEMA,
        "title": "Cost against size; the numbers are slopes (1 is linear)",
        "data": {"values": records},
        "facet": {"column": {"field": "K", "type": "nominal", "title": None, "sort": None}},
        "spec": {
            "width": 320,
            "height": HEIGHT,
            "layer": [
                {"mark": "line", "encoding": {**encoding, "y": y, "strokeDash": dash}},
                {"mark": {"type": "circle", "size": 30, "opacity": 1}, "encoding": {**encoding, "y": y}},
                {
                    "transform": [{"filter": "isValid(datum.number)"}],
                    "mark": {"type": "text", "dx": 18, "fontSize": 9},
                    "encoding": {**encoding, "y": {**y, "field": "number"}, "text": {"field": "slope"}},
                },
            ],
        },
    }


def spread_numbers(records: list[dict[str, Any]]) -> None:
    """Say at which height each line's slope is written: beside its end, but clear of the others'."""
    largest = max(record["labels"] for record in records)
    decades = np.ptp(np.log10([record["seconds"] for record in records]))
    gap = 10 ** (decades * SPACE / HEIGHT)
    for panel in {record["K"] for record in records}:
        last = 0.0
        ends = [record for record in records if record["K"] == panel and record["labels"] == largest and record["slope"]]
        for record in sorted(ends, key=lambda record: record["seconds"]):
            last = record["number"] = max(record["seconds"], last * gap)
