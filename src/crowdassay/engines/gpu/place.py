"""Labels in memory that are swept on a graphics card."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

from crowdassay.engines.base import Engine
from crowdassay.engines.gpu.device import missing
from crowdassay.engines.gpu.engine import GpuEngine
from crowdassay.engines.memory.place import Memory


@dataclass(frozen=True, eq=False)
class Card(Memory):
    """Hold labels in memory and on a graphics card; without a usable card, say so in a sentence and do without."""

    @property
    def place(self) -> str:
        """What the place is called."""
        return "gpu"

    def engine(self, *, few: bool, announce: Callable[[str], None] | None = None) -> Engine:
        """Return an engine on the card; labels that are few are fitted as everywhere, without it."""
        reason = missing()
        if reason is not None:
            if announce is not None:
                announce(reason)
            else:
                warnings.warn(reason, stacklevel=2)
        if few or reason is not None:
            return super().engine(few=few, announce=announce)
        return GpuEngine.of(self.labels, announce=announce)
