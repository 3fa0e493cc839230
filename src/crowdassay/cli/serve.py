"""`crowdassay serve`: a labelling job as a service, with its page."""

from __future__ import annotations

import gc
import ipaddress
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.running import Ending
from crowdassay.read_options import REPEAT_POLICIES

if TYPE_CHECKING:
    from crowdassay.service.http.service import Service

SWITCH_SECONDS = 0.0005  # seconds after which a busy thread lets others in: requests should not wait for the writer
# New objects, and rounds, after which Python looks for garbage: seldom, as all of a large job takes 0.1 s.
GARBAGE_THRESHOLDS = (10_000, 20, 100)
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@click.command()
@click.argument("store")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes any that is free.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; loopback is this machine only.")
@click.option(
    "--allow-host", multiple=True, help="A further host name to answer to, such as labels.example; may be given again."
)
@click.option(
    "--token", help="File that holds the token (made if missing), or 'none' on a machine you trust; else one is made."
)
@click.option(
    "--repeats",
    type=click.Choice(REPEAT_POLICIES),
    default="keep",
    show_default=True,
    help="What to do when a worker gives an item another label than before.",
)
@click.option("--price", type=click.FloatRange(min=0), help="What one label costs, for the page.")
@click.option("--title", default="Labelling job", show_default=True, help="Title of the page.")
@click.option("--max-body", type=click.IntRange(min=1024), default=128 << 20, show_default=True, help="Bytes of one request.")
@click.option(
    "--rate", type=click.FloatRange(min=1), default=10_000.0, show_default=True, help="Requests a second by one client."
)
@click.option("--timeout", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="Seconds to send a request.")
@click.pass_obj
def serve(ending: Ending, /, store: str, port: int, host: str, token: str | None, **options: Any) -> int:
    """Serve the labelling job in STORE: a page to watch it and to settle disputes, and an HTTP interface (/openapi.json).

    STORE is a file such as job.db, made on first use, or postgresql://user@host/database for a team.
    """
    from crowdassay.errors import MissingExtraError

    try:
        import uvicorn
    except ImportError:
        raise MissingExtraError("Serving needs the extra 'web': pip install 'crowdassay[web]'.") from None
    from crowdassay.service.http.app import make_app
    from crowdassay.service.http.guard import Limits
    from crowdassay.service.http.server import connection_for, listen, serving_alone
    from crowdassay.service.http.service import Service
    from crowdassay.service.store.open import open_store

    secret = find_token(token)
    opened = open_store(store, repeats=options["repeats"])
    limits = Limits(options["max_body"], options["timeout"], options["rate"])
    with serving_alone(opened.home), listen(host, port) as socket:
        port = socket.getsockname()[1]
        service = Service(opened, store, options["price"], options["title"], limits)
        app = make_app(service, token=secret, hosts=host_names(host, port, options["allow_host"]))
        announce(service, host, port, secret, token)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, proxy_headers=False,
            timeout_graceful_shutdown=10, lifespan="on",
            timeout_keep_alive=30, limit_concurrency=2000, http=connection_for(limits.seconds), ws="none",
        )  # fmt: skip
        ending.done.set()  # the server hears signals itself, and ends when every answer has been given
        server = uvicorn.Server(config)
        service.ending = lambda: server.should_exit
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.set_threshold(*GARBAGE_THRESHOLDS)
        with suppress(KeyboardInterrupt):  # the signal, once more, after everything has been put away
            server.run(sockets=[socket])
        if not server.started:
            return 1
    click.echo("Stopped. Every label that was acknowledged is stored.", err=True)
    return 0


def find_token(given: str | None) -> str | None:
    """Return the token: from a file, newly made, or None where none is wanted."""
    import os
    import secrets

    from crowdassay.errors import FileError, ParameterError

    if given == "none":
        return None
    if given is None:
        return secrets.token_urlsafe(24)
    if not given:
        raise ParameterError("--token takes a file, or 'none'; it is empty. Was a variable not set?")
    path = Path(given)
    try:
        if not path.exists():
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as stream:
                stream.write(secrets.token_urlsafe(24) + "\n")
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"The token file '{path}' cannot be read or made ({type(error).__name__}).") from None
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise ParameterError(f"The token in '{path}' must be one line of at least 16 letters, digits and signs.")
    return token


def host_names(host: str, port: int, more: tuple[str, ...]) -> frozenset[str]:
    """Return what the Host header of a request may say."""
    names = {*LOOPBACK, *more}
    if not _is_any(host):
        names.add(f"[{host}]" if ":" in host else host)
    return frozenset(spelling for name in names for spelling in ({name.lower(), f"{name.lower()}:{port}"}))


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def announce(service: Service, host: str, port: int, secret: str | None, given: str | None) -> None:
    """Print where the job is served, and a warning where others could reach it."""
    shown = "127.0.0.1" if _is_any(host) else f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}/"
    click.echo(f"Serving {service.store.home.name}: {service.job.n_labels:,} labels. Stop with Ctrl-C.")
    if secret is None:
        click.echo(f"Open {address} (no token is asked for)")
    elif given is None:
        click.echo(f"Open {address}?token={secret}")
    else:
        click.echo(f"Open {address}?token=... with the token in '{given}'")
    if host not in {"127.0.0.1", "localhost", "::1"}:
        who = "and no token is asked for" if secret is None else "and tokens travel unencrypted unless a proxy adds HTTPS"
        click.echo(f"Warning: other machines can reach this address, {who}. Name hosts with --allow-host.", err=True)
