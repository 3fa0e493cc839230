"""A model folder gives back what was saved, and nothing that was tampered with."""

import dataclasses
import json
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdassay import (
    GLAD,
    Assay,
    BradleyTerry,
    DawidSkene,
    MajorityVote,
    MinimaxEntropy,
    OneCoin,
    as_labels,
    load_model,
    simulate,
)
from crowdassay.errors import CrowdassayError, DataError, FileError, NotFittedError, ParameterError
from crowdassay.estimators.methods import METHODS as BY_NAME
from crowdassay.labels.write import write_json, write_table
from crowdassay.models.structures import reference_sets
from crowdassay.results.saved.folder import _canonical, _digest
from crowdassay.results.write import write_result

LABELS = simulate(np.random.default_rng(0), n_items=60, n_workers=8, n_classes=3)[0]
LABELS_WITH_99 = as_labels((["a", "a", "b"], [0, 1, 0], [0, 1, 2]), classes=["0", "1", "2", "99"])
METHODS = [
    Assay(),
    Assay(ordered=True),
    DawidSkene(prior="estimated"),
    MajorityVote(),
    OneCoin(),
    MinimaxEntropy(),
    MinimaxEntropy(gamma="auto", gammas=(0.25, 1.0)),
    MinimaxEntropy(structure="agreement", item_structure="none"),
]


@pytest.fixture
def saved(tmp_path):
    DawidSkene().fit(LABELS).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.slow
@pytest.mark.parametrize("estimator", METHODS, ids=str)
def test_a_model_comes_back_as_it_was(tmp_path, estimator):
    gold = np.full(LABELS.n_items, -1)
    gold[3] = 1
    fitted = type(estimator)(**estimator.get_params()).fit(LABELS.with_gold(gold))
    fitted.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.get_params() == fitted.get_params()
    assert again.result_.labels.gold[3] == 1
    for table in ("labels_table", "posterior_table", "workers_table", "items_table"):
        assert getattr(again.result_, table)().equals(getattr(fitted.result_, table)()), table
    assert again.history_ == fitted.history_
    assert again.result_.parameters == json.loads(json.dumps(fitted.result_.parameters))
    other = simulate(np.random.default_rng(1), n_items=10, n_workers=9, n_classes=3)[0]
    assert again.predict_proba(other).equals(fitted.predict_proba(other))


def test_ids_keep_their_type(tmp_path):
    MajorityVote().fit((pa.array([1, 1, 2]), ["x", "y", "x"], [True, False, True])).save(tmp_path / "model")
    result = load_model(tmp_path / "model").result_
    assert result.labels.items.type == pa.int64()
    assert result.labels.classes.type == pa.bool_()


def test_saving_again_replaces_the_model_and_nothing_else(saved):
    (saved / "notes.txt").write_text("mine")
    MajorityVote().fit(LABELS).save(saved)
    assert load_model(saved).method == "majority"
    assert (saved / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["workers.parquet", "items.parquet", "labels.parquet", "classes.parquet"])
def test_damage_is_found(saved, name):
    data = (saved / name).read_bytes()
    (saved / name).write_bytes(data[:-1])
    with pytest.raises(DataError, match=f"{name}' is damaged or has been changed"):
        load_model(saved)
    (saved / name).unlink()
    with pytest.raises(DataError, match=f"{name} is missing"):
        load_model(saved)


def test_settings_cannot_be_changed_by_hand(saved):
    head = json.loads((saved / "model.json").read_text())
    (saved / "model.json").write_text(json.dumps({**head, "settings": {**head["settings"], "smoothing": 5.0}}))
    with pytest.raises(DataError, match="has been changed"):
        load_model(saved)
    (saved / "model.json").write_text(json.dumps({**head, "format_version": 2, "version": "9.0"}))
    with pytest.raises(DataError, match=r"crowdassay 9.0, in a newer form .* upgrade"):
        load_model(saved)
    (saved / "model.json").write_text(json.dumps(head)[:-20])
    with pytest.raises(DataError, match="not a complete model file"):
        load_model(saved)
    (saved / "model.json").write_text("[]")
    with pytest.raises(DataError, match="not a complete model file"):
        load_model(saved)


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(FileError, match="There is no model"):
        load_model(tmp_path)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(DataError, match="never loaded"):
        load_model(tmp_path / "model.pkl")


