"""`crowdassay datasets` as a user would try it."""

import json

import pytest

from crowdassay.cli.main import main
from crowdassay.labels.datasets.registry import entries


@pytest.fixture
def run(capsys, home):  # the user's own folder is not looked at
    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main(["datasets", *arguments])
        captured = capsys.readouterr()
        return stopped.value.code or 0, captured.out, captured.err

    return call


def test_the_list_has_a_line_for_each(run):
    code, out, err = run()
    header, *lines = out.splitlines()
    assert (code, err) == (0, "")
    assert header.split() == [
        "name",
        "kind",
        "classes",
        "items",
        "workers",
        "labels",
        "licence",
        "here",
        "can",
        "be",
        "fetched",
    ]
    assert [line.split()[0] for line in lines] == list(entries())
    blue = next(line for line in lines if line.startswith("bluebirds "))
    assert blue.split() == ["bluebirds", "binary", "2", "108", "39", "4,212", "Clear", "BSD", "(repository)", "no", "yes"]
    assert next(line for line in lines if line.startswith("flowers ")).split()[-2:] == ["no", "no"]


def test_the_list_says_what_is_here(run, pets):
    assert run()[1].splitlines()[1].split()[-2:] == ["no", "yes"]
    run("fetch", "pets")
    assert run()[1].splitlines()[1].split()[-2:] == ["yes", "yes"]


def test_the_list_as_json(run):
    records = json.loads(run("--json")[1])
    assert [record["name"] for record in records] == list(entries())
    assert all(record["folder"] is None for record in records)


def test_one_is_shown(run, home, pets, site):
    code, out, _ = run("show", "pets")
    assert code == 0
    for line in ("name     pets", "items    2, 2 with truth", "licence  MIT licence.", "folder   not on this machine"):
        assert line in out.splitlines()
    assert f"file     {site.url}/someone/somewhere/" in out
    run("fetch", "pets")
    record = json.loads(run("show", "pets", "--json")[1])
    assert (record["labels"], record["folder"]) == (pets.labels, str(home / "pets"))


def test_some_are_fetched(run, home, publish, pets, site):
    publish("more", "item-worker-label-tsv", ["a\tx\t1\n", "a\t1\n"], ("0", "1"))
    code, out, err = run("fetch", "pets", "more")
    assert code == 0
    assert out.splitlines() == [f"{name} is in {home / name}" for name in ("pets", "more")]
    assert err.count(f"Downloading {site.url}") == 4
    code, out, err = run("fetch", "more", "--json")
    assert (code, json.loads(out), err) == (0, {"more": str(home / "more")}, "")


def test_a_misspelt_name_stops_before_anything_is_asked(run, pets, site):
    code, out, err = run("fetch", "pets", "pest")
    assert (code, out) == (2, "")
    assert err == "Error: There is no dataset 'pest'; did you mean 'pets'?\n"
    assert site.asked == []


def test_a_failure_is_one_sentence(run, pets, site):
    site.pages.clear()
    code, out, err = run("fetch", "pets")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("Error: http://127.0.0.1:")


def test_json_belongs_to_the_command_that_prints(run):
    code, out, _ = run("--json", "show", "bluebirds")
    assert code == 2
    assert "Put --json after show" in out
