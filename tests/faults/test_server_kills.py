"""A few kills; `python tests/faults/server_kills.py 100` does many."""

import pytest

from faults.server_kills import kill_servers
from support.databases import fresh_schema, postgres

pytestmark = pytest.mark.slow

pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")


@pytest.mark.parametrize("home", ["sqlite", "postgresql"])
def test_what_was_acknowledged_is_there_once(tmp_path, home):
    if home == "sqlite":
        found = kill_servers(4, tmp_path / "job.db", seed=0)
    else:
        with postgres() as url:
            found = kill_servers(2, fresh_schema(url), seed=0)
    assert found["acknowledged"] > 0
    assert [found[what] for what in ("lost", "doubled", "risen", "not_corrected", "missing_in_backups")] == [0, 0, 0, 0, 0]
    assert min(found[what] for what in ("removed", "corrected", "backups")) > 0
    assert found["stored"] == found["counted"] >= found["acknowledged"] - found["removed"] - found["kills"] * 6
