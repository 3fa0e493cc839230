"""SageMaker Ground Truth: the worker-response folder, or a custom job's manifest with all workers' annotations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from crowdassay.errors import DataError
from crowdassay.io.formats.answers import answers_in, parsed
from crowdassay.io.formats.look import Look, records
from crowdassay.io.formats.record import Import, Rows, Wanted, mapping, objects
from crowdassay.io.values import shown_file

FOLDER, ALL = "worker-response", "annotationsFromAllWorkers"


def recognise(seen: Look) -> bool:
    """Tell whether there are workers' responses, or a manifest."""
    if seen.kind in {"zip", "folder"}:
        return any(FOLDER in PurePosixPath(name).parts for name in seen.names) or bool(_responses(seen.first))
    return _is_manifest(seen.first) or (seen.kind == "records" and bool(_responses(seen.first)))


def read(seen: Look, wanted: Wanted) -> Import:
    """Read what every worker answered; a manifest of consolidated labels is refused."""
    rows = Rows()
    if seen.kind in {"zip", "folder"}:
        inside = [name for name in seen.names if FOLDER in PurePosixPath(name).parts]
        seen = replace(seen, names=inside or seen.names)
    for name, record in records(seen):
        place = PurePosixPath(name)
        # The folder is named after the data object: .../<iteration>/<object>/<time>.json
        item = place.parent.name or (seen.path.name if seen.kind == "folder" else place.stem)
        for response in _responses(record):
            rows.add(item, response.get("workerId"), answers_in(parsed(response.get("answerContent"))))
        found = _from_all(record)
        for response in found or []:
            content = mapping(response.get("annotationData")).get("content")
            source = record.get(wanted.item) if wanted.item else record.get("source-ref", record.get("source"))
            rows.add(source, response.get("workerId"), answers_in(parsed(content)))
        if found is None and _is_manifest(record):
            raise DataError(
                f"{shown_file(seen.path.name)} holds one consolidated label per object and not who gave which; give the folder "
                f"annotations/{FOLDER} of the same job instead."
            )
    manifest = seen.kind not in {"zip", "folder"}
    columns = {"item": (wanted.item or "source-ref or source") if manifest else "folder", "worker": "workerId"}
    return rows.finish(seen.path.name, wanted, {**columns, "label": "content" if manifest else "answerContent"})


def _responses(record: Any) -> list[dict[str, Any]]:
    if not isinstance(record, dict):
        return []
    several = record["answers"] if isinstance(record.get("answers"), list) else [record]
    return [entry for entry in objects(several) if "workerId" in entry and "answerContent" in entry]


def _from_all(record: dict[str, Any]) -> list[dict[str, Any]] | None:
    for part in (record, *record.values()):
        if isinstance(part, dict) and isinstance(part.get(ALL), list):
            return objects(part[ALL])
    return None


def _is_manifest(record: Any) -> bool:
    if not isinstance(record, dict) or not {"source", "source-ref"} & record.keys():
        return False
    return _from_all(record) is not None or any(name.endswith("-metadata") for name in record)
