import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdassay.errors import ParameterError
from crowdassay.labels.files import read_labels
from support import exports

ROWS = [("i1", "ann@x.org", "warm"), ("i1", "bob@x.org", "cold"), ("i2", "ann@x.org", "cold")]


def test_the_same_salt_gives_the_same_ids_in_every_format(tmp_path):
    seen = [
        read_labels(write(ROWS, tmp_path), pseudonymise=True, salt="pepper")
        for write in (exports.toloka, exports.prodigy, exports.crowd_kit)
    ]
    workers = [labels.workers.to_pylist() for labels in seen]
    assert workers[0] == workers[1] == workers[2]
    assert len(set(workers[0])) == 2
    assert all(len(name) == 16 and int(name, 16) >= 0 for name in workers[0])
    assert seen[0].worker.tolist() == read_labels(exports.toloka(ROWS, tmp_path)).worker.tolist()
    assert read_labels(exports.toloka(ROWS, tmp_path), pseudonymise=True, salt="other").workers.to_pylist() != workers[0]


def test_numbers_in_parquet_get_the_ids_of_their_text(tmp_path):
    pq.write_table(pa.table({"item": [1, 1], "worker": [7, 8], "label": ["x", "y"]}), tmp_path / "a.parquet")
    exports.write(tmp_path / "a.csv", "item,worker,label\n1,7,x\n1,8,y\n")
    both = [read_labels(tmp_path / name, pseudonymise=True, salt="s").workers.to_pylist() for name in ("a.parquet", "a.csv")]
    assert both[0] == both[1]


def test_without_a_salt_the_ids_differ_every_time_and_that_is_said(tmp_path):
    path = exports.toloka(ROWS, tmp_path)
    first, second = (read_labels(path, pseudonymise=True) for _ in range(2))
    assert first.workers.to_pylist() != second.workers.to_pylist()
    assert "a salt that was not kept" in first.report.notes[-1]


def test_no_name_is_left_anywhere(tmp_path):
    again = [*ROWS, ("i1", "ann@x.org", "cold")]
    labels = read_labels(exports.toloka(again, tmp_path), pseudonymise=True, salt="pepper")
    assert labels.report.conflicts == 1
    assert "x.org" not in repr(labels.report)
    assert "pepper" not in repr(labels.report)


def test_models_keep_their_names_and_people_called_so_do_not(tmp_path):
    said = {"model_version": "v2", "result": exports.annotation("", ["cold"])["result"]}
    export = [exports.task(1, exports.annotation("ann", ["warm"]), predictions=[said])]
    path = exports.write(tmp_path / "a.json", json.dumps(export))
    assert read_labels(path, predictions=True, pseudonymise=True).workers.to_pylist()[1] == "model:v2"
    path = exports.crowd_kit([("i", "model:ann", "x"), ("i", "b", "y")], tmp_path)
    assert "model:ann" not in read_labels(path, pseudonymise=True).workers.to_pylist()


@pytest.mark.parametrize(
    ("options", "message"), [({"salt": "s"}, "`pseudonymise=True`"), ({"salt": "", "pseudonymise": True}, "empty")]
)
def test_a_salt_needs_its_purpose(tmp_path, options, message):
    with pytest.raises(ParameterError, match=message):
        read_labels(exports.crowd_kit(ROWS, tmp_path), **options)


def test_blank_workers_stay_missing(tmp_path):
    labels = read_labels(exports.crowd_kit([*ROWS, ("i1", " ", "warm")], tmp_path), pseudonymise=True)
    assert labels.report.dropped == {"missing worker": 1}
