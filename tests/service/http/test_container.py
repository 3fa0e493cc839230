"""The image is built and run where docker is: it serves as a user without rights, and is well; with PostgreSQL too."""

import json
import os
import re
import shlex
import shutil
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from crowdassay.cli.serve import serve
from crowdassay.cli.store import token
from crowdassay.labels.databases.home import PostgresHome

ROOT = Path(__file__).parents[3]


def docker(*arguments, timeout=600):
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=timeout, check=False)


def has_docker():
    return shutil.which("docker") is not None and docker("info", "--format", "{{.ServerVersion}}", timeout=20).returncode == 0


def test_the_image_serves_as_a_user_without_rights():
    if not has_docker():
        pytest.skip("no docker daemon answers")
    name = f"crowdassay-{uuid.uuid4().hex[:8]}"
    built = docker("build", "--tag", name, str(ROOT))
    if built.returncode and "registry" in built.stderr:
        pytest.skip("the base image cannot be fetched")
    assert built.returncode == 0, built.stderr[-2000:]
    try:
        assert docker("run", "--detach", "--name", name, name).returncode == 0
        until = time.monotonic() + 90
        while True:
            state = json.loads(docker("inspect", name).stdout)[0]["State"]
            if state.get("Health", {}).get("Status") == "healthy":
                break
            assert state["Running"] and time.monotonic() < until, docker("logs", name).stderr  # noqa: PT018
            time.sleep(1)
        assert docker("exec", name, "id", "-u").stdout.strip() == "10001"
        assert docker("stop", name).returncode == 0
        assert json.loads(docker("inspect", name).stdout)[0]["State"]["ExitCode"] == 0
    finally:
        docker("rm", "--force", name)
        docker("rmi", "--force", name)


def test_the_compose_file_fits_the_image_the_database_and_the_page():
    """No docker is needed: what the file says of one part is what the other parts expect."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    found = yaml.safe_load(text)
    database, ours = found["services"]["database"], found["services"]["crowdassay"]
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    entry = json.loads(re.search(r"^ENTRYPOINT (.*)$", image, re.M).group(1))
    assert entry[:2] == ["crowdassay", "serve"]
    given = serve.make_context("serve", [*entry[2:], *ours["command"]]).params
    assert (given["host"], given["token"], given["log"]) == ("0.0.0.0", "store", "-")
    home, settings = PostgresHome(given["store"]), database["environment"]
    assert home.url == f"postgresql://{settings['POSTGRES_USER']}@database/{settings['POSTGRES_DB']}"
    assert settings["POSTGRES_PASSWORD"] == ours["environment"]["PGPASSWORD"]  # one, which whoever starts it must set
    assert settings["POSTGRES_PASSWORD"].startswith("${POSTGRES_PASSWORD:?")
    assert ours["ports"] == [f"127.0.0.1:{given['port']}:{given['port']}"]
    assert re.search(r"^EXPOSE (\d+)$", image, re.M).group(1) == str(given["port"])
    assert ours["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert database["healthcheck"]["test"][1:] == [
        "pg_isready", "--username", settings["POSTGRES_USER"], "--dbname", settings["POSTGRES_DB"],
    ]  # fmt: skip
    assert [volume.split(":")[0] for volume in database["volumes"]] == list(found["volumes"])
    page = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")
    handed = shlex.split(re.search(r"^docker compose exec crowdassay crowdassay store token (.*)$", page, re.M).group(1))
    assert token.make_context("token", handed).params["store"] == given["store"]


@pytest.mark.slow
def test_the_compose_file_is_taken_by_docker():
    if not has_docker():
        pytest.skip("no docker daemon answers")
    command = ["docker", "compose", "--file", str(ROOT / "compose.yaml"), "config", "--quiet"]
    assert subprocess.run(command, env={**os.environ, "POSTGRES_PASSWORD": "x" * 16}, timeout=60, check=False).returncode == 0
