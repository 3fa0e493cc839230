"""Rows of docs/reliability.md on what is learned of people, and on what hostile or personal data do."""

import json
import zipfile

import numpy as np
import pytest

from crowdassay.errors import DataError
from crowdassay.labels import probe
from crowdassay.labels.files import read_labels
from support import exports

ROWS = [("i1", "ann@example.org", "warm"), ("i1", "bob@example.org", "cold"), ("i2", "ann@example.org", "cold")]


@pytest.fixture
def notes(run, tmp_path):
    """Aggregate rows of (item, worker, label); return all notes as one text."""

    def call(rows, method="assay"):
        path = tmp_path / "labels.csv"
        path.write_text("item,worker,label\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
        code, out, err = run("aggregate", path, "--method", method, "--json")
        assert code == 0, err
        return " ".join(json.loads(out)["notes"])

    return call


@pytest.mark.parametrize("method", ["assay", "majority", "dawid-skene", "minimax"])
def test_row_12_one_worker_or_one_label_each(notes, method):
    assert "is an assumption" in notes([(n, "w", n % 2) for n in range(20)], method)
    assert "is an assumption" in notes([(n, f"w{n % 5}", n % 2) for n in range(20)], method)


def test_row_13_two_groups_without_a_link(notes):
    rows = [(f"{group}{n}", f"{group}{w}", (n + (w == 3)) % 2) for group in "ab" for n in range(12) for w in range(4)]
    assert "2 groups" in notes(rows)


def test_row_14_nobody_knows_anything(notes):
    generator = np.random.default_rng(4)
    random = [(n, w, generator.integers(2)) for n in range(60) for w in range(6)]
    assert "no better than chance" in notes(random)


def test_row_14_most_are_against_the_truth(notes):
    generator = np.random.default_rng(5)
    truth = generator.integers(2, size=80)
    wrong = [1, 1, 1, 0, 0]
    rows = [(n, w, truth[n] ^ wrong[w] ^ int(generator.random() < 0.1)) for n in range(80) for w in range(5)]
    assert "swapped" in notes(rows)


def test_row_26_names_in_the_report(run, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("vl_convert")
    path = tmp_path / "labels.csv"
    script = "<script>alert(1)</script>"
    rows = [
        (f"{script}{n}", name, "ab"[(n + k) % 3 == 0]) for n in range(9) for k, name in enumerate((script, "x" * 10_000, "y"))
    ]
    path.write_text("item,worker,label\n" + "".join(",".join(row) + "\n" for row in rows))
    code, _, err = run("aggregate", path, "--out", tmp_path / "results", "--report", tmp_path / "report.html", "--quiet")
    assert code == 0, err
    page = (tmp_path / "report.html").read_text()
    assert "<script>alert" not in page
    assert "x" * 1000 not in page
    assert "default-src" in page
    assert "x" * 10_000 in (tmp_path / "results" / "workers.csv").read_text()


def test_row_28_zip_bombs(tmp_path, monkeypatch):
    def packed(files, **options):
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
            for name, data in files.items():
                made.writestr(name, data, **options)
        return path

    def refusal(path):
        with pytest.raises(DataError) as error:
            read_labels(path)
        return str(error.value)

    assert "more than 100 times their size" in refusal(packed({"a.json": bytes(5_000_000)}))
    assert "points outside it" in refusal(packed({"../a.json": "[]"}))
    link = zipfile.ZipInfo("a.json")
    link.external_attr = 0o120777 << 16
    assert "is a link" in refusal(packed({link: "/etc/passwd"}))
    monkeypatch.setattr(probe, "MAX_MEMBERS", 50)
    assert "more than 50" in refusal(packed({f"{n}.json": "[]" for n in range(51)}))
    monkeypatch.setattr(probe, "LARGEST_ARCHIVE", 1000)
    assert "more than 1,000" in refusal(packed({"a.json": bytes(2000)}, compress_type=zipfile.ZIP_STORED))
    nested = packed({"inner.zip": bytes(100)})
    assert refusal(nested)  # a zip in a zip is never opened


def test_row_34_no_gpu_is_one_sentence():
    from crowdassay.engines.gpu.device import missing
    from crowdassay.engines.gpu.engine import GpuPlace
    from crowdassay.engines.memory.engine import LocalEngine
    from support.problems import random_labels

    if missing() is None:
        pytest.skip("there is a GPU")
    said = []
    engine = GpuPlace(random_labels(0)).engine(gathered=False, announce=said.append)
    assert isinstance(engine, LocalEngine)
    assert len(said) == 1


def test_row_35_personal_data(run, tmp_path):
    path = exports.appen(ROWS, tmp_path)  # with a city and an IP address
    labels = read_labels(path)
    assert "Secretville" not in repr(labels.report.as_dict())
    out = [tmp_path / f"out{n}.csv" for n in range(3)]
    for place, salt in zip(out, ("pepper", "pepper", "salt"), strict=True):
        assert run("convert", path, "--pseudonymise", "--salt", salt, "--out", place)[0] == 0
    texts = [place.read_text() for place in out]
    assert texts[0] == texts[1] != texts[2]
    for text in texts:
        assert "ann@" not in text
        assert "Secretville" not in text
        assert "10.1.2.3" not in text
    code, printed, _ = run("aggregate", path, "--pseudonymise", "--salt", "pepper")
    assert code == 0
    assert "@example.org" not in printed
