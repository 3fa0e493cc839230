"""What is compiled is tested on few labels too, which otherwise pass through NumPy."""

import pytest

from crowdassay.engines.kernels import small


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setattr(small, "FEW_LABELS", 0)
