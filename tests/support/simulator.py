"""Numba's simulator of a GPU, made fit for tests."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import numpy as np
import pytest

from crowdassay.engines.gpu import engine as gpu
from crowdassay.engines.gpu import layout as gpu_layout


@contextmanager
def simulated_gpu():
    """Let blocks have two threads, which take turns often, and shared arrays be shared.

    The simulator makes a shared array when the first thread of a block asks for it. Two threads that ask at the same moment
    get an array each, and their sums are wrong now and then.
    """
    from numba.cuda.simulator.kernelapi import FakeCUDAShared
    from numba.np import numpy_support

    dynamic = FakeCUDAShared.array

    def array(self, shape, dtype):
        if shape == 0:
            return dynamic(self, shape, dtype)
        caller = sys._getframe(1)
        place = caller.f_code.co_filename, caller.f_lineno
        return self._allocations.setdefault(place, np.empty(shape, numpy_support.as_dtype(dtype)))  # in one step

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # the simulator's threads wait for each other all the time
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(FakeCUDAShared, "array", array)
            patch.setattr(gpu, "LAUNCH_BLOCKS", 2)
            patch.setattr(gpu, "LAUNCH_THREADS", 2)
            patch.setattr(gpu_layout, "TEAM_THREADS", (2, 3))
            yield
    finally:
        sys.setswitchinterval(interval)
