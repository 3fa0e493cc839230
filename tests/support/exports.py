"""Exports in the shapes that annotation tools document: each writer puts rows of (item, worker, label) into one."""

import csv
import io
import json
import zipfile
from collections import defaultdict

import numpy as np


def csv_text(header, rows, separator=","):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=separator, quoting=csv.QUOTE_ALL).writerows([header, *rows])
    return buffer.getvalue()


def json_lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def by(rows, position):
    groups = defaultdict(list)
    for row in rows:
        groups[row[position]].append(row)
    return groups


def annotation(worker, choices, question="tone", **more):
    result = [{"from_name": question, "to_name": "text", "type": "choices", "value": {"choices": choices}}]
    return {"completed_by": worker, "was_cancelled": False, "ground_truth": False, "result": result, **more}


def task(item, *annotations, **more):
    return {"id": item, "data": {"text": "Hello", "source": "a"}, "annotations": list(annotations), "predictions": [], **more}


def label_studio(rows, folder):
    tasks = [task(item, *(annotation(worker, [label]) for _, worker, label in group)) for item, group in by(rows, 0).items()]
    return write(folder / "export.json", json.dumps(tasks))


def small(item, worker, answer, **more):
    own = {"annotation_id": 1, "created_at": "2024", "updated_at": "2024", "lead_time": 1.5}
    return {"text": "Hello", "id": item, "tone": answer, "annotator": worker, **own, **more}


def label_studio_min(rows, folder):
    return write(folder / "min.json", json.dumps([small(*row) for row in rows]))


def label_studio_csv(rows, folder):
    records = [small(*row) for row in rows]
    header = sorted(records[0])
    return write(folder / "export.csv", csv_text(header, [[record[name] for name in header] for record in records]))


def prodigy_choice(item, worker, accept, **more):
    tail = {"answer": "accept", "_timestamp": 1690289516, "_annotator_id": worker, "_session_id": worker, "_view_id": "choice"}
    return {"text": "Hello", "_input_hash": item, "_task_hash": -5, "options": [{"id": 1}], "accept": accept, **tail, **more}


def prodigy(rows, folder):
    return write(folder / "dump.jsonl", json_lines(prodigy_choice(item, worker, [label]) for item, worker, label in rows))


