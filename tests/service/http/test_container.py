"""The image is built and run where docker is: it serves as a user without rights, and says that it is well."""

import json
import shutil
import subprocess
import time
import uuid
from pathlib import Path

import pytest

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