def test_what_cannot_be_saved_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        DawidSkene().save(tmp_path / "model")
    binary = simulate(np.random.default_rng(0), n_items=20, n_workers=5)[0]
    with pytest.raises(ParameterError, match="'glad' can be neither saved nor updated"):
        GLAD().fit(binary).save(tmp_path / "model")
    with pytest.raises(ParameterError, match="structure is an object"):
        MinimaxEntropy(structure=reference_sets(3, [[0], [1, 2]])).fit(LABELS).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_model_that_an_older_version_saved_has_no_growth(tmp_path):
    Assay().fit(LABELS).save(tmp_path / "model")
    assert load_model(tmp_path / "model").pool_.growth > 0
    head = json.loads((tmp_path / "model" / "model.json").read_text())
    sealed(tmp_path / "model", {"pool": {name: value for name, value in head["pool"].items() if name not in ("few", "growth")}})
    assert load_model(tmp_path / "model").pool_.growth == 0


def sealed(folder, change=None, **tables):
    """Change a model and make its checksums right again, as another hand could."""
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    head = json.loads((folder / "model.json").read_text())
    head = {name: value for name, value in {**head, **(change or {})}.items() if name != "checksum"}
    head["files"] = {path.name: _digest(path.read_bytes()) for path in folder.glob("*.parquet")}
    (folder / "model.json").write_text(json.dumps({**head, "checksum": _digest(_canonical(head))}))


@pytest.mark.parametrize("code", [-1, 8, 2**31 - 1])
def test_codes_that_point_nowhere_never_reach_compiled_code(saved, code):
    labels = pq.read_table(saved / "labels.parquet")
    sealed(saved, labels=labels.set_column(0, "worker", pa.array(np.full(len(labels), code, np.int64))))
    with pytest.raises(DataError, match="do not fit together"):
        load_model(saved)


@pytest.mark.parametrize("name", ["classes", "workers", "items", "labels"])
def test_tables_of_other_lengths_and_columns_are_refused(saved, name):
    table = pq.read_table(saved / f"{name}.parquet")
    for other in (pa.concat_tables([table, table]), table.slice(1), table.remove_column(0), table.slice(0, 0)):
        if other.num_rows > len(table) and name == "workers":
            continue  # workers without labels do no harm
        sealed(saved, **{name: other})
        with pytest.raises(DataError, match="do not fit together"):
            load_model(saved)


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": 3},
        {"report": {"rows_read": {}}},
        {"settings": {"smoothing": "much"}},
        {"settings": {"no_such": 1}},
        {"pool": {"stranger": [[1.0]], "offset": [1.0]}},
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(saved, change):
    sealed(saved, change)
    with pytest.raises(CrowdassayError):
        load_model(saved)


ODD = (None, "\n\x00", -1, 2**70, 1e308, float("nan"), True, [], {"a": None}, ["x"])


def other_heads(head):
    """Yield heads with one value, at any depth, that is another."""
    for name, value in head.items():
        if name not in {"format", "format_version", "checksum", "files", "version"}:
            for odd in ODD:
                yield f"{name}={odd!r}", {name: odd}
            if isinstance(value, dict):
                for inner, odd in ((inner, odd) for inner in value for odd in ODD):
                    yield f"{name}.{inner}={odd!r}", {name: {**value, inner: odd}}


def other_columns(column):
    """Yield columns of the same length that hold something else."""
    size, flat = len(column), column.combine_chunks()
    width = flat.type.list_size if pa.types.is_fixed_size_list(flat.type) else 0
    for value in (-1.0, 0.0, 2.0, np.nan, -np.inf, 1e300):
        values = pa.array(np.full(size * max(width, 1), value))
        yield value, pa.FixedSizeListArray.from_arrays(values, width) if width else values
    for value in (-2, 2**16, 2**40):
        yield value, pa.array(np.full(size, value, np.int64))
    yield "null", pa.nulls(size)
    yield "one null", pa.array([None, *flat.to_pylist()[1:]], flat.type)
    yield "texts", pa.array(["x"] * size)
    yield "lists", pa.array([[1.0]] * size)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [Assay(), DawidSkene(), MinimaxEntropy()], ids=["assay", "dawid-skene", "minimax"])