def doccano_zip(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def doccano(rows, folder):
    files = {
        f"{worker}.jsonl": json_lines(
            {"id": item, "text": "Hello", "label": [label], "Comments": []} for item, _, label in group
        )
        for worker, group in by(rows, 1).items()
    }
    return doccano_zip(folder / "doccano.zip", files)


def doccano_csv(rows, folder):
    files = {
        f"{worker}.csv": csv_text(["id", "data", "label"], [[item, "Hello", label] for item, _, label in group])
        for worker, group in by(rows, 1).items()
    }
    return doccano_zip(folder / "doccano.zip", files)


def argilla(rows, folder):
    records = [
        {
            "id": item,
            "fields": {"text": "Hello"},
            "metadata": {},
            "suggestions": {},
            "responses": {"tone": [{"value": label, "user_id": worker} for _, worker, label in group]},
        }
        for item, group in by(rows, 0).items()
    ]
    return write(folder / "records.json", json.dumps(records))


def argilla_flat_records(rows):
    return [
        {
            "id": item,
            "text": "Hello",
            "tone.responses": [label for _, _, label in group],
            "tone.responses.users": [worker for _, worker, _ in group],
            "tone.responses.status": ["submitted"] * len(group),
        }
        for item, group in by(rows, 0).items()
    ]


def argilla_flat(rows, folder):
    return write(folder / "records.jsonl", json_lines(argilla_flat_records(rows)))


MTURK = ("HITId", "HITTypeId", "Title", "AssignmentId", "WorkerId", "AssignmentStatus", "WorkTimeInSeconds")


def mturk_csv(rows, folder, extra):
    """Write rows of (hit, worker, status, cells...); `extra` names the cells."""
    lines = [[hit, "T", "Label", n, worker, status, 9, *cells, "", ""] for n, (hit, worker, status, *cells) in enumerate(rows)]
    return write(folder / "Batch_1_batch_results.csv", csv_text([*MTURK, *extra, "Approve", "Reject"], lines))


def mturk(rows, folder):
    lines = [(f"H{n}", worker, "Approved", item, label) for n, (item, worker, label) in enumerate(rows)]
    return mturk_csv(lines, folder, ["Input.url", "Answer.tone"])


def response(worker, content):
    metadata = {"identityData": {"identityProviderType": "Cognito", "issuer": "https://x", "sub": "s"}}
    times = {"acceptanceTime": "2024", "submissionTime": "2024", "timeSpentInSeconds": 3.2}
    return {**times, "answerContent": content, "workerId": worker, "workerMetadata": metadata}


def sagemaker(rows, folder):
    for item, group in by(rows, 0).items():
        place = folder / "job" / "annotations" / "worker-response" / "iteration-1" / item
        place.mkdir(parents=True)
        answers = [response(worker, {"crowd-image-classifier": {"label": label}}) for _, worker, label in group]
        write(place / "2024-01-01_10:00:00.json", json.dumps({"answers": answers}))
    return folder / "job"


def sagemaker_manifest(rows, folder):
    records = []
    for item, group in by(rows, 0).items():
        every = [
            {"workerId": worker, "annotationData": {"content": json.dumps({"tone": {"label": label}})}}
            for _, worker, label in group
        ]
        records.append(
            {"source": item, "job": {"annotationsFromAllWorkers": every}, "job-metadata": {"type": "groundtruth/custom"}}
        )
    return write(folder / "output.manifest", json_lines(records))


TOLOKA = (
    "INPUT:image",
    "OUTPUT:tone",
    "GOLDEN:tone",
    "HINT:text",
    "ASSIGNMENT:task_id",
    "ASSIGNMENT:worker_id",
    "ASSIGNMENT:status",
)


def toloka_tsv(rows, folder):
    return write(folder / "assignments.tsv", csv_text(TOLOKA, rows, "\t"))


def toloka(rows, folder):
    lines = [(item, label, "", "", f"t{n}", worker, "APPROVED") for n, (item, worker, label) in enumerate(rows)]
    return toloka_tsv(lines, folder)


APPEN = ("_unit_id", "_created_at", "_golden", "_id", "_missed", "_tainted", "_trust", "_worker_id", "_city", "_ip")


def appen_csv(rows, folder):
    """Write rows of (item, worker, label, gold, tainted, missed)."""
    lines = [
        [
            item,
            "2024",
            str(bool(gold)).lower(),
            n,
            missed,
            tainted,
            0.9,
            worker,
            "Secretville",
            "10.1.2.3",
            label,
            gold,
            "",
            "text",
        ]
        for n, (item, worker, label, gold, tainted, missed) in enumerate(rows)
    ]
    return write(folder / "full.csv", csv_text([*APPEN, "tone", "tone_gold", "tone_gold_reason", "text"], lines))


def appen(rows, folder):
    return appen_csv([(*row, "", "false", "false") for row in rows], folder)


def labelbox_record(item, labels):
    return {
        "data_row": {"id": item, "global_key": f"key {item}", "row_data": "https://x"},
        "projects": {"p1": {"name": "Project", "labels": labels}},
    }


def labelbox_label(worker, classifications):
    return {
        "label_kind": "Default",
        "label_details": {"created_at": "2024", "created_by": worker},
        "annotations": {"objects": [], "classifications": classifications},
    }


def radio(question, choice):
    return {"name": question, "value": question, "radio_answer": {"name": choice, "value": choice}}


def labelbox(rows, folder):
    records = [
        labelbox_record(item, [labelbox_label(worker, [radio("Tone", label)]) for _, worker, label in group])
        for item, group in by(rows, 0).items()
    ]
    return write(folder / "export.ndjson", json_lines(records))


def wide(rows, folder):
    items, workers = list(by(rows, 0)), list(by(rows, 1))
    cells = {(item, worker): label for item, worker, label in rows}
    lines = [[item, *(cells.get((item, worker), "") for worker in workers)] for item in items]
    return write(folder / "wide.csv", csv_text(["", *workers], lines))


def matrix(rows, folder):
    """Save rows whose items and workers are numbers as Snorkel's matrix."""
    shape = [1 + max(int(row[axis]) for row in rows) for axis in (0, 1)]
    votes = np.full(shape, -1)
    for item, worker, label in rows:
        votes[int(item), int(worker)] = int(label)
    np.save(folder / "L.npy", votes)
    return folder / "L.npy"


def triples(rows, folder):
    return write(folder / "triples.json", json.dumps([[worker, item, label] for item, worker, label in rows]))


def crowd_kit(rows, folder):
    return write(folder / "crowd-kit.csv", csv_text(["task", "worker", "label"], rows))


def write(path, text):
    path.write_text(text, encoding="utf-8", newline="")
    return path


def rows_of(labels):
    items, workers, classes = (values.to_pylist() for values in (labels.items, labels.workers, labels.classes))
    codes = zip(labels.label_item, labels.worker, labels.label, strict=True)
    return sorted((items[item], workers[worker], classes[label]) for item, worker, label in codes)
