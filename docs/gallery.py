"""Draw the pictures of charts.md and README from the bundled examples, and badges from pyproject.toml: `make pictures`."""

from __future__ import annotations

import shutil
import tempfile
import tomllib
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
    (PICTURES / "badges.svg").write_text(badges(), encoding="utf-8")
    photograph(PICTURES / "report.png")


def badges() -> str:
    """Return facts of pyproject.toml as badges: nothing is asked of anybody's service, and nothing can be out of date."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pythons = [
        name.rpartition(" ")[2] for name in project["classifiers"] if name.startswith("Programming Language :: Python :: 3.")
    ]
    facts = {
        "version": project["version"],
        "python": f"{pythons[0]} to {pythons[-1]}",
        "licence": project["license"],
        "types": "checked" if "Typing :: Typed" in project["classifiers"] else "none",
    }
    drawn, left = [], 0
    for name, value in facts.items():
        first, second = (round(6.3 * len(text)) + 16 for text in (name, value))
        drawn.append(
            f'<g transform="translate({left})"><rect width="{first + second}" height="20" rx="3" fill="#3f7fbf"/>'
            f'<path d="M3 0h{first - 3}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#4a4f57"/>'
            f'<text x="{first / 2}" y="14">{name}</text><text x="{first + second / 2}" y="14">{value}</text></g>'
        )
        left += first + second + 6
    style = 'fill="#fff" text-anchor="middle" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{left - 6}" height="20" {style}>{"".join(drawn)}</svg>\n'


def photograph(path: Path) -> None:
    """Take a picture of the first screen of the report on the reviews, in Debian's chromium."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  only for this picture

    place = shutil.which("chromium") or shutil.which("chromium-browser")
    if place is None:
        return
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        page = Path(folder) / "report.html"
        story = ROOT / "examples" / "reviews"
        result = Assay().fit(story / "labels.csv", gold=story / "expert.csv").result_
        result.report(page, title="Customer reviews, May 2024", cost=0.05, expert_cost=1.0, currency="$")
        browser = running.chromium.launch(executable_path=place, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 760})
        tab.goto(page.as_uri())
        tab.wait_for_timeout(1500)
        tab.screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    main()
