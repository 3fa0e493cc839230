from __future__ import annotations

import pytest

from crowdassay.errors import DataError
from crowdassay.labels.jsontext import check_whole, explain


def write(tmp_path, data):
    path = tmp_path / "a.json"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("data", [b'[{"a":1}]', b"\xef\xbb\xbf [1]\n\n", b'{"a":1}\n{"a":2}', b"[" + b"1," * 600_000 + b"1]  "])
def test_whole(tmp_path, data):
    check_whole(write(tmp_path, data))


@pytest.mark.parametrize("data", [b'[{"a":1},', b'[{"a":1}', b"[" + b"1," * 600_000])
def test_cut_off(tmp_path, data):
    with pytest.raises(DataError, match="is cut off"):
        check_whole(write(tmp_path, data))


@pytest.mark.parametrize(
    ("data", "by_line", "message"),
    [
        (b'{"a":1}\n\n{"a":\n', True, "Line 3 .*not valid JSON"),
        (b'{"a":1}\n{"a":2\n', False, "Line 2 .*not valid JSON"),
        (b'[{"a":1},\n{"a":x}]', False, "Line 2 .*not valid JSON"),
        (b'{"a":"\\ud800"}\n', True, "Line 1 .*surrogate"),
        (b'{"a":1}\n{"a":-Infinity}\n', True, "Line 2 .*-Infinity"),
        (b'{"a":1}\n{"a":"\xe9"}\n', True, r"line 2 \(byte 14\)"),
        (b"[" * 100_000, False, "not valid JSON"),
        (b'{"a":1}', False, "one object per label"),
    ],
)
def test_explain(tmp_path, data, by_line, message):
    with pytest.raises(DataError, match=message):
        explain(write(tmp_path, data), by_line)
