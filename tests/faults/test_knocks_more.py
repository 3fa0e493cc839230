"""What broke when it was broken on purpose, and holds now: closed streams, Ctrl-C while modules load, words at the end."""

import json
import subprocess

import numpy as np
import pytest

from crowdassay import MinimaxEntropy, simulate
from crowdassay.engines.base import QUICK_CELLS
from crowdassay.estimators import minimax
from crowdassay.estimators.minimax import LONG_PASS_CELLS, cells
from crowdassay.labels.write import write_json
from crowdassay.results.saved.folder import _canonical, _digest
from crowdassay.solvers.scaled import worth_another
from support.databases import PYTHON, environment

LABELS = "item,worker,label\na,x,1\na,y,1\nb,x,0\nb,y,1\nc,x,0\nc,y,0\n"


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(LABELS)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&- <&-"])
def test_a_closed_stream_does_no_harm(labels, tmp_path, closed):
    command = f'"{PYTHON}" -m crowdassay aggregate "{labels}" --method majority --out "{tmp_path / "out"}" {closed}'
    done = subprocess.run(["bash", "-c", command], env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert (tmp_path / "out" / "labels.csv").read_text().startswith("item,")


@pytest.mark.slow
def test_an_error_with_closed_standard_error_still_has_its_exit_code(tmp_path):
    command = f'"{PYTHON}" -m crowdassay aggregate "{tmp_path / "none.csv"}" 2>&-'
    assert subprocess.run(["bash", "-c", command], env=environment(), check=False).returncode == 2  # no such file


SPOIL = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                for _ in range(100_000): pass
            except KeyboardInterrupt as error:
                if {swallowed}:
                    raise ImportError("numpy._core.multiarray failed to import") from error
                raise
sys.meta_path.insert(0, Finder())
from crowdassay.cli.start import main
sys.argv[1:] = {arguments!r}
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "swallowed"),
    [("crowdassay.cli.main", False), ("click", False), ("numpy", True), ("numpy", False), ("vl_convert", True)],
)
def test_ctrl_c_while_modules_load_is_an_interruption(labels, tmp_path, name, swallowed):
    arguments = ["aggregate", str(labels), "--report", str(tmp_path / "report.html")]
    code = SPOIL.format(name=name, swallowed=swallowed, arguments=arguments)
    done = subprocess.run([PYTHON, "-c", code], env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (3, "Interrupted; nothing was written.")


AT_THE_END = """
import atexit, os, signal, sys
atexit.register(lambda: [os.kill(os.getpid(), number) for number in (signal.SIGINT, signal.SIGTERM)])
from crowdassay.cli.start import main
sys.argv[1:] = {arguments!r}
main()
"""


@pytest.mark.slow
def test_ctrl_c_when_all_is_done_changes_nothing(labels, tmp_path):
    code = AT_THE_END.format(arguments=["convert", str(labels), "--out", str(tmp_path / "out.csv")])
    done = subprocess.run([PYTHON, "-c", code], env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Wrote 6 labels" in done.stdout


def test_strict_says_why_even_when_quiet(run, labels):
    labels.write_text("item,worker,label\n" + "".join(f"i{j},w{i},{(i * j + j) % 3}\n" for j in range(40) for i in range(5)))
    code, out, err = run("aggregate", labels, "--method", "dawid-skene", "--max-iter", "2", "--strict", "--quiet")
    assert (code, out) == (1, "")
    assert "did not converge, and --strict demands it; raise --max-iter from 2" in err


def test_a_file_of_items_to_label_next_is_written_and_said(run, labels, tmp_path):
    code, out, _ = run("aggregate", labels, "--next", tmp_path / "next.csv")
    assert code == 0
    assert (tmp_path / "next.csv").exists()
    assert f"Wrote the items to label next to {tmp_path / 'next.csv'}." in out
    assert "Nothing was written" not in out


SECRET = "ann:s3cret/a@b"


@pytest.mark.parametrize("scheme", ["postgresql", "https", "mysql", "s3"])
@pytest.mark.parametrize("option", ["--truth", "--gold", "--out", "--report", "--next", "--save-model"])
def test_no_message_repeats_a_password_and_no_address_becomes_a_folder(run, labels, tmp_path, monkeypatch, scheme, option):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("aggregate", labels, option, f"{scheme}://{SECRET}@nowhere.invalid/x?table=t")
    assert code in {1, 2}
    assert "s3cret" not in out + err
    assert [path.name for path in tmp_path.iterdir()] == ["labels.csv"]
    assert len(err.strip().splitlines()[-1]) > 20


def test_databases_are_for_those_commands_that_write_to_them(run, labels, tmp_path):
    code, _, err = run("agreement", labels, "--out", f"sqlite:///{tmp_path / 'job.db'}")
    assert code == 2
    assert "this is an address" in err


@pytest.fixture
def hidden(run, labels, tmp_path):
    """A model of pseudonyms, and new labels by one of its workers and a new one."""
    (tmp_path / "new.csv").write_text("item,worker,label\nd,x,1\nd,late,1\n")
    common = "aggregate", labels, "--method", "majority", "--pseudonymise", "--quiet", "--save-model"
    assert run(*common, tmp_path / "salted", "--salt", "pepper")[0] == 0
    assert run(*common, tmp_path / "lost")[0] == 0
    assert run("aggregate", labels, "--method", "majority", "--quiet", "--save-model", tmp_path / "plain")[0] == 0
    return tmp_path


@pytest.mark.parametrize(
    ("model", "options", "why"),
    [
        ("salted", (), "would bring real ids"),
        ("lost", (), "would bring real ids"),
        ("salted", ("--pseudonymise",), "give --salt as when"),
        ("lost", ("--pseudonymise",), "make the model again with --salt"),
        ("plain", ("--pseudonymise", "--salt", "pepper"), "leave out --pseudonymise"),
    ],
)
def test_updates_neither_bring_real_ids_nor_make_strangers_of_workers(run, hidden, model, options, why):
    before = {path.name: path.read_bytes() for path in (hidden / model).iterdir()}
    code, _, err = run("update", hidden / model, hidden / "new.csv", *options)
    assert code in {1, 2}
    assert why in err
    assert {path.name: path.read_bytes() for path in (hidden / model).iterdir()} == before


def without_kinds(folder):
    """Make a model of ours what versions wrote whose notes had no kinds: sentences only."""
    head = json.loads((folder / "model.json").read_text())
    assert head.pop("note_kinds")
    del head["checksum"]
    write_json({**head, "checksum": _digest(_canonical(head))}, folder / "model.json")


@pytest.mark.parametrize(("model", "way"), [("salted", "give --salt as when"), ("lost", "make the model again with --salt")])
def test_models_saved_before_notes_had_kinds_are_still_known_to_have_pseudonyms(run, hidden, model, way):
    without_kinds(hidden / model)
    code, _, err = run("update", hidden / model, hidden / "new.csv")
    assert code == 2
    assert "would bring real ids" in err
    code, _, err = run("update", hidden / model, hidden / "new.csv", "--pseudonymise")
    assert code == 2
    assert way in err


def test_the_right_salt_knows_its_workers_and_a_wrong_one_is_said(run, hidden):
    salted = hidden / "salted"
    code, out, _ = run("update", salted, hidden / "new.csv", "--pseudonymise", "--salt", "pepper", "--out", hidden / "out")
    assert code == 0
    assert "None of these" not in out
    names = (hidden / "out" / "workers.csv").read_text()
    assert len(names.splitlines()) == 4
    assert "late" not in names
    code, out, _ = run("update", salted, hidden / "new.csv", "--pseudonymise", "--salt", "salt")
    assert code == 0
    assert "None of the workers of these labels (2) is known to the model" in out


@pytest.mark.slow
def test_several_starts_are_for_few_cells_and_long_fits_are_announced(monkeypatch):
    """A pass goes through n_labels x n_classes^2 cells: with many classes few labels make a long fit."""
    small, large, huge = (
        simulate(np.random.default_rng(0), n_items=n, n_workers=9, n_classes=k)[0] for n, k in ((60, 3), (400, 24), (60, 300))
    )
    assert cells(small) <= QUICK_CELLS < cells(large) <= LONG_PASS_CELLS < cells(huge)
    assert worth_another(small)
    assert not worth_another(large)
    asked = []
    real = minimax.fit_profiled

    def noted(*given, **run):
        asked.append(run["starts"])
        return real(*given, **{**run, "starts": 1, "max_iter": 3})

    monkeypatch.setattr(minimax, "fit_profiled", noted)
    said = []
    for labels in (small, large):
        MinimaxEntropy().fit(labels, announce=said.append)
    assert asked[0] == 3
    assert set(asked[1:]) - {3} == {1}
    assert not [words for words in said if "may take minutes" in words]
    assert "300 x 300 classes for each of 300 labels" in MinimaxEntropy().slow(huge)
    assert MinimaxEntropy(item_structure="none").slow(huge) is None


@pytest.mark.slow
def test_a_report_under_a_limit_of_addresses_is_refused_before_the_work(labels, tmp_path):
    command = f'ulimit -v 8000000; "{PYTHON}" -m crowdassay aggregate "{labels}" --report "{tmp_path / "report.html"}"'
    done = subprocess.run(["bash", "-c", command], env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode in {1, 2}, done
    assert "ulimit -v unlimited" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "report.html").exists()
