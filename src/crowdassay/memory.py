"""How much memory there is, and how people write sizes."""

from __future__ import annotations

import re
from pathlib import Path

from crowdassay.errors import ParameterError

SIZE_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)
UNLIMITED = 2**60  # control groups write numbers of this size when there is no limit


def parse_size(text: str) -> int:
    """Return the bytes that a text such as '800MB' or '1.5 GiB' stands for.

    >>> parse_size("1.5GB"), parse_size("2GiB")
    (1500000000, 2147483648)
    """
    match = SIZE.fullmatch(text)
    if not match or match[2].upper() not in SIZE_UNITS or not float(match[1]):
        raise ParameterError(f"Memory is given as a number and a unit, such as 1GB or 800MB, not '{text}'.")
    return int(min(float(match[1]) * SIZE_UNITS[match[2].upper()], UNLIMITED))


def shown_size(size: float) -> str:
    """Return a size for people.

    >>> shown_size(1_500_000_000)
    '1.5 GB'
    """
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB"


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes this process may still take, by the machine and by its control group; None where neither says."""
    rooms = []
    if match := re.search(r"^MemAvailable:\s+(\d+) kB", _read(root / "proc/meminfo"), re.MULTILINE):
        rooms.append(int(match[1]) * 1024)
    groups = root / "sys/fs/cgroup"
    for limit, used in (
        (groups / "memory.max", groups / "memory.current"),
        (groups / "memory/memory.limit_in_bytes", groups / "memory/memory.usage_in_bytes"),
    ):
        most, now = _read(limit).strip(), _read(used).strip()
        if most.isdigit() and now.isdigit() and int(most) < UNLIMITED:
            rooms.append(max(int(most) - int(now), 0))
    return min(rooms) if rooms else None


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return ""
