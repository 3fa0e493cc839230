"""Label Studio's webhook and ML-backend protocol, with payloads in the shapes that Label Studio documents and sends."""

import base64
import json

import pytest

from crowdassay.labels.files import read_labels
from support.exports import rows_of, write
from support.service import Client, serving

pytest.importorskip("starlette", reason="the extra 'web' is not installed")
pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")

CONFIG = (
    '<View><Text name="text" value="$text"/><Choices name="tone" toName="text" choice="single">'
    '<Choice value="warm"/><Choice value="cold"/></Choices></View>'
)
TWO_QUESTIONS = CONFIG.replace("</View>", '<Rating name="stars" toName="text"/></View>')


def predict(server, *tasks, config=CONFIG):
    body = {"tasks": list(tasks), "model_version": "", "project": "1.1629207774", "label_config": config, "params": {}}
    return server.ask("POST", "/label-studio/predict", body)


def test_predictions_are_our_labels_and_scores(fitted):
    server, labels, _ = fitted
    names = labels.items.to_pylist()[:3]
    found = predict(server, *({"id": name, "data": {"text": "Hello"}} for name in names), {"id": "nonesuch", "data": {}}).json
    version = server.ask("POST", "/label-studio/setup", {"project": "1.16", "schema": CONFIG}).json["model_version"]
    assert version == f"crowdassay-{server.get('/summary')['fit']['id']}" == found["model_version"]
    for name, one in zip(names, found["results"], strict=False):
        item = server.item(name)
        assert one == {
            "result": [{"from_name": "tone", "to_name": "text", "type": "choices", "value": {"choices": [item["label"]]}}],
            "score": item["probability"],
            "model_version": version,
        }
    assert found["results"][3] == {"result": [], "score": 0.0, "model_version": version}


def test_what_is_predicted_reads_back_as_predictions(fitted, tmp_path):
    server, labels, _ = fitted
    tasks = [{"id": name, "data": {"text": "Hello"}} for name in labels.items.to_pylist()[:20]]
    results = predict(server, *tasks).json["results"]
    export = [{**task, "annotations": [], "predictions": [one]} for task, one in zip(tasks, results, strict=True)]
    read = read_labels(write(tmp_path / "export.json", json.dumps(export)), predictions=True)
    assert rows_of(read) == sorted(
        (task["id"], f"model:{one['model_version']}", server.item(task["id"])["label"])
        for task, one in zip(tasks, results, strict=True)
    )


def test_a_backend_is_there_without_a_token_and_the_rest_needs_one(tight):
    stranger, token = Client(tight.port), tight.post("/tokens", {"role": "label"})["token"]
    assert stranger.ask("GET", "/label-studio/health").json == {"status": "UP", "model_class": "crowdassay"}
    assert predict(stranger).status == 401

    def basic(password, path="/label-studio/setup"):
        given = base64.b64encode(f"crowdassay:{password}".encode()).decode()
        body = {"schema": CONFIG}
        return stranger.ask("POST", path, body, authorization=f"Basic {given}").status

    assert [basic(token), basic("wrong"), basic("")] == [200, 401, 401]
    assert basic(token, "/labels") == 401  # a browser might send it by itself
    assert stranger.ask("POST", "/label-studio/setup", {"schema": CONFIG}, authorization="Basic ???").status == 401
    assert predict(Client(tight.port, tight.post("/tokens", {"role": "label", "worker": "ann"})["token"])).status == 403
    assert predict(Client(tight.port, tight.post("/tokens", {"role": "read"})["token"])).status == 403


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (TWO_QUESTIONS, "'label_config' holds several questions ('tone', 'stars'); choose one with --question."),
        ("<View/>", "The labelling configuration asks no question whose answers are classes of the whole task."),
    ],
)
def test_a_doubtful_question_is_refused(shared, config, message):
    found = predict(shared, config=config)
    assert (found.status, found.json["error"]) == (422, message)
    assert shared.ask("POST", "/label-studio/setup", {"schema": config}).status == 422


def test_tasks_that_cannot_be_items_are_not_predicted(shared):
    ids = ["\ud800", "a\0", "", [1], {"a": 1}, None, "x" * 20_000]
    found = predict(shared, *({"id": one, "data": {"a": 1, "b": 2}} for one in ids), 7, config=CONFIG.replace("tone", "\ud800"))
    assert found.status == 200
    assert [one["result"] for one in found.json["results"]] == [[]] * 8
    assert predict(shared, config="<![a" + CONFIG).status == 422


