"""What the command line says to somebody who has never seen it."""

import click
import pytest

from crowdassay import Assay
from crowdassay.cli.main import cli
from crowdassay.cli.options import HEADINGS
from crowdassay.notes import NoteKind, kind_of
from crowdassay.results.report.build import build_report


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(["item,worker,label", *(f"i{j},ann,{'xy'[j % 2]}" for j in range(9))]))
    return path


def test_one_worker_is_not_workers(run, labels):
    out = " ".join(run("aggregate", labels, "--method", "majority")[1].split())
    assert "Read 9 labels of 9 items by 1 worker from labels.csv" in out
    assert "Nothing was written; give --out DIR for the tables or --report FILE.html for a page." in out


@pytest.mark.slow
def test_the_method_is_told_with_what_can_be_set(run, tmp_path):
    run("simulate", "--out", tmp_path, "--items", 30, "--workers", 5)
    for engine in ("local", "files"):
        command = ("aggregate", tmp_path / "labels.csv", "--engine", engine)
        out = run(*command)[1]
        assert "\nMethod assay" in out
        assert not any(word in out for word in ("=None", "= None", "turned", "concentration", "effects"))
        assert "Method minimax (alpha = " in run(*command, "--method", "minimax")[1]


@pytest.mark.parametrize("name", ["aggregate", "agreement", "compare", "convert", "update"])
def test_options_stand_under_headings(run, name):
    code, out, _ = run(name, "--help")
    assert code == 0
    options = [option for option in cli.get_command(None, name).params if isinstance(option, click.Option)]
    listed = [line.split()[0].rstrip(",") for line in out.splitlines() if line.startswith("  -")]
    assert sorted(listed) == sorted([*(option.opts[0] for option in options), "-h"])
    assert {option.name for option in options} <= {name for names in HEADINGS.values() for name in names}
    assert out.count("\nReading LABELS:\n") == 1


@pytest.mark.parametrize(("name", "read"), [("measure", "RATINGS"), ("rank", "PAIRS")])
def test_help_calls_what_is_read_by_its_name(run, name, read):
    assert run(name, "--help")[1].count(f"\nReading {read}:\n") == 1


def test_a_wide_table_is_read_as_wide(run, tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("item,ann,bob,cid\n1,x,y,x\n2,y,y,x\n")
    code, _, err = run("aggregate", path)
    assert code == 2
    assert "say --from wide" in err
    code, out, _ = run("aggregate", path, "--from", "wide", "--method", "majority")
    assert code == 0
    assert "Read 6 labels of 2 items by 3 workers" in " ".join(out.split())
    assert "did you mean 'wide'? The formats are plain, " in run("aggregate", path, "--from", "wied")[2]


def test_a_judges_file_needs_no_options(run, tmp_path):
    path = tmp_path / "judges.csv"
    path.write_text("\n".join(["prompt,model,score", *(f"p{j},m{i},{(j + i // 2) % 3}" for j in range(8) for i in range(3))]))
    code, out, _ = run("aggregate", path, "--method", "majority")
    assert code == 0
    assert "(item = prompt, worker = model, label = score)" in " ".join(out.split())


def test_the_report_speaks_of_workers_once(spammed):
    result = Assay().fit(spammed).result_
    about_workers = [note for note in result.insight.notes if kind_of(note) is NoteKind.WORKERS]
    assert about_workers[0].startswith("Workers to look at:")
    page = build_report(result.insight).html()
    assert "says yes to everything" in page
    assert not any(start in page for start in ("Workers to look at:", "Likely copies:"))


@pytest.fixture
def spammed():
    items = [f"i{j}" for j in range(200) for _ in range(6)]
    workers = [f"w{i}" for _ in range(200) for i in range(6)]
    said = ["yes" if i == 5 or (j + (j * i) % 7 // 6) % 2 else "no" for j in range(200) for i in range(6)]
    return items, workers, said


@pytest.mark.parametrize(
    ("command", "option", "said"),
    [
        ("convert", "--worker-columns", "write all values in one, separated by commas."),
        ("aggregate", "--item-column", "write all values in one, separated by commas."),
        ("rank", "--winners", "give it once."),
    ],
)
def test_an_option_given_twice_is_refused(run, tmp_path, command, option, said):
    """The first of two --worker-columns was thrown away without a word."""
    path = tmp_path / "a.csv"
    path.write_text("item,a,b\n1,x,x\n2,y,y\n")
    code, _, err = run(command, path, option, "a", option, "b")
    assert code == 2
    assert f"{option} is given twice; {said}" in err
