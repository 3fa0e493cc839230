"""Fetching from a server that the tests start; nothing comes from outside."""

import json
from dataclasses import replace

import numpy as np
import pytest

import crowdassay
from crowdassay.errors import DataError, FileError, ParameterError
from crowdassay.labels.datasets import load as module
from crowdassay.labels.datasets import registry
from crowdassay.labels.datasets.load import fetch_dataset as fetch
from crowdassay.labels.datasets.load import file_url, load_dataset

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize(
    ("layout", "texts"),
    [
        ("item-worker-label-tsv", ["a\tx\t1\na\ty\t0\n", "a\t1\n"]),
        ("item-worker-label-csv", ["item,worker,label\na,x,1\na,y,0\n", "item,truth\na,1\n"]),
        ("worker-item-label-truth-csv", ["x,a,1,1\ny,a,0,1\n"]),
        ("annotation-worker-item-label-truth-tsv", ["q\tw\ti\tr\tg\nQ\tx\ta\t1\t1\nQ\ty\ta\t0\t1\n"]),
        ("yaml-flags", ["x: {a: true}\ny: {a: false}\n", "{a: true}\n"]),
    ],
)
def test_a_dataset_arrives_converted(home, publish, layout, texts):
    publish("small", layout, texts, ("0", "1"))
    folder = fetch("small")
    assert folder == home / "small"
    assert (folder / "labels.csv").read_bytes() == b"item,worker,label\na,w1,1\na,w2,0\n"
    assert (folder / "truth.csv").read_bytes() == b"item,label\na,1\n"
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    assert (meta["name"], meta["classes"], meta["raw"]["format"]) == ("small", ["0", "1"], layout)
    assert [path.name for path in home.iterdir()] == ["small"]


def test_files_are_asked_for_once(site, pets):
    lines = []
    assert fetch("pets", announce=lines.append) == fetch("pets", announce=lines.append)
    assert lines == [f"Downloading {file_url(pets.raw, path)}" for path in pets.raw.files]
    assert site.asked == [f"/someone/somewhere/{'0' * 40}/data%20of%20pets/{number}.txt" for number in (0, 1)]


def test_a_folder_and_a_server_can_be_given(tmp_path, site, pets, monkeypatch):
    monkeypatch.setenv("CROWDASSAY_DATASETS_URL", "http://127.0.0.1:1")
    assert fetch("pets", base_url=f"{site.url}/", cache=tmp_path / "kept") == tmp_path / "kept" / "pets"


def test_the_code_host_is_asked_by_default(monkeypatch, pets):
    monkeypatch.delenv("CROWDASSAY_DATASETS_URL")
    assert file_url(pets.raw, "a b/c.txt") == f"https://raw.githubusercontent.com/someone/somewhere/{'0' * 40}/a%20b/c.txt"


def test_data_at_hand_are_used_first(tmp_path, site, pets, monkeypatch):
    own = tmp_path / "own" / "pets"
    own.mkdir(parents=True)
    monkeypatch.setenv("CROWDASSAY_DATA", str(own.parent))
    (own / "labels.csv").write_text("item,worker,label\nz,q,2\n")
    assert fetch("pets").parent != own.parent  # half of it is not enough
    (own / "truth.csv").write_text("item,label\nz,2\n")
    assert fetch("pets") == own
    assert len(site.asked) == 2


def test_a_dataset_without_one_of_its_files_is_fetched_again(pets):
    (fetch("pets") / "truth.csv").unlink()
    assert (fetch("pets") / "truth.csv").is_file()


def test_a_dataset_loads_as_labels_and_truth(pets):
    labels, truth, meta = load_dataset("pets")
    assert list(labels.class_names) == ["1", "2"]
    assert (labels.n_items, labels.n_workers, labels.n_labels) == (2, 2, 3)
    np.testing.assert_array_equal(truth, [0, 1])
    assert meta == pets
    assert crowdassay.load_dataset is load_dataset


def test_classes_never_chosen_are_kept(publish):
    publish("small", "item-worker-label-tsv", ["a\tx\t2\n", "a\t2\n"], ("1", "2", "3"))
    labels, truth, _ = load_dataset("small")
    assert (labels.n_classes, truth.tolist()) == (3, [1])


