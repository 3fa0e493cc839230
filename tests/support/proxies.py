"""Real proxies with HTTPS before a server: nginx and Caddy, set up as docs/serve.md says."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from support.service import wait_for

PAGE = Path(__file__).parents[2] / "docs" / "serve.md"
HOST = "labels.localhost"  # which browsers look for on this machine
NGINX = """daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi; access_log {folder}/access.log;
    {site}
}}
"""
CADDY = """{{
    admin off
    auto_https disable_redirects
    skip_install_trust
    storage file_system {folder}/caddy
}}
{site}
"""


def snippet(language: str) -> str:
    """Return the one block of a language that the page on the service shows."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.S | re.M)
    return found


@contextmanager
def nginx(folder: Path, port: int, site: str) -> Iterator[int]:
    """Run nginx with a site that stands before the server at a port; yield the port of the proxy."""
    need("nginx", "openssl")
    key, certificate = folder / "labels.example.key", folder / "labels.example.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    made = [*command, "-subj", f"/CN={HOST}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, capture_output=True, check=True, timeout=60)
    site = replaced(site, {"/etc/ssl": str(folder), "labels.example;": f"{HOST};", "127.0.0.1:8765": f"127.0.0.1:{port}"})
    with running(
        folder, lambda own: NGINX.format(folder=folder, site=site.replace("listen 443", f"listen {own}")), "nginx", "-c"
    ) as own:
        yield own


@contextmanager
def caddy(folder: Path, port: int, site: str) -> Iterator[int]:
    """Run Caddy in the same way."""
    need("caddy")
    site = replaced(site, {"127.0.0.1:8765": f"127.0.0.1:{port}"})

    def settings(own: int) -> str:
        return CADDY.format(folder=folder, site=replaced(site, {"labels.example": f"https://{HOST}:{own}"}))

    with running(folder, settings, "caddy", "run", "--adapter", "caddyfile", "--config") as own:
        yield own


@contextmanager
def running(folder: Path, settings, *command: str) -> Iterator[int]:
    """Run a proxy at a free port, with settings in a file, until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = folder / "settings"
    path.write_text(settings(port), encoding="utf-8")
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen([*command, str(path)], stdout=said, stderr=said)

    def up() -> bool:
        assert process.poll() is None, (folder / "said").read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        return False

    try:
        wait_for(up, bool, 30)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def need(*programs: str) -> None:
    """Skip where a program is missing."""
    for name in programs:
        if shutil.which(name) is None and not Path(f"/usr/sbin/{name}").exists():
            pytest.skip(f"{name} is not installed: make proxies")


def replaced(text: str, parts: dict[str, str]) -> str:
    """Replace what depends on the machine; each must be there."""
    for old, new in parts.items():
        assert old in text, old
        text = text.replace(old, new)
    return text