def test_whatever_is_signed_again_works_or_is_refused_in_one_sentence(tmp_path, estimator):
    """Every column and every value of the head, changed: never another kind of error, then or when labels come."""
    folder = tmp_path / "model"
    few, more = (simulate(np.random.default_rng(n), n_items=8, n_workers=4, n_classes=2, labels_per_item=3)[0] for n in (0, 1))
    estimator.fit(few).save(folder)
    head = json.loads((folder / "model.json").read_text())
    tables = {name: pq.read_table(folder / f"{name}.parquet") for name in ("classes", "workers", "items", "labels")}
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    changes = [(words, change, {}) for words, change in other_heads(head)]
    changes += [
        (f"{name}.{column}={value}", {}, {name: table.set_column(table.column_names.index(column), column, odd)})
        for name, table in tables.items()
        for column in table.column_names
        for value, odd in other_columns(table[column])
    ]
    wrong = []
    for words, change, odd in changes:
        sealed(folder, {**head, **change}, **odd)
        try:
            model = load_model(folder)
            model.partial_fit(more)
            if odd:
                model.result_.workers_table()
        except CrowdassayError as error:
            if "\n" in error.message or "\x00" in error.message:
                wrong.append((words, error.message))
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            wrong.append((words, repr(error)))
        for name in ("model.json", *(f"{name}.parquet" for name in odd)):
            (folder / name).write_bytes(before[name])
    assert not wrong, "; ".join(map(str, wrong))


@pytest.mark.parametrize(
    ("name", "column", "values"),
    [
        ("labels", "label", lambda n: pa.array(np.full(n, 2**16, np.int64))),  # 0 in sixteen bits
        ("labels", "worker", lambda n: pa.array(np.full(n, 2**32, np.int64))),
        ("items", "gold", lambda n: pa.array(np.full(n, 2**32, np.int64))),
        ("labels", "label", lambda n: pa.array([None] + [0] * (n - 1), pa.int16())),
        ("items", "gold", lambda n: pa.array([None] + [-1] * (n - 1), pa.int32())),
        ("items", "posterior", lambda n: pa.FixedSizeListArray.from_arrays(pa.array(np.full(3 * n, 0.9)), 3)),
        ("items", "item", lambda n: pa.array(["same"] * n)),
        ("workers", "accuracy", lambda n: pa.array(np.full(n, 7.0))),
    ],
)
def test_values_that_cannot_be_are_refused(saved, name, column, values):
    table = pq.read_table(saved / f"{name}.parquet")
    sealed(saved, **{name: table.set_column(table.column_names.index(column), column, values(len(table)))})
    with pytest.raises(DataError, match="do not fit together"):
        load_model(saved)


def test_brackets_in_brackets_are_no_model(saved):
    (saved / "model.json").write_text('{"format": ' + "[" * 200_000 + "]" * 200_000 + "}")
    with pytest.raises(DataError, match="not a complete model file"):
        load_model(saved)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_model_whose_objective_is_no_number_is_read_again(tmp_path, number):
    """L9: the checksum is made of what is written, and JSON has neither NaN nor infinities."""
    fitted = DawidSkene(smoothing=0.1).fit(LABELS)
    selection = {"criterion": "none", "rows": [{"candidate": "a", "score": number}], "best": "a"}
    fitted.result_ = fitted.result_.changed(objective=number, history=(1.0, number), selection=selection)
    fitted.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_equal(again.objective_, number)
    np.testing.assert_equal(again.history_, (1.0, number))
    np.testing.assert_equal(again.result_.selection, selection)
    json.loads((tmp_path / "model" / "model.json").read_text(), parse_constant=pytest.fail)  # plain JSON