def test_bodies_that_are_none_are_refused(shared):
    assert shared.ask("POST", "/label-studio/predict", b"{", content_type="application/json").status == 422
    assert shared.ask("POST", "/label-studio/predict", [1]).status == 422
    assert shared.ask("POST", "/label-studio/predict", {"label_config": CONFIG}).status == 422


@pytest.mark.slow
def test_the_question_and_the_item_are_named_by_options(tmp_path):
    with serving(tmp_path / "job.db", "--question", "stars", "--item-column", "url") as server:
        server.post("/labels", [{"item": "a.png", "worker": worker, "label": 4} for worker in ("ann", "bob")])
        found = predict(server, {"id": 7, "data": {"url": "a.png"}}, config=TWO_QUESTIONS).json["results"]
        assert found[0]["result"] == [{"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": 4}}]


def annotation(number, worker, choices, updated, **more):
    """Return an annotation as webhooks and exports have it."""
    value = {"choices": choices}
    return {
        "id": number, "completed_by": worker, "was_cancelled": False, "ground_truth": False, "lead_time": 37.13,
        "created_at": "2026-11-01T10:00:00.536303Z", "updated_at": f"2026-11-01T{updated}.536370Z", "prediction": {},
        "result": [{"value": value, "id": "WArqkkifYE", "from_name": "tone", "to_name": "text", "type": "choices"}], **more,
    }  # fmt: skip


def event(action, task, given, config=CONFIG):
    data = {"id": task, "data": {"text": "Hello", "url": f"{task}.png"}, "meta": {}, "overlap": 1, "project": 2}
    project = {"id": 2, "title": "New Project", "label_config": config, "token": "9105a1d897e52286"}
    return {"action": action, "annotation": {**given, "task": task}, "task": data, "project": project}


def told(server, body):
    """Return how many labels were added, known and removed."""
    found = server.post("/label-studio/webhook", body)
    return found["added"], found["known"], found["removed"]


def labels_in(server):
    return sorted((row["item"], row["worker"], row["label"]) for row in server.get("/labels")["labels"])


@pytest.fixture
def fresh(tmp_path, request):
    with serving(tmp_path / "job.db", *getattr(request, "param", ())) as server:
        yield server


CREATED, UPDATED = "ANNOTATION_CREATED", "ANNOTATION_UPDATED"


@pytest.mark.slow
def test_a_webhook_and_an_export_give_the_same_labels(fresh, tmp_path):
    """What was created, updated, skipped, emptied and deleted is in the store as an export of it all is read."""
    final = {
        1: [annotation(11, 5, ["warm"], "10:00:00"), annotation(12, 6, ["cold"], "11:00:00")],
        2: [annotation(13, 5, [], "10:00:00", was_cancelled=True), annotation(14, 7, ["cold"], "12:00:00")],
        3: [{**annotation(15, 6, [], "10:30:00"), "result": []}, annotation(16, {"email": "h@x.org"}, ["warm"], "10:00:00")],
    }
    events = [event(CREATED, task, one) for task, several in final.items() for one in several]
    events += [
        event(CREATED, 1, annotation(12, 6, ["warm"], "10:00:00")),  # late: the update is there already
        event(UPDATED, 2, annotation(14, 7, ["warm"], "11:00:00")),
        event(CREATED, 1, annotation(17, 9, ["cold"], "10:00:00")),
        {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 17}], "project": {"id": 2}},
        event(CREATED, 4, annotation(18, 5, ["cold"], "10:00:00")),
        {"action": "TASKS_DELETED", "tasks": [{"id": 4}], "project": {"id": 2}},
        event(UPDATED, 4, annotation(18, 5, ["warm"], "10:01:00")),  # late: its task is gone
    ]
    for body in [*events, *events]:
        fresh.post("/label-studio/webhook", body)
    export = [{"id": task, "data": {"text": "Hello"}, "annotations": several, "drafts": []} for task, several in final.items()]
    read = read_labels(write(tmp_path / "export.json", json.dumps(export)))
    assert labels_in(fresh) == rows_of(read) == [
        ("1", "5", "warm"), ("1", "6", "cold"), ("2", "7", "cold"), ("3", "h@x.org", "warm"),
    ]  # fmt: skip
    first = fresh.get("/labels")["labels"][0]
    assert (first["key"], first["time"], first["duration"]) == ("label-studio/11", "2026-11-01T10:00:00.536303+00:00", 37.13)
    assert fresh.post("/label-studio/tasks", export) == {"added": 0, "known": 6, "removed": 0, "refused": []}
    assert fresh.get("/summary")["labels"] == 4


