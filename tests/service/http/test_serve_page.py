"""docs/serve.md is followed from top to bottom, line by line: what it tells people to type works, and says what it shows."""

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from support.databases import PYTHON, environment, fresh_schema
from support.service import RUN, start

pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")
ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "serve.md"
ELSEWHERE = ("docker", "export")  # tests/service/http/test_container.py
RESULT = {"type": "choices", "from_name": "bird", "to_name": "photo", "value": {"choices": ["duck"]}}
EXPORT = [{"id": 7, "annotations": [{"id": 1, "completed_by": 3, "result": [RESULT]}], "data": {"photo": "7.jpg"}}]


def steps():
    """Yield every command of the page, with what is shown to come back, where it is shown."""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.S | re.M)
    for place, (language, block) in enumerate(blocks):
        if language == "sh":
            lines = block.replace("\\\n", " ").splitlines()
            shown = blocks[place + 1][1] if place + 1 < len(blocks) and blocks[place + 1][0] == "text" else None
            yield from ((line, shown if line is lines[-1] else None) for line in lines)


class Reader:
    """Somebody who types what the page says; one server runs at a time, and addresses are those of this machine."""

    def __init__(self, database):
        self.server, self.schemas = None, defaultdict(lambda: fresh_schema(database))

    def follow(self, line, shown):
        line = re.sub(r"postgresql://crowd@db.example/jobs\?schema=(\w+)", lambda found: self.schemas[found.group(1)], line)
        said = getattr(self, line.split()[0])(line)
        if shown is not None and "hooks.example" not in line:  # what a webhook gets is shown there
            pattern = ".*".join(re.escape(part) for part in shown.strip().split("..."))
            assert re.fullmatch(pattern, said.strip(), flags=re.S), said

    def pip(self, line):
        extra = re.fullmatch(r"pip install 'crowdassay\[(\w+)\]'", line).group(1)
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert extra in project["optional-dependencies"]

    def crowdassay(self, line):
        words = shlex.split(line)[1:]
        if words[0] == "serve":
            self.stop()
            self.server = start(*words[1:], token="made")
            return self.server.said.replace(f":{self.server.port}/", ":8765/")
        command = [PYTHON, "-c", RUN, *words]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, (line, done.stderr)
        return done.stdout

    def curl(self, line):
        here = f"http://127.0.0.1:{self.server.port}"
        line = line.replace("http://127.0.0.1:8765", here).replace("https://labels.example", here)
        given = {**environment(), "TOKEN": self.server.token}
        done = subprocess.run(
            ["bash", "-c", line.replace("curl ", "curl --silent --show-error --fail-with-body ", 1)],
            env=given, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        assert "error" not in json.loads(done.stdout)
        return done.stdout

    def stop(self):
        if self.server is not None:
            assert self.server.stop() == 0
            self.server.process.stdout.close()
        self.server = None


@pytest.mark.slow
def test_the_page_is_followed_line_by_line(tmp_path, monkeypatch, database):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "reviews" / "labels.csv", tmp_path)
    (tmp_path / "export.json").write_text(json.dumps(EXPORT), encoding="utf-8")
    reader, followed = Reader(database), []
    try:
        for line, shown in steps():
            if not line.startswith(ELSEWHERE):
                reader.follow(line, shown)
                followed.append(line.split()[0])
    finally:
        reader.stop()
    assert set(followed) == {"pip", "crowdassay", "curl"}
