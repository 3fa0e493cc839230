"""`crowdassay serve`: a labelling job as a service, with its page."""

from __future__ import annotations

import base64
import gc
import ipaddress
import os
import re
import secrets
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import Options, choice, column_options, decide_option, read_options, settled_option, split
from crowdassay.cli.running import Ending
from crowdassay.errors import FileError, MissingExtraError, ParameterError
from crowdassay.read_options import REPEAT_POLICIES, ReadOptions

if TYPE_CHECKING:
    from crowdassay.service.http.notifier import Receiver
    from crowdassay.service.http.service import Service
    from crowdassay.service.store.open import Store

SWITCH_SECONDS = 0.0005  # seconds after which a busy thread lets others in: requests should not wait for the writer
# New objects, and rounds, after which Python looks for garbage: seldom, as all of a large job takes 0.1 s.
GARBAGE_THRESHOLDS = (10_000, 20, 100)
ANNOTATION_OPTIONS = ("question", "item_column", "options")  # options that say how its annotations are read
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@click.command()
@click.argument("store")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes any that is free.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; loopback is this machine only.")
@click.option(
    "--allow-host",
    multiple=True,
    help="A further host name to answer to, such as labels.example (at any port) or labels.example:8443; may be given again.",
)
@click.option("--root-path", default="", help="Path at which a proxy serves this job, such as /birds.")
@click.option(
    "--trusted-proxies",
    default="",
    help="Addresses or networks of proxies, separated by commas: X-Forwarded-For and X-Forwarded-Proto are taken from these.",
)
@click.option(
    "--token",
    help="File that holds the owner's token (made if missing); 'store' takes only tokens that `crowdassay store token` has "
    "handed out; 'none' asks for none, on a machine you trust. Otherwise one is made.",
)
@choice("--repeats", values=REPEAT_POLICIES, help="What to do when a worker gives an item another label than before.")
@click.option("--classes", help="The classes of the job, separated by commas: a label of any other is refused from now on.")
@decide_option
@click.option("--price", type=click.FloatRange(min=0), help="What one label costs, for the page.")
@settled_option
@click.option("--title", default="Labelling job", show_default=True, help="Title of the page.")
@click.option("--max-body", type=click.IntRange(min=1024), default=128 << 20, show_default=True, help="Bytes of one request.")
@click.option(
    "--rate",
    type=click.FloatRange(min=1),
    default=10_000.0,
    show_default=True,
    help="Requests a second by one client; ten times as many at once.",
)
@click.option("--timeout", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="Seconds to send a request.")
@click.option("--question", help="Label Studio: which question the labels answer, where its projects ask several.")
@click.option("--item-column", help="Label Studio: the field of a task's data that names the item; its number otherwise.")
@click.option(
    "--options", type=click.Choice(["set"]), help="Label Studio: where several choices are allowed, a set is a class."
)
@click.option(
    "--load",
    "loaded",
    multiple=True,
    help="Labels to begin with: a file, folder or address that `aggregate` reads, with its "
    "options on reading; all is loaded or nothing. May be given again.",
)
@partial(column_options, without=(*ANNOTATION_OPTIONS, "classes", "repeats"))
@click.option("--notify", help="Address, http or https, that is told by a webhook when items are settled or disputed.")
@click.option("--notify-secret-file", help="File that holds the secret with which --notify signs (made if missing).")
@click.option("--log", help="File for a line of JSON on each request, or - for standard error; else refusals and errors only.")
@click.pass_obj
def serve(ending: Ending, /, store: str, port: int, host: str, token: str | None, **options: Any) -> int:
    """Serve the labelling job in STORE: a page to watch it and to settle disputes, and an HTTP interface (/openapi.json).

    STORE is a file such as job.db, made on first use, or postgresql://user@host/database for a team.
    """
    try:
        import uvicorn  # noqa: F401 - with what else the extra brings
    except ImportError:
        raise MissingExtraError("Serving needs the extra 'web': pip install 'crowdassay[web]'.") from None
    from crowdassay.service.http.app import make_app
    from crowdassay.service.http.guard import Limits
    from crowdassay.service.http.log import log_to
    from crowdassay.service.http.server import listen, server_for, serving_alone
    from crowdassay.service.http.service import Service
    from crowdassay.service.store.history import operator
    from crowdassay.service.store.open import open_store
    from crowdassay.service.store.truths import fix_classes

    log_to(options["log"])
    secret, receiver = find_token(token), find_notified(options["notify"], options["notify_secret_file"])
    root, proxies = root_path(options["root_path"]), addresses(options["trusted_proxies"])
    opened = open_store(store, repeats=options["repeats"])
    if options["classes"] is not None:
        with opened.home.write() as session:
            fix_classes(session, split(options["classes"]), source=operator())
    if options["loaded"]:
        load_files(opened, options)
    limits = Limits(options["max_body"], options["timeout"], options["rate"])
    with serving_alone(opened.home), listen(host, port) as socket:
        port = socket.getsockname()[1]
        service = Service(
            opened, store, options["price"], options["title"], limits, settled=options["settled"], decide=options["decide"],
            root_path=root, receiver=receiver, label_studio=ReadOptions(**{name: options[name] for name in ANNOTATION_OPTIONS}),
        )  # fmt: skip
        app = make_app(service, token=secret, hosts=host_names(host, port, options["allow_host"]))
        announce(service, host, port, secret, token)
        ending.done.set()  # the server hears signals itself, and ends when every answer has been given
        server = server_for(app, limits.seconds, proxies)
        service.ending = lambda: server.should_exit
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.set_threshold(*GARBAGE_THRESHOLDS)
        with suppress(KeyboardInterrupt):  # the signal, once more, after everything has been put away
            server.run(sockets=[socket])
        if not server.started:
            return 1
    click.echo("Stopped. Every label that was acknowledged is stored.", err=True)
    return 0