def test_nothing_is_fetched_when_not_wanted(site, pets):
    with pytest.raises(FileError, match="run `crowdassay datasets fetch pets`"):
        load_dataset("pets", fetch=False)
    assert site.asked == []


def nothing_kept(home):
    return not home.exists() or not any(home.iterdir())


def damage_swapped(site, _):
    site.put("data%20of%20pets/0.txt", "a\t7\t2\na\t9\t2\nb\t9\t2\n")


def damage_truth(site, _):
    site.put("data%20of%20pets/1.txt", "a\t1\nb\t1\n")


def damage_missing(site, _):
    site.pages.popitem()


def damage_broken(site, _):
    site.put("data%20of%20pets/1.txt", "try later", status=503)


def damage_cut(site, _):
    site.put("data%20of%20pets/0.txt", "a\t7\t1\na\t9\t2\nb\t9\t", length=21)


def damage_large(_, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_RAW_FILE", 10)


def damage_page(site, _):
    site.put("data%20of%20pets/0.txt", "<html><p>Sign in</p></html>")


def damage_binary(site, _):
    site.put("data%20of%20pets/0.txt", b"\x93NUMPY\x01\x00")


def damage_offline(_, monkeypatch):
    monkeypatch.setenv("CROWDASSAY_DATASETS_URL", "http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("damage", "error", "sentence"),
    [
        (
            damage_swapped,
            DataError,
            r"The labels of pets do not match the checksum in the registry \(SHA-256 .*nothing was kept",
        ),
        (damage_truth, DataError, "The truth of pets do not match the checksum"),
        (damage_missing, FileError, r"1\.txt answered 404 \(Not Found\); try again later"),
        (damage_broken, FileError, r"answered 503 \(Service Unavailable\)"),
        (damage_cut, FileError, r"0\.txt stopped after 16 of 21 bytes; try again"),
        (damage_large, FileError, r"is larger than .* and so is not the file meant"),
        (
            damage_page,
            DataError,
            "The files of pets are not as expected: Row 1 has 1 column where 3 are needed; nothing was kept",
        ),
        (damage_binary, DataError, "is not UTF-8 text and so is not the file meant"),
        (damage_offline, FileError, r"cannot be reached \(.*refused\); check the connection"),
    ],
)
def test_a_fetch_that_fails_says_why_and_keeps_nothing(home, site, pets, monkeypatch, damage, error, sentence):
    damage(site, monkeypatch)
    with pytest.raises(error, match=sentence) as raised:
        fetch("pets")
    assert "\n" not in str(raised.value)
    assert nothing_kept(home)


def test_a_full_disk_keeps_nothing(home, pets, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_json", full)
    with pytest.raises(FileError, match=r"could not be written .*No space left"):
        fetch("pets")
    assert nothing_kept(home)


def test_a_file_in_the_way_is_said_before_anything_is_asked(tmp_path, site, pets):
    (tmp_path / "share").write_text("")
    with pytest.raises(FileError, match="is a file"):
        fetch("pets")
    assert site.asked == []


def test_an_unknown_name_suggests_the_nearest(pets):
    with pytest.raises(ParameterError, match="There is no dataset 'pet'; did you mean 'pets'"):
        fetch("pet")
    with pytest.raises(ParameterError, match="`crowdassay datasets` lists them"):
        load_dataset("quite other", fetch=False)


def test_a_dataset_without_a_file_says_where_to_look(site, pets, monkeypatch):
    monkeypatch.setattr(registry, "entries", lambda: {"pets": replace(pets, raw=None)})
    with pytest.raises(
        DataError, match=r"no file that we know how to convert; look at someone/somewhere data, and put labels\.csv"
    ):
        fetch("pets")
    assert site.asked == []


def test_only_web_addresses_are_taken(pets):
    for address in ("file:///etc", "ftp://127.0.0.1", "127.0.0.1"):
        with pytest.raises(ParameterError, match="must begin with https:// or http://"):
            file_url(pets.raw, "labels.txt", address)
