"""Labels in memory that are swept on a GPU."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from crowdassay.engines.base import Announce, Engine
from crowdassay.engines.gpu.device import missing
from crowdassay.engines.gpu.engine import GpuEngine
from crowdassay.engines.memory.place import MemoryPlace


@dataclass(frozen=True, eq=False)
class GpuPlace(MemoryPlace):
    """Hold labels in memory and on a GPU; without a usable GPU, say so in a sentence and do without."""

    @property
    def engine_name(self) -> str:
        """The name after ``--engine``."""
        return "gpu"

    def engine(self, *, gathered: bool, announce: Announce | None = None) -> Engine:
        """Return an engine on the GPU; labels that are few are fitted as everywhere, without it."""
        reason = missing()
        if reason is not None:
            if announce is not None:
                announce(reason)
            else:
                warnings.warn(reason, stacklevel=2)
        if gathered or reason is not None:
            return super().engine(gathered=gathered, announce=announce)
        return GpuEngine.of(self.labels, announce=announce)
