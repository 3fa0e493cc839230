"""What the OpenAPI document says is tried out by schemathesis, in both homes: no answer that it does not name."""

import subprocess

import pytest

from support.databases import PYTHON, environment, fresh_schema
from support.service import serving

pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")
pytest.importorskip("schemathesis", reason="schemathesis is not installed")
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "ignored_auth", "unsupported_method",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("home", ["sqlite", "postgresql"])
def test_every_answer_is_documented(home, tmp_path, request):
    place = tmp_path / "job.db" if home == "sqlite" else fresh_schema(request.getfixturevalue("database"))
    with serving(place, token="made") as server:
        server.post("/labels", [{"item": "0", "worker": name, "label": label} for name, label in (("0", "a"), ("ann", "b"))])
        assert server.fit()["state"] == "done"
        document = f"http://127.0.0.1:{server.port}/openapi.json"
        command = [
            PYTHON, "-m", "schemathesis.cli", "run", document, "--exclude-path", "/events",
            "--header", f"Authorization: Bearer {server.token}", "--checks", ",".join(CHECKS), "--phases", "coverage,fuzzing",
            "--max-examples", "4", "--seed", "1", "--request-timeout", "20", "--no-color",
        ]  # fmt: skip
        found = subprocess.run(
            command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120, check=False
        )
        assert found.returncode == 0, found.stdout[-6000:]
        assert server.ask("GET", "/ready").status == 200
