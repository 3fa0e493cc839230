"""Every test of the store runs in both homes."""

import pytest

from support.databases import fresh_schema


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """A path or URL for a new store."""
    if request.param == "sqlite":
        return str(tmp_path / "job.db")
    return fresh_schema(request.getfixturevalue("database"))
