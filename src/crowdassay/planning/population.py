"""What public crowds have taught about errors: how far estimates are off, how errors fall, how many labels jobs took."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any


@lru_cache(maxsize=1)
def population() -> dict[str, Any]:
    """Return what `benchmarks/learn_sizing.py` and `benchmarks/forecast.py` have learned."""
    return dict(json.loads((files("crowdassay.planning") / "population.json").read_text(encoding="utf-8")))
