"""Draw the pictures of charts.md from the bundled example: `python docs/gallery.py`."""

from __future__ import annotations

from pathlib import Path

from crowdassay import MinimaxEntropy

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"


def main() -> None:
    """Write one SVG for each chart."""
    PICTURES.mkdir(exist_ok=True)
    fitted = MinimaxEntropy(gamma="auto").fit(ROOT / "examples" / "labels.csv")
    chart = fitted.result_.chart
    drawn = {
        "confidence": chart.confidence(),
        "workers": chart.workers(),
        "confusion": chart.confusion(),
        "classes": chart.classes(ROOT / "examples" / "truth.csv"),
        "items": chart.items(),
        "convergence": chart.convergence(),
        "selection": chart.selection(),
        "calibration": chart.calibration(ROOT / "examples" / "truth.csv"),
    }
    for name, one in drawn.items():
        one.save(PICTURES / f"{name}.svg")


if __name__ == "__main__":
    main()