@pytest.mark.parametrize("estimator", [Assay(), DawidSkene(), MinimaxEntropy(), OneCoin()], ids=str)
def test_a_model_with_a_class_that_nobody_chose_is_read_again(tmp_path, estimator):
    """L9: the logarithm of that class's probability is minus infinity."""
    codes = tuple(values.tolist() for values in (LABELS.label_item, LABELS.worker, LABELS.label))
    fitted = estimator.fit(codes, classes=["0", "1", "2", "99"])
    fitted.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.result_.posterior_table().equals(fitted.result_.posterior_table())
    assert again.predict_proba(LABELS_WITH_99).equals(fitted.predict_proba(LABELS_WITH_99))


def test_an_empty_path_is_refused_and_nothing_is_written(tmp_path, monkeypatch):
    """L8: Python takes the empty path for the folder that the process stands in."""
    monkeypatch.chdir(tmp_path)
    fitted = MajorityVote().fit(LABELS)
    study = BradleyTerry().fit(pa.table({"left": ["a", "b", "a"], "right": ["b", "c", "c"], "winner": ["a", "b", "c"]}))
    empty = "The path to write to is empty; name a file or a folder."
    for write in (
        fitted.save,
        study.save,
        fitted.result_.report,
        fitted.result_.chart.workers().save,
        lambda path: write_table(fitted.result_.labels_table(), path),
        lambda path: write_json({}, path),
        lambda path: write_result(fitted.result_, {}, path, "csv"),
    ):
        for path in ("", " "):
            with pytest.raises(FileError, match=empty):
                write(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", list(BY_NAME))
def test_every_method_is_saved_or_refused_in_one_sentence(tmp_path, name):
    """L9."""
    two = simulate(np.random.default_rng(0), n_items=40, n_workers=8)[0]
    fitted = BY_NAME[name].make().fit(two)
    if fitted.result_.pairs is not None or {name for name in vars(fitted) if name.endswith("_")} - {"result_", "pool_"}:
        with pytest.raises(ParameterError, match="can be neither saved nor updated"):
            fitted.save(tmp_path / "model")
        assert not list(tmp_path.iterdir())
        return
    fitted.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.result_.posterior_table().equals(fitted.result_.posterior_table())
    assert again.predict_proba(two).equals(fitted.predict_proba(two))


@pytest.mark.parametrize(
    ("estimator", "failing", "used"),
    [
        (MinimaxEntropy(), 1, "MinimaxEntropy(item_structure='none')"),
        (MinimaxEntropy(), 2, "MinimaxEntropy(item_structure='none', population=True)"),
        (MinimaxEntropy(structure="ordinal"), 3, "MajorityVote()"),
        (DawidSkene(prior="uniform"), 1, "DawidSkene()"),
    ],
    ids=str,
)
def test_a_model_comes_back_after_a_fallback(tmp_path, monkeypatch, estimator, failing, used):
    """L9, W6: with what was asked for and what was used instead; new labels are predicted by the latter."""
    calls = iter([*["fails"] * failing, *[None] * 10])
    monkeypatch.setattr("crowdassay.results.run.find_trouble", lambda *_: next(calls))
    monkeypatch.setattr("crowdassay.results.run.find_worse", lambda *_, **__: None)
    fitted = type(estimator)(**estimator.get_params()).fit(LABELS)
    assert repr(fitted.result_.fallback) == used
    assert fitted.result_.notes[0].startswith(f"The fit of {estimator!r} fails. {used} was used instead")
    fitted.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert repr(again) == repr(estimator)
    assert repr(again.result_.fallback) == used
    for table in ("labels_table", "posterior_table", "workers_table", "items_table"):
        assert getattr(again.result_, table)().equals(getattr(fitted.result_, table)()), table
    other = simulate(np.random.default_rng(1), n_items=10, n_workers=9, n_classes=3)[0]
    alone = dataclasses.replace(fitted.result_.fallback).refit(LABELS, None)
    for model in (fitted, again):
        assert model.predict_proba(other).equals(alone.predict_proba(other))
        model.partial_fit(other)
    assert again.result_.posterior_table().equals(fitted.result_.posterior_table())
    assert again.refresh().result_.labels.n_labels == fitted.result_.labels.n_labels > LABELS.n_labels
