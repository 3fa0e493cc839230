"""A model folder gives back what was saved, and nothing that was tampered with."""

import json
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdassay import GLAD, Assay, DawidSkene, MajorityVote, MinimaxEntropy, OneCoin, load_model, simulate
from crowdassay.errors import CrowdassayError, DataError, FileError, NotFittedError, ParameterError
from crowdassay.model.structures import reference_sets
from crowdassay.persistence.saved import _canonical, _digest

LABELS = simulate(np.random.default_rng(0), n_items=60, n_workers=8, n_classes=3)[0]
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
