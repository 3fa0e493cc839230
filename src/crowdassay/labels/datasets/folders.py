"""Where datasets are kept on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

FILES = ("labels.csv", "truth.csv")


def user_folder() -> Path:
    """Return the folder that fetched datasets go to: ``crowdassay/datasets`` in the user's data folder."""
    if given := os.environ.get("XDG_DATA_HOME"):
        base = Path(given)
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path.home() / ".local" / "share"
    return base / "crowdassay" / "datasets"


def cached(name: str, cache: Path | None = None) -> Path | None:
    """Return the folder that holds a dataset: in CROWDASSAY_DATA first, then among the fetched ones; None when nowhere."""
    places = [Path(given)] if (given := os.environ.get("CROWDASSAY_DATA")) else []
    for place in (*places, cache or user_folder()):
        if all((place / name / file).is_file() for file in FILES):
            return place / name
    return None
