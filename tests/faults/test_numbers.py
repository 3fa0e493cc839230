"""Rows of docs/reliability.md on numbers, and metamorphic tests: changes of the labels whose effect is known."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from crowdassay.checks.simulate import simulate
from crowdassay.errors import CrowdassayError, DataError
from crowdassay.estimators.methods import METHODS
from crowdassay.estimators.minimax import MinimaxEntropy
from crowdassay.findings.agreement import agreement
from crowdassay.labels.frames import as_labels
from crowdassay.labels.labels import Labels
from crowdassay.results import checks

LABELS, _ = simulate(np.random.default_rng(5), n_items=30, n_workers=6, n_classes=2, item_spread=0.2)
CLOSE = 1e-4  # two runs that differ in rounding may stop at slightly different points


def coded(item, worker, label, like=LABELS, **vocabularies):
    own = {"items": like.items, "workers": like.workers, "classes": like.classes}
    return Labels.from_codes(np.array(item), np.array(worker), np.array(label), **{**own, **vocabularies})


def fit(name, labels, **options):
    try:
        return METHODS[name].make(**options).fit(labels).result_
    except DataError as refusal:
        pytest.skip(str(refusal))


def check_sane(result):
    posterior = result.posterior
    assert np.isfinite(posterior).all()
    assert (posterior >= 0).all()
    assert (posterior <= 1).all()
    assert np.abs(posterior.sum(axis=1) - 1).max() < 1e-9
    known = np.bincount(result.labels.worker, minlength=result.labels.n_workers) > 0
    assert np.isfinite(result.accuracy[known]).all()
    assert np.isnan(result.accuracy[~known]).all()  # nothing is known of a worker without labels
    assert np.isfinite(result.confusion).all()
    assert result.objective is None or np.isfinite(result.objective)


@pytest.mark.parametrize("name", METHODS)
def test_renaming_changes_nothing(name):
    names = {kind: pa.array([f"{kind}-{n * 7 % 101}" for n in range(101)]) for kind in ("items", "workers")}
    renamed = replace(LABELS, items=names["items"][: LABELS.n_items], workers=names["workers"][: LABELS.n_workers])
    after, before = fit(name, renamed), fit(name, LABELS)
    if name == "kos":  # its messages are drawn in the order of the names
        assert np.array_equal(after.code, before.code)
    else:
        assert np.array_equal(after.posterior, before.posterior)


@pytest.mark.parametrize("name", METHODS)
def test_permuted_rows_change_nothing_but_rounding(name):
    order = np.random.default_rng(2).permutation(LABELS.n_labels)
    shuffled = coded(LABELS.label_item[order], LABELS.worker[order], LABELS.label[order])
    assert np.abs(fit(name, shuffled).posterior - fit(name, LABELS).posterior).max() < CLOSE


@pytest.mark.parametrize("name", METHODS)
def test_an_item_with_one_label_leaves_the_others_sane(name):
    more = coded(
        [*LABELS.label_item, LABELS.n_items],
        [*LABELS.worker, 0],
        [*LABELS.label, 1],
        items=pa.array([f"i{n}" for n in range(LABELS.n_items + 1)]),
    )
    result, before = fit(name, more), fit(name, LABELS)
    check_sane(result)
    same = result.code[:-1] == before.code
    assert same.mean() > 0.85  # one label more may tip what was in the balance, and no more


@pytest.mark.parametrize("name", METHODS)
def test_a_worker_twice_over(name):
    rows = np.flatnonzero(LABELS.worker == 0)
    twice = coded(
        [*LABELS.label_item, *LABELS.label_item[rows]],
        [*LABELS.worker, *np.full(len(rows), LABELS.n_workers)],
        [*LABELS.label, *LABELS.label[rows]],
        workers=pa.array([f"w{n}" for n in range(LABELS.n_workers + 1)]),
    )
    result = fit(name, twice)
    check_sane(result)
    # MACE draws starting points for every worker, KOS and Welinder messages and planes.
    if name not in {"mace", "kos", "welinder", "spectral-dawid-skene", "mmsr"}:
        assert abs(result.accuracy[0] - result.accuracy[-1]) < 1e-6


@pytest.mark.parametrize("name", METHODS)
def test_a_worker_without_labels(name):
    more = coded(
        LABELS.label_item, LABELS.worker, LABELS.label, workers=pa.array([f"w{n}" for n in range(LABELS.n_workers + 1)])
    )
    result = fit(name, more)
    check_sane(result)
    plain = fit(name, LABELS)
    kept = not any("was used instead" in note for note in (*result.notes, *plain.notes))  # on so few labels either may be
    assert not kept or (result.code == plain.code).mean() > 0.9


@pytest.mark.parametrize("alpha", [1e-12, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("name", ["minimax", "minimax-ordinal", "minimax-2012", "minimax-centred"])
def test_extreme_penalties(name, alpha):
    check_sane(fit(name, LABELS, alpha=alpha, max_iter=60))
    check_sane(fit(name, LABELS, beta=alpha, max_iter=60))


@pytest.mark.parametrize("gamma", [1e-12, 1e12])
def test_extreme_gamma(gamma):
    result = fit("minimax", LABELS, gamma=gamma, max_iter=60)
    check_sane(result)
    if gamma > 1:
        assert "tells no class apart" in result.notes[0]


@pytest.mark.parametrize("smoothing", [0.0, 1e-300, 1e12])
def test_extreme_smoothing(smoothing):
    check_sane(fit("dawid-skene", LABELS, smoothing=smoothing))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_penalties_that_are_no_numbers_are_refused(value):
    for name in ("alpha", "beta", "gamma"):
        with pytest.raises(CrowdassayError, match=name):
            MinimaxEntropy(**{name: value}).fit(LABELS)


def write(path, rows):
    path.write_text("item,worker,label\n" + "".join(f"{item},{worker},{label}\n" for item, worker, label in rows))
    return path


@pytest.mark.parametrize("engine", ["local", "files"])
@pytest.mark.parametrize("method", ["majority", "dawid-skene", "minimax"])
def test_a_file_split_in_two_is_the_same_file(run, tmp_path, method, engine):
    rows = list(zip(LABELS.label_item, LABELS.worker, LABELS.label, strict=True))
    parts = [write(tmp_path / f"{name}.csv", part) for name, part in (("whole", rows), ("a", rows[:70]), ("b", rows[70:]))]
    for out, paths in (("one", parts[:1]), ("two", parts[1:])):
        options = ("--method", method, "--engine", engine, "--quiet", "--out", tmp_path / out)
        code, _, err = run("aggregate", *paths, *options)
        assert code == 0, err
    one, two = ((tmp_path / out / "labels.csv").read_text() for out in ("one", "two"))
    assert one == two


def test_row_11_one_class(run, tmp_path):
    one = as_labels((["a", "a", "b"], ["v", "w", "v"], ["x"] * 3))
    for name in METHODS:
        fitted = METHODS[name].make().fit(one)
        assert fitted.labels_["label"].to_pylist() == ["x", "x"]
        assert fitted.predict(one)["probability"].to_pylist() == [1.0, 1.0]
        assert "There is only one class" in fitted.result_.notes[0]
    found = agreement(one, resamples=0).tables["overall"].to_pylist()
    assert {row["measure"]: row["value"] for row in found}["alpha"] is None
    path = tmp_path / "labels.csv"
    path.write_text("item,worker,label\n" + "".join(f"i{n},{who},x\n" for n in range(10) for who in "uvw"))
    code, out, _ = run("aggregate", path, "--json")
    assert code == 0
    notes = json.loads(out)["notes"]
    assert any("only one class" in note for note in notes)
    assert not any("chance" in note for note in notes)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("n_workers", [2, 40])
def test_row_15_perfect_agreement(name, n_workers):
    n_items = 10
    item, worker = np.divmod(np.arange(n_items * n_workers), n_workers)
    perfect = coded(
        item,
        worker,
        item % 2,
        items=pa.array(np.arange(n_items)),
        workers=pa.array(np.arange(n_workers)),
    )
    result = fit(name, perfect)
    check_sane(result)
    flat = any("regularisation is too strong" in note for note in result.notes)
    assert np.array_equal(result.code, np.arange(n_items) % 2) or (flat and name == "minimax-2012")
    assert result.sigma is None or np.isfinite(result.sigma).all()
    unbounded = name in {"minimax-centred", "minimax-deterministic"}  # neither holds back workers who all agree
    if name == "assay" or (name.startswith("minimax") and not unbounded and n_workers == 2):
        assert (result.probability < 1).all()


def test_row_16_a_long_tail():
    generator = np.random.default_rng(0)
    n = 5000
    item = generator.integers(1000, size=n)
    worker = np.where(np.arange(n) < 0.4 * n, 0, np.arange(n))
    _, worker = np.unique(worker, return_inverse=True)
    truth = generator.integers(2, size=1000)
    label = np.where(generator.random(n) < 0.8, truth[item], 1 - truth[item])
    kept = {"items": pa.array(np.arange(1000)), "workers": pa.array(np.arange(worker.max() + 1))}
    tail = coded(item, worker, label, **kept)
    for name in ("majority", "dawid-skene", "assay"):
        result = fit(name, tail)
        check_sane(result)
        verdicts = np.array(result.workers_table()["verdict"].to_pylist())
        assert (verdicts[1:] == "too few labels").mean() > 0.9
        assert verdicts[0] != "too few labels"


def test_row_17_too_many_classes_for_the_memory(run, tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "available_memory", lambda: 10**6)
    path = tmp_path / "labels.csv"
    path.write_text("item,worker,label\n" + "".join(f"i{n % 50},w{n % 20},{n % 100}\n" for n in range(400)))
    code, out, err = run("aggregate", path, "--method", "dawid-skene", "--out", tmp_path / "results")
    assert (code, out) == (1, "")
    assert "needs about 0.0 GB" in err
    assert "merge rare classes" in err
    assert not (tmp_path / "results").exists()
    monkeypatch.setattr(checks, "available_memory", lambda: None)
    assert run("aggregate", path, "--method", "dawid-skene")[0] == 0
    path.write_text("item,worker,label\n" + "".join(f"i{n},w{n % 20},some text {n}\n" for n in range(1001)))
    assert "free text" in run("aggregate", path)[2]


def test_row_19_order_of_classes(run, tmp_path):
    path = tmp_path / "labels.csv"
    sizes = ["small", "medium", "large"]
    path.write_text("item,worker,label\n" + "".join(f"i{n % 9},w{n % 4},{sizes[n // 2 % 3]}\n" for n in range(36)))
    for method in ("minimax-ordinal", "latent-trait"):
        code, _, err = run("aggregate", path, "--method", method)
        assert code == 1
        assert "--order" in err
    code, out, _ = run("aggregate", path, "--method", "minimax-ordinal", "--order", "tiny,small,medium,large", "--json")
    assert code == 0
    assert json.loads(out)["classes"] == ["tiny", "small", "medium", "large"]  # the level nobody chose is kept
    path.write_text("item,worker,label\n" + "".join(f"i{n % 9},w{n % 4},{(1, 2, 4, 10)[n // 2 % 4]}\n" for n in range(36)))
    code, out, _ = run("aggregate", path, "--method", "minimax-ordinal", "--json")
    assert json.loads(out)["classes"] == ["1", "2", "4", "10"]
    assert any("Levels that nobody chose" in note for note in json.loads(out)["notes"])


def test_row_21_no_convergence(run, tmp_path):
    path = tmp_path / "labels.csv"
    rows = zip(LABELS.label_item, LABELS.worker, LABELS.label, strict=True)
    path.write_text("item,worker,label\n" + "".join(f"{item},{worker},{label}\n" for item, worker, label in rows))
    command = ("aggregate", path, "--method", "minimax", "--max-iter", 3, "--out", tmp_path / "results")
    code, out, _ = run(*command)
    assert code == 0
    assert "Not converged after" in out
    assert json.loads((tmp_path / "results" / "summary.json").read_text())["converged"] is False
    assert run(*command, "--strict")[0] == 1
    assert run("aggregate", path, "--method", "dawid-skene", "--strict", "--max-iter", 5000)[0] == 0
