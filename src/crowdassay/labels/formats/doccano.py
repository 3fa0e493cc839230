"""doccano: a zip, or folder, with one file per user."""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any

from crowdassay.errors import DataError
from crowdassay.labels.formats.parse import as_list, as_name, file_stem, objects
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.roles import ROLES
from crowdassay.labels.values import shown_file
from crowdassay.read_options import ReadOptions

ANSWER_KEYS = ("label", "labels", "cats")
CONTENT_KEYS = frozenset({"text", "data", "filename"})


def recognise(probe: Probe) -> bool:
    """Return whether records have a text or file and a list of labels, and no worker column."""
    if not isinstance(probe.first, dict) or not CONTENT_KEYS & probe.keys or not {"id", "doc_id"} & probe.keys:
        return False
    if len({PurePosixPath(name).suffix for name in probe.names}) > 1:
        return False
    lists = any(isinstance(probe.first.get(name), list) or (probe.archived and name in probe.first) for name in ANSWER_KEYS)
    users = any("user" in entry for entry in objects(probe.first.get("annotations")))
    return (users or lists) and not any(ROLES["worker"].is_named(name) for name in probe.keys - {"username"})


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the labels; the worker is the file's name, or `username` or `annotations[].user` in old exports."""
    rows = Annotations({"item": wanted.item_column or "id", "worker": "file name", "label": "*"})
    for name, record in probe.named_records():
        item = record.get(wanted.item_column) if wanted.item_column else record.get("id", record.get("doc_id"))
        rows.add_text(item, record.get("text", record.get("data")))
        if isinstance(record.get("annotations"), list):
            for user, labels in _by_user(record["annotations"]).items():
                rows.add(item, user, {"label": labels})
            continue
        worker = record.get("username")
        if worker is None:
            worker = _user_of(probe, name, wanted)
        answers: dict[str, list[Any]] = {}
        for field in ANSWER_KEYS:
            if field in record:
                value = record[field]
                joined = isinstance(value, str) and name.lower().endswith(".csv")  # only CSV joins labels into one text
                chosen = value.split("#") if value and joined else as_list(value)
                if not any(isinstance(label, list | dict) for label in chosen):
                    answers[field] = chosen
        if answers:
            rows.add(item, worker, answers)
        else:
            rows.drop("spans, not classes")
    return rows


def _user_of(probe: Probe, name: str, wanted: ReadOptions) -> str:
    user = file_stem(name)
    if wanted.worker_from_filename or (probe.archived and user.lower() != "all"):
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
