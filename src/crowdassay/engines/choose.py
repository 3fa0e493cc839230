"""Which engine holds labels that are in memory: the local one, or one on a graphics card."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from crowdassay.data.labels import Labels
from crowdassay.engines.gpu import GpuEngine
from crowdassay.engines.gpu_card import missing
from crowdassay.engines.local import LocalEngine
from crowdassay.errors import ParameterError

ENGINES = ("local", "gpu")


def make_engine(name: str, labels: Labels, *, threads: int | None = None, announce: Callable[[str], None] | None = None) -> Any:
    """Return the engine of that name; without a usable card, say so in a sentence and return the local one.

    Both have the methods of `LocalEngine`, so that whoever works on labels in memory need not know which it is.
    """
    if name not in ENGINES:
        raise ParameterError(f"engine must be 'local' or 'gpu', not {name!r}.")
    reason = missing() if name == "gpu" else None
    if reason is not None:
        if announce is not None:
            announce(reason)
        else:
            warnings.warn(reason, stacklevel=2)
    if name == "gpu" and reason is None:
        return GpuEngine.of(labels, announce=announce)
    return LocalEngine(labels, threads=threads, announce=announce)
