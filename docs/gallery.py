"""Draw the pictures of charts.md and of README from the bundled examples: `make pictures`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from crowdassay import Assay, MinimaxEntropy

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
    photograph(PICTURES / "report.png")


def photograph(path: Path) -> None:
    """Take a picture of the first screen of the report on the reviews, in Debian's chromium."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  only for this picture

    place = shutil.which("chromium") or shutil.which("chromium-browser")
    if place is None:
        return
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        page = Path(folder) / "report.html"
        story = ROOT / "examples" / "reviews"
        result = Assay().fit(story / "labels.csv", gold=story / "gold.csv").result_
        result.report(page, title="Customer reviews, May 2024", cost=0.05)
        browser = running.chromium.launch(executable_path=place, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 760})
        tab.goto(page.as_uri())
        tab.wait_for_timeout(1500)
        tab.screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    main()
