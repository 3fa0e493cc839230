import pytest

from crowdassay.errors import ParameterError
from crowdassay.memory import available_memory, parse_size, shown_size


def test_sizes():
    assert parse_size("800mb") == 800_000_000
    assert parse_size(" 1.5 GiB ") == 3 * 2**29
    assert parse_size("1000") == 1000
    assert [shown_size(size) for size in (12, 3e6, 2.5e13)] == ["12 B", "3 MB", "25 TB"]


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1XB", "0", "one"])
def test_no_sizes(text):
    with pytest.raises(ParameterError, match="such as 1GB"):
        parse_size(text)


def test_the_control_group_may_leave_less_than_the_machine(tmp_path):
    assert available_memory(tmp_path) is None
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    4000 kB\n")
    assert available_memory(tmp_path) == 4_096_000
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("100\n")
    assert available_memory(tmp_path) == 4_096_000
    (group / "memory.max").write_text("1100\n")
    assert available_memory(tmp_path) == 1000
