"""SageMaker Ground Truth: the worker-response folder, or a custom job's manifest with all workers' annotations."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from crowdassay.errors import DataError
from crowdassay.labels.formats.parse import answers_in, objects, parsed
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import mapping
from crowdassay.read_options import ReadOptions

RESPONSE_FOLDER, ALL_WORKERS = "worker-response", "annotationsFromAllWorkers"
ITERATION_FOLDER = re.compile(r"iteration-\d+$")
TIMED_FILE = re.compile(r"\d{4}-\d\d-\d\d[T_ ]")  # what the service names a response after


def recognise(probe: Probe) -> bool:
    """Return whether there are workers' responses, or a manifest."""
    if probe.archived:
        return any(RESPONSE_FOLDER in PurePosixPath(name).parts for name in probe.names) or bool(_responses(probe.first))
    return _is_manifest(probe.first) or (probe.kind == "records" and bool(_responses(probe.first)))


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read what every worker answered; a manifest of consolidated labels is refused."""
    archived = probe.archived
    if archived:
        inside = [name for name in probe.names if RESPONSE_FOLDER in PurePosixPath(name).parts]
        probe = replace(probe, names=inside or probe.names)
    by_folder = archived and _by_folder(probe.names)
    where = "folder" if by_folder else "file name" if archived or _responses(probe.first) else "source-ref or source"
    label = "content.*" if where.startswith("source") else "answerContent.*"
    rows = Annotations({"item": where if archived else wanted.item_column or where, "worker": "workerId", "label": label})
    for name, record in probe.named_records():
        place = PurePosixPath(name)
        item = (place.parent.name or probe.path.name) if by_folder else place.stem
        for response in _responses(record):
            times = {"time": response.get("submissionTime"), "duration": response.get("timeSpentInSeconds")}
            rows.add(item, response.get("workerId"), answers_in(parsed(response.get("answerContent"))), **times)
        answers = _from_all(record)
        for response in answers or []:
            content = mapping(response.get("annotationData")).get("content")
            source = record.get("source-ref", record.get("source"))
            source = record.get(wanted.item_column) if wanted.item_column else source
            rows.add(source, response.get("workerId"), answers_in(parsed(content)))
        if answers is None and _is_manifest(record):
            raise DataError(
                f"{probe.shown} holds one consolidated label per object and not who gave which; give the folder "
                f"annotations/{RESPONSE_FOLDER} of the same job instead."
            )
    return rows


def _by_folder(names: list[str]) -> bool:
    """Return whether every object has a folder, .../<iteration>/<object>/<time>.json, not a file in a folder of all."""
    places = [PurePosixPath(name) for name in names]
    folders = {place.parent for place in places}
    if len(places) == 1:
        return str(places[0].parent) != "." or bool(TIMED_FILE.match(places[0].stem))
    return len(folders) > 1 and not all(ITERATION_FOLDER.match(folder.name) for folder in folders)


def _responses(record: Any) -> list[dict[str, Any]]:
    if not isinstance(record, dict):
        return []
    several = record["answers"] if isinstance(record.get("answers"), list) else [record]
    return [entry for entry in objects(several) if "workerId" in entry and "answerContent" in entry]


def _from_all(record: dict[str, Any]) -> list[dict[str, Any]] | None:
    for part in (record, *record.values()):
        if isinstance(part, dict) and isinstance(part.get(ALL_WORKERS), list):
            return objects(part[ALL_WORKERS])
    return None


def _is_manifest(record: Any) -> bool:
    if not isinstance(record, dict) or not {"source", "source-ref"} & record.keys():
        return False
    return _from_all(record) is not None or any(name.endswith("-metadata") for name in record)
