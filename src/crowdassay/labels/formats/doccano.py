"""doccano: a zip, or folder, with one file per user."""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any

from crowdassay.errors import DataError
from crowdassay.labels.formats.record import Rows, as_list, as_name, objects
from crowdassay.labels.look import Look, records
from crowdassay.labels.roles import ROLES
from crowdassay.labels.values import shown_file
from crowdassay.read_options import ReadOptions

ANSWERS = ("label", "labels", "cats")
CONTENT = frozenset({"text", "data", "filename"})


def recognise(seen: Look) -> bool:
    """Tell whether records have a text or file and a list of labels, and no worker column."""
    if not isinstance(seen.first, dict) or not CONTENT & seen.keys or not {"id", "doc_id"} & seen.keys:
        return False
    if len({PurePosixPath(name).suffix for name in seen.names}) > 1:
        return False
    archived = seen.kind in {"zip", "folder"}
    lists = any(isinstance(seen.first.get(name), list) or (archived and name in seen.first) for name in ANSWERS)
    users = any("user" in entry for entry in objects(seen.first.get("annotations")))
    return (users or lists) and not any(ROLES["worker"].is_named(name) for name in seen.keys - {"username"})


def read(seen: Look, wanted: ReadOptions) -> Rows:
    """Read the labels; the worker is the file's name, or `username` or `annotations[].user` in old exports."""
    rows = Rows({"item": wanted.item_column or "id", "worker": "file name", "label": "*"})
    for name, record in records(seen):
        item = record.get(wanted.item_column) if wanted.item_column else record.get("id", record.get("doc_id"))
        rows.add_text(item, record.get("text", record.get("data")))
        if isinstance(record.get("annotations"), list):
            for user, labels in _by_user(record["annotations"]).items():
                rows.add(item, user, {"label": labels})
            continue
        worker = record.get("username")
        if worker is None:
            worker = _user_of(seen, name, wanted)
        answers: dict[str, list[Any]] = {}
        for field in ANSWERS:
            if field in record:
                value = record[field]
                # Only CSV joins several labels into one text.
                chosen = (
                    value.split("#") if value and isinstance(value, str) and name.lower().endswith(".csv") else as_list(value)
                )
                if not any(isinstance(label, list | dict) for label in chosen):
                    answers[field] = chosen
        if answers:
            rows.add(item, worker, answers)
        else:
            rows.drop("spans, not classes")
    return rows


def _user_of(seen: Look, name: str, wanted: ReadOptions) -> str:
    user = PurePosixPath(name).name.removesuffix(".gz").rsplit(".", 1)[0]
    if wanted.worker_from_filename or (seen.kind in {"zip", "folder"} and user.lower() != "all"):
        return user
    raise DataError(
        f"{shown_file(name)} does not say who gave which label: doccano writes each user's labels to a file of their own only "
        "when the project does not share annotations across all users; export such a project and give its whole zip. If this "
        "file holds the labels of one user, after whom it is named, say --worker-from-filename."
    )


def _by_user(annotations: list[Any]) -> dict[str | None, list[Any]]:
    users: dict[str | None, list[Any]] = defaultdict(list)
    for annotation in objects(annotations):
        users[as_name(annotation.get("user"))].append(annotation.get("label"))
    return users
