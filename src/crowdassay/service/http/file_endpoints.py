"""POST /upload: a file of labels, read as `aggregate` reads it, into the store as a whole."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from crowdassay.errors import CrowdassayError
from crowdassay.labels.databases.home import Session
from crowdassay.labels.labels import Labels
from crowdassay.read_options import READING_FLAGS, READING_LISTS, READING_OPTIONS, ReadOptions
from crowdassay.service.http.requests import RefusalError
from crowdassay.service.http.service import Call
from crowdassay.service.store.truths import known_class

LONGEST_FILE_NAME = 200
FOR_THE_STORE = ("repeats", "classes")  # what these say of reading is the store's to decide
UPLOAD_OPTIONS = tuple(name for name in READING_OPTIONS if name not in FOR_THE_STORE)


async def post_upload(call: Call) -> dict[str, Any]:
    """Load a file that `aggregate` could read: all of it, or nothing and the reason. The body is the file itself."""
    from crowdassay.service.store.load import Loaded, load  # noqa: PLC0415 - reads files, which is slow to load

    service, who = call.service, call.identity.name
    name, options = _file_name(call.query("name")), _options(call)
    data, _ = await call.body()
    if not data:
        raise RefusalError(422, f"'{name}' is empty.")

    def read() -> Labels:
        from crowdassay.labels.files import read_files  # noqa: PLC0415 - slow to load

        with tempfile.TemporaryDirectory(prefix="crowdassay-upload-") as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            return read_files([path], options)

    def write(session: Session) -> tuple[Loaded, dict[str, tuple[str, str] | None]]:
        done = load(session, service.store, labels, source=who, name=name)
        return done, {item: known_class(session, item) for item in done.truths}

    try:
        labels = await service.run(read)
        done, known = await service.write(write)
    except CrowdassayError as error:  # what is wrong is wrong with the file
        raise RefusalError(422, error.message) from None
    service.job.items_added(done.items)
    service.job.known_changed(known)
    await service.run(service.job.catch_up)
    return {"file": name, **done.as_dict()}


def _file_name(given: str) -> str:
    """Return the name of the file alone: how it ends says what it is, and messages call it so."""
    name = given.replace("\\", "/").rsplit("/", 1)[-1].strip()
    if not name or name in {".", ".."} or not name.isprintable() or len(name.encode()) > LONGEST_FILE_NAME:
        raise RefusalError(422, "Say how the file is called: /upload?name=labels.csv.")
    # What a shell would take for a pattern is none.
    return "".join("_" if char in "*?[]" else char for char in name)


def _options(call: Call) -> ReadOptions:
    given: dict[str, Any] = {}
    for name, value in call.request.query_params.items():
        if name == "name" or not value:
            continue
        if name not in UPLOAD_OPTIONS:
            raise RefusalError(422, f"There is no option '{name[:50]}'; there are {', '.join(UPLOAD_OPTIONS)}.")
        choices = READING_OPTIONS[name].metadata.get("choices")
        if choices and value not in choices:
            raise RefusalError(422, f"{name} is one of {', '.join(choices)}.")
        if name in READING_FLAGS:
            given[name] = call.flag(name)
        elif name in READING_LISTS:
            given[name] = [part.strip() for part in value.split(",")]
        else:
            given[name] = value
    return ReadOptions.of(given)