def load_files(store: Store, options: Options) -> None:
    """Load what --load names, and say what came of it; nothing of it is stored where anything is wrong."""
    from crowdassay.labels.files import read_files
    from crowdassay.labels.values import counted
    from crowdassay.service.store.history import operator
    from crowdassay.service.store.load import load

    paths = options["loaded"]
    name = Path(paths[0]).name if len(paths) == 1 else counted(len(paths), "file")
    labels = read_files(paths, read_options({**options, "repeats": "keep"}))
    with store.home.write() as session:
        done = load(session, store, labels, source=operator(), name=name).received
    left_out = f" {done.refused[0].reason}" if done.refused else ""
    refused = f", {len(done.refused):,} refused" if done.refused else ""
    click.echo(f"Loaded {counted(done.added, 'label')} from '{name}' ({done.known:,} known already{refused}).{left_out}")
    for note in labels.report.notes:
        click.echo(note, err=True)


def find_token(given: str | None) -> str | None:
    """Return the owner's token: from a file, newly made, '' where only those of the store count, or None if none is wanted."""
    if given in {"none", "store"}:
        return None if given == "none" else ""
    if given is None:
        return secrets.token_urlsafe(24)
    if not given:
        raise ParameterError("--token takes a file, 'store' or 'none'; it is empty. Was a variable not set?")
    return read_secret(Path(given), "token", secrets.token_urlsafe(24))


def find_notified(url: str | None, file: str | None) -> Receiver | None:
    """Return who is told of items, None if nobody is; the secret is newly made where its file is missing."""
    if url is None and file is None:
        return None
    if not url or not file:
        raise ParameterError("--notify and --notify-secret-file go together: whoever is told must know that it was us.")
    from crowdassay.service.http.notifier import SECRET_MARK, find_receiver

    made = SECRET_MARK + base64.b64encode(secrets.token_bytes(24)).decode()
    return find_receiver(url, read_secret(Path(file), "secret", made))


def read_secret(path: Path, what: str, made: str) -> str:
    """Return what a file holds, a token or a secret; a file that is missing is made, for its owner alone."""
    try:
        if not path.exists():
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as stream:
                stream.write(made + "\n")
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"The {what} file '{path}' cannot be read or made ({type(error).__name__}).") from None
    if len(secret) < 16 or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise ParameterError(f"The {what} in '{path}' must be one line of at least 16 letters, digits and signs.")
    return secret


def host_names(host: str, port: int, more: tuple[str, ...]) -> frozenset[str]:
    """Return what the Host header of a request may say; ``name:*`` is that name at any port, as a proxy may have another.

    >>> sorted(host_names("127.0.0.1", 8765, ("labels.example",)) - host_names("127.0.0.1", 8765, ()))
    ['labels.example', 'labels.example:*']
    """
    names = set(LOOPBACK)
    if not _is_any(host):
        names.add(f"[{host}]" if ":" in host else host)
    own = {spelling for name in names for spelling in (name, f"{name}:{port}")}
    anywhere = {f"{name}:*" for name in more if not name.rpartition(":")[2].isdigit()}
    return frozenset(name.lower() for name in {*own, *more, *anywhere})


def root_path(given: str) -> str:
    """Return the path that a proxy serves the job at, without a slash at the end.

    >>> root_path("/birds/"), root_path("/")
    ('/birds', '')
    """
    path = given.rstrip("/")
    if path and not re.fullmatch(r"(/[\w.~-]+)+", path, flags=re.ASCII):
        raise ParameterError("--root-path is a path such as /birds: it begins with / and has letters, digits and . _ ~ - only.")
    return path


def addresses(given: str) -> list[str]:
    """Return the addresses and networks in a text with commas."""
    found = split(given)
    for one in found:
        try:
            ipaddress.ip_network(one)
        except ValueError:
            raise ParameterError(
                f"--trusted-proxies takes addresses or networks such as 127.0.0.1 or 10.0.0.0/8, not '{one}'."
            ) from None
    return found


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def announce(service: Service, host: str, port: int, secret: str | None, given: str | None) -> None:
    """Print where the job is served, and a warning where others could reach it."""
    from crowdassay.labels.values import counted

    shown = "127.0.0.1" if _is_any(host) else f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}{service.root_path}/"
    click.echo(f"Serving {service.store.home.name}: {counted(service.job.n_labels, 'label')}. Stop with Ctrl-C.")
    if secret is None:
        click.echo(f"Open {address} (no token is asked for)")
    elif given is None:
        click.echo(f"Open {address}?token={secret}")
    elif not secret:
        click.echo(f"Open {address}?token=... with a token that `crowdassay store token` has handed out")
    else:
        click.echo(f"Open {address}?token=... with the token in '{given}'")
    if host not in {"127.0.0.1", "localhost", "::1"}:
        who = "and no token is asked for" if secret is None else "and tokens travel unencrypted unless a proxy adds HTTPS"
        click.echo(f"Warning: other machines can reach this address, {who}. Name hosts with --allow-host.", err=True)
