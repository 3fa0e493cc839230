"""`crowdassay store`: back up, restore, copy and check the store of a labelling job, and its tokens, while it is served."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from crowdassay.cli.options import PATH
from crowdassay.errors import ParameterError
from crowdassay.labels.databases.home import Home
from crowdassay.service.store.checks import TOKEN_ROLES
from crowdassay.service.store.history import operator
from crowdassay.service.store.records import read_token
from crowdassay.service.store.tokens import hand_out, list_tokens
from crowdassay.service.store.tokens import revoke as take_back
from crowdassay.text import short


@click.group()
def store() -> None:
    """Back up, restore, copy and check the STORE of a labelling job, and hand out its tokens; it may be served meanwhile."""


@store.command()
@click.argument("store")
@click.argument("file", type=PATH)
def backup(store: str, file: Path) -> None:
    """Write STORE as it is at this moment into the new FILE, whole.

    A copy made by `cp` would miss what is in the log beside the file.
    """
    from crowdassay.service.store.copy import backup as write

    show_counts(f"Backed up to '{file}'", write(store, file))


@store.command()
@click.argument("file", type=PATH)
@click.argument("store")
def restore(file: Path, store: str) -> None:
    """Bring the backup FILE back as the new STORE: a file, or postgresql://user@host/database."""
    from crowdassay.service.store.copy import copy as write

    show_counts("Restored", write(str(file), store))


@store.command()
@click.argument("source")
@click.argument("target")
def copy(source: str, target: str) -> None:
    """Copy the store SOURCE to the empty store TARGET, from SQLite to PostgreSQL or back."""
    from crowdassay.service.store.copy import copy as write

    show_counts("Copied", write(source, target))


@store.command()
@click.argument("store")
def check(store: str) -> None:
    """Look whether STORE is whole."""
    from crowdassay.service.store.copy import check as look

    show_counts("Whole", look(store))


@store.command()
@click.argument("store")
@click.option("--role", type=click.Choice(TOKEN_ROLES), required=True, help="What its bearer may do.")
@click.option("--worker", help="The one worker whose labels it may send, with --role label.")
@click.option("--name", help="Who holds it, for the audit log.")
@click.option("--days", type=float, help="Days after which it ends; without, it is valid until it is taken back.")
def token(store: str, **wanted: str | float | None) -> None:
    """Hand out a token of STORE, and print it: only a digest is stored, so that it cannot be shown again."""
    asked = read_token(wanted)
    with opened(store) as home, home.write() as session:
        made, secret = hand_out(session, asked, source=operator())
    click.echo(secret)
    end = "until it is taken back" if made.expires is None else f"until {made.expires[:16].replace('T', ' ')} UTC"
    click.echo(f"Token {made.id}, role {made.role}, valid {end}. `crowdassay store revoke` takes it back.", err=True)


@store.command()
@click.argument("store")
def tokens(store: str) -> None:
    """List the tokens of STORE, without the tokens themselves."""
    with opened(store) as home, home.read() as session:
        rows = list_tokens(session)
    for one in rows:
        ends = f"taken back {one.revoked[:10]}" if one.revoked else f"ends {one.expires[:10]}" if one.expires else "no end"
        click.echo(
            "\t".join((str(one.id), one.role, short(one.worker or "-"), short(one.name or "-"), f"made {one.time[:10]}", ends))
        )


@store.command()
@click.argument("store")
@click.argument("number", type=click.IntRange(1, (1 << 63) - 1))
def revoke(store: str, number: int) -> None:
    """Take token NUMBER of STORE back: it ends at once, with the sessions of pages that began with it."""
    with opened(store) as home, home.write() as session:
        done = take_back(session, number, source=operator())
    if not done:
        raise ParameterError(f"There is no token {number}, or it was taken back already; `crowdassay store tokens` lists all.")
    click.echo(f"Token {number} is taken back.")


@contextmanager
def opened(place: str) -> Iterator[Home]:
    """Yield the database of a store that exists."""
    from crowdassay.service.store.open import known_store, migrate

    home = known_store(place)
    try:
        migrate(home)
        yield home
    finally:
        home.close()


def show_counts(done: str, counts: Mapping[str, int]) -> None:
    """Print what was done, and how many rows there are."""
    from crowdassay.labels.values import counted
    from crowdassay.text import joined

    shown = {"labels": "label", "items": "item", "truths": "truth", "decisions": "decision", "tokens": "token"}
    click.echo(f"{done}: {joined([counted(counts[name], word) for name, word in shown.items()])}.")
