"""Whether an estimator refuses data in words."""

from __future__ import annotations

from typing import Any

from crowdassay.errors import DataError


def refuses(model: Any, data: Any) -> bool:
    """Tell whether fitting the data raises `DataError` with a sentence."""
    try:
        model.fit(data)
    except DataError as error:
        return error.message.strip().endswith((".", "?"))
    return False
