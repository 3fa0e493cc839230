"""The schema, in numbered steps: a store is brought up to date when it is opened, and a newer one is refused."""

from __future__ import annotations

from importlib.resources import files

from crowdassay.errors import DataError
from crowdassay.labels.databases.home import Home, Session


def migrate(home: Home) -> None:
    """Make the tables of a new store, or take the steps that an old one misses; all of them or none."""
    with home.read() as session:
        known = home.has_meta(session)
        if not known and home.has_tables(session):
            raise DataError(f"{home.name} holds tables that no store has; name another place for the store.")
        if known and _version(session, home) == len(steps()):
            return
    with home.write() as session:
        if not home.has_meta(session):  # another process may have been quicker
            session.run("CREATE TABLE crowdassay_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            session.run("INSERT INTO crowdassay_meta VALUES ('schema', '0')")
        for number in range(_version(session, home), len(steps())):
            for statement in steps()[number].format(**home.types).split(";"):
                if statement.strip():
                    session.run(statement)
        session.run("UPDATE crowdassay_meta SET value = ? WHERE name = 'schema'", (str(len(steps())),))


def steps() -> list[str]:
    """Return the SQL of every step, in order."""
    folder = files("crowdassay.service.store") / "migrations"
    names = sorted(path.name for path in folder.iterdir() if path.name.endswith(".sql"))
    return [(folder / name).read_text(encoding="utf-8") for name in names]


def _version(session: Session, home: Home) -> int:
    row = session.one("SELECT value FROM crowdassay_meta WHERE name = 'schema'")
    if row is None or not str(row[0]).isdigit():
        raise DataError(f"{home.name} does not say which version its tables are; restore it from a copy.")
    if int(row[0]) > len(steps()):
        raise DataError(
            f"The store {home.name} was written by a newer crowdassay (its tables are version {row[0]}, this one knows "
            f"{len(steps())}); upgrade crowdassay."
        )
    return int(row[0])
