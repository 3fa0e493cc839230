"""Files come into a store as `aggregate` reads them, whole or not at all: by --load, and by POST /upload."""

import gzip
import json
import subprocess

import pytest

from crowdassay.service.store.labels import list_labels
from crowdassay.service.store.open import open_store
from support.databases import PYTHON, environment
from support.service import RUN, Client, serving

pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")
FILE = {"content_type": "application/octet-stream"}
CSV = b"task,who,answer,when\n1,ann,yes,2026-01-02T00:00:00Z\n1,bob,no,2026-01-03T00:00:00Z\n2,ann,yes,2026-01-04T00:00:00Z\n"
NAMED = "item_column=task&worker_column=who&label_column=answer&time_column=when"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("upload") / "job.db", "--max-body", "100000") as running:
        yield running


def upload(client, name, data, query=""):
    return client.ask("POST", f"/upload?name={name}&{query}", data, **FILE)


def test_a_table_is_loaded_once_with_the_options_of_aggregate(server):
    found = upload(server, "a.csv", CSV, NAMED).json
    assert [found[name] for name in ("file", "added", "known", "refused")] == ["a.csv", 3, 0, []]
    assert upload(server, "a.csv.gz", gzip.compress(CSV), NAMED).json["known"] == 3
    assert {one["time"] for one in server.item("1")["labels"]} == {
        "2026-01-02T00:00:00.000000+00:00", "2026-01-03T00:00:00.000000+00:00",
    }  # fmt: skip
    assert server.get("/audit")["audit"][1]["action"] == "file loaded"


def test_wide_tables_and_exports_bring_texts_and_truths(server):
    wide = b"item,text,ann,bob\nw1,A first text,yes,no\nw2,https://example.org/a.png,no,\n"
    loaded = upload(server, "wide.csv", wide, "worker_columns=ann,bob")
    assert (loaded.status, loaded.json["added"]) == (200, 3)
    tasks = [
        {
            "id": 7,
            "data": {"text": "A duck"},
            "annotations": [
                {"id": n, "completed_by": n, "result": [{"type": "choices", "from_name": "q", "value": {"choices": ["duck"]}}]}
                for n in (1, 2)
            ],
        }
    ]
    found = upload(server, "export.json", json.dumps(tasks).encode()).json
    assert found["added"] == 2
    assert server.item("7")["text"] == "A duck"


@pytest.mark.parametrize(
    ("name", "data", "query", "said"),
    [
        ("a.csv", b"", "", "'a.csv' is empty."),
        ("", CSV, "", "Say how the file is called"),
        ("a.csv", CSV, "colour=red", "There is no option 'colour'"),
        ("a.csv", CSV, "item_column=nonesuch", "nonesuch"),
        ("a.csv", b"item,worker,label\ni1,ann,yes\ni2,ann," + b"x" * 10_001 + b"\n", "", "Nothing of 'a.csv' was loaded. The"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason_and_nothing_is_stored(server, name, data, query, said):
    before = server.get("/summary")["labels"]
    found = upload(server, name, data, query)
    assert found.status == 422
    assert said in found.json["error"]
    assert "/tmp" not in found.json["error"]
    assert server.get("/summary")["labels"] == before == len(server.get("/labels")["labels"])


def test_a_file_that_is_too_long_is_refused_and_so_is_who_may_not(server, tmp_path):
    found = upload(server, "a.csv", b"x" * 100_001)
    assert (found.status, "longer than 100,000 bytes" in found.json["error"]) == (413, True)
    assert server.ask("POST", "/labels", CSV, **FILE).status == 415
    with serving(tmp_path / "job.db", token="made") as guarded:
        client = Client(guarded.port, guarded.post("/tokens", {"role": "label"})["token"])
        assert upload(client, "a.csv", CSV).status == 403


def test_a_class_that_is_not_among_the_fixed_ones_refuses_the_file(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,worker,label\ni1,ann,duck\ni2,ann,dukc\n")
    command = [PYTHON, "-c", RUN, "serve", str(tmp_path / "job.db"), "--classes", "duck,goose", "--load", str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert (ended.returncode, "dukc" in ended.stderr) == (1, True)
    path.write_text("item,worker,label\ni1,ann,duck\ni2,ann,goose\n")
    for added, known in ((2, 0), (0, 2)):
        with serving(tmp_path / "job.db", "--classes", "duck,goose", "--load", str(path)) as server:
            assert f"Loaded {added} labels from 'labels.csv' ({known} known already)." in server.said
            found = upload(server, "b.csv", b"item,worker,label\ni3,ann,goose\ni4,ann,swan\n")
            assert "There is no class 'swan'" in found.json["error"]
    with open_store(tmp_path / "job.db").home.read() as session:
        assert [row.item for row in list_labels(session, 0, 9)] == ["i1", "i2"]


def test_an_expert_is_asked_for_items_drawn_at_random_and_not_asked_again(tmp_path):
    """S14: the advice is that of the report, word for word; known items are asked for, and answers count."""
    from crowdassay import Assay, read_labels
    from crowdassay.planning.expert import draw_items
    from crowdassay.results.report.overview import next_steps

    path, names = tmp_path / "labels.csv", [f"i{n}" for n in range(70)]
    path.write_text(
        "item,worker,label\n"
        + "".join(f"{name},w{(n + m) % 5},{(n % 2 + (n % 7 < m)) % 2}\n" for n, name in enumerate(names) for m in (0, 1))
    )
    with serving(tmp_path / "job.db", "--load", str(path)) as server:
        first = server.get("/expert")
        assert (first["answered"], first["wanted"], len(first["items"])) == (0, 50, 50)
        assert [row["item"] for row in first["items"]] == [names[place] for place in draw_items(names, 50)]
        assert server.fit()["state"] == "done"
        seen = server.get("/summary")
        assert seen["advice"] == next_steps(Assay().fit(read_labels(path)).result_.insight, None)
        assert any("drawn at random" in step for step in seen["advice"])
        assert seen["cost"]["labels_to_come"] is None
        server.post("/truth", [{"item": first["items"][0]["item"], "label": "1"}])
        second = server.get("/expert?limit=3")
        assert (second["answered"], second["wanted"]) == (1, 50)
        assert [row["item"] for row in second["items"]] == [row["item"] for row in first["items"][1:4]]