@pytest.mark.slow
def test_the_same_delivery_twice_changes_nothing_and_reads_follow(fresh):
    one = event(CREATED, 7, annotation(1, 5, ["warm"], "10:00:00"))
    assert [told(fresh, one), told(fresh, one)] == [(1, 0, 0), (0, 1, 0)]
    assert told(fresh, event(UPDATED, 7, annotation(1, 5, ["cold"], "10:05:00"))) == (1, 0, 0)
    assert told(fresh, one) == (0, 1, 0)
    assert fresh.item("7")["label"] == "cold"
    assert told(fresh, event(UPDATED, 7, annotation(1, 5, [], "10:06:00", was_cancelled=True))) == (0, 0, 1)
    assert fresh.ask("GET", "/items/7").status == 404
    gone = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 1}]}
    assert [told(fresh, gone), told(fresh, one)] == [(0, 1, 0), (0, 1, 0)]
    many = event("ANNOTATIONS_CREATED", 8, annotation(2, 5, ["warm"], "10:00:00"))
    several = {**many, "annotation": [{**annotation(n, n, ["warm"], "10:00:00"), "task": n} for n in (3, 4)]}
    assert told(fresh, {**several, "task": [{"id": 3}, {"id": 4}]}) == (2, 0, 0)
    for action in ("PROJECT_UPDATED", "TASKS_CREATED", "START_TRAINING"):
        assert told(fresh, {"action": action, "project": {"id": 2}}) == (0, 0, 0)
    actions = {line["action"] for line in fresh.get("/audit")["audit"]}
    assert {"label replaced", "label removed"} <= actions


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [("--question", "stars", "--item-column", "url", "--options", "set")], indirect=True)
def test_what_a_webhook_says_is_read_by_the_options(fresh, tmp_path):
    both = annotation(1, 5, ["warm", "cold"], "10:00:00")
    both["result"].append({"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": 4.0}})
    assert told(fresh, event(CREATED, 7, both, TWO_QUESTIONS)) == (1, 0, 0)
    path = write(tmp_path / "e.json", json.dumps([{"id": 7, "data": {"url": "7.png"}, "annotations": [both]}]))
    read = read_labels(path, question="stars", item_column="url", options="set", classes=["4.0", "5"])
    assert labels_in(fresh) == rows_of(read)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "This is no event of Label Studio: it names no action."),
        ({"action": CREATED}, "Label Studio sent no payload; let its webhook send one."),
        ({"action": CREATED, "annotation": {"result": []}}, "The id of an annotation or a task is missing."),
        (
            {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": "\ud800"}]},
            "The id of an annotation or a task is not valid text: it holds half of a surrogate pair.",
        ),
        ({"action": "TASKS_DELETED", "tasks": [{"id": "a\0"}]}, "The id of an annotation or a task holds a NUL character."),
        (
            event(CREATED, 1, annotation(1, 5, ["warm"], "10:00:00"), TWO_QUESTIONS),
            "'label_config' holds several questions ('tone', 'stars'); choose one with --question.",
        ),
    ],
)
def test_events_that_cannot_be_read_are_refused(shared, body, message):
    found = shared.ask("POST", "/label-studio/webhook", body)
    assert (found.status, found.json["error"]) == (422, message)


def test_annotations_that_are_no_labels_are_refused_with_the_reason(shared):
    found = shared.ask("POST", "/label-studio/webhook", event(CREATED, "ls", annotation(900, 5, ["warm", "cold"], "10:00:00")))
    assert (found.status, found.json["refused"]) == (
        422,
        [
            {
                "index": 0,
                "key": "label-studio/900",
                "reason": "The annotation names several choices; `crowdassay serve --options set` takes the set as a class.",
            }
        ],
    )
    nobody = shared.ask("POST", "/label-studio/webhook", event(CREATED, "ls", annotation(901, None, ["warm"], "10:00:00")))
    assert [one["reason"] for one in nobody.json["refused"]] == ["The worker is missing."]
    for body in (b"[{", b"[1]", b""):
        assert shared.ask("POST", "/label-studio/tasks", body, content_type="application/json").status == 422


def test_a_token_of_a_header_that_label_studio_sends(tight):
    body = event(CREATED, "header", annotation(902, 5, ["warm"], "10:00:00"))
    token = tight.post("/tokens", {"role": "label"})["token"]
    stranger = Client(tight.port)
    assert stranger.ask("POST", "/label-studio/webhook", body).status == 401
    assert stranger.ask("POST", "/label-studio/webhook", body, Authorization=f"Bearer {token}").json["added"] == 1
    ann = Client(tight.port, tight.post("/tokens", {"role": "label", "worker": "5"})["token"])
    assert ann.ask("POST", "/label-studio/webhook", body).status == 403
