"""Tables of workers do not grow with the square of the classes: many have rows, in a table of their own."""

import numpy as np
import pyarrow.csv as pa_csv
import pytest

from crowdassay import DawidSkene, MajorityVote, simulate
from crowdassay.engines.files.place import FilesPlace
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.engines.spark.place import SparkPlace
from crowdassay.findings.insight import EXPECTED_LABELS
from crowdassay.findings.notes import CLASSES_WITH_COLUMNS
from crowdassay.results.run import fit
from crowdassay.results.summary import summarise
from crowdassay.results.write import write_result
from support.fake_spark import fake_labels
from support.parity import same_table
from support.spools import spool_labels

MANY = simulate(np.random.default_rng(0), n_items=200, n_workers=6, n_classes=40)[0]


def test_with_many_classes_workers_have_rows_for_their_cells():
    found = DawidSkene().fit(MANY).result_
    names = found.insight.workers_table(cells=True).column_names
    assert not [name for name in names if name.startswith(("confusion", "sigma"))]
    cells = found.cell_table()
    assert cells.column_names == ["worker", "true", "observed", "confusion", "sigma"]
    assert cells.num_rows == (found.insight.counts >= EXPECTED_LABELS).sum() < MANY.n_labels + MANY.n_workers * 40
    row = cells.slice(17, 1).to_pylist()[0]
    codes = [list(map(str, values.to_pylist())) for values in (MANY.workers, MANY.classes, MANY.classes)]
    place = tuple(names.index(str(row[role])) for names, role in zip(codes, ("worker", "true", "observed"), strict=True))
    assert row["confusion"] == found.insight.confusion()[0][place]
    assert row["sigma"] == found.sigma[place]
    assert any("confusion" in note for note in found.insight.notes)


def test_with_few_classes_they_have_columns():
    found = (
        MajorityVote()
        .fit(simulate(np.random.default_rng(0), n_items=20, n_workers=5, n_classes=CLASSES_WITH_COLUMNS)[0])
        .result_
    )
    assert found.cell_table() is None
    assert (
        sum(name.startswith("confusion:") for name in found.insight.workers_table(cells=True).column_names)
        == CLASSES_WITH_COLUMNS**2
    )
    assert not any("confusion" in note for note in found.insight.notes)


@pytest.mark.slow
def test_the_table_is_the_same_everywhere_and_goes_with_the_next_result(tmp_path):
    (tmp_path / "spool").mkdir()
    places = (
        MemoryPlace(MANY),
        FilesPlace(spool_labels(MANY, tmp_path / "spool", size=100)),
        SparkPlace(fake_labels(MANY, 3, 100)),
    )
    one, *others = (fit(DawidSkene(), place, gather_below=0) for place in places)
    for other in others:
        same_table(other.cell_table(), one.cell_table(), "confusion", 1e-6, {})
        assert other.workers_table().column_names == one.workers_table().column_names
    for result in (one, others[0]):
        write_result(result, summarise(result, "dawid-skene"), tmp_path / "out", "csv")
        assert pa_csv.read_csv(tmp_path / "out" / "confusion.csv").num_rows == one.cell_table().num_rows
    few = MajorityVote().fit(simulate(np.random.default_rng(0), n_items=20, n_workers=5, n_classes=3)[0]).result_
    write_result(few, summarise(few, "majority"), tmp_path / "out", "csv")
    assert not (tmp_path / "out" / "confusion.csv").exists()


def test_a_file_of_that_name_that_is_not_ours_is_kept(tmp_path):
    (tmp_path / "confusion.csv").write_text("mine")
    result = DawidSkene().fit(MANY).result_
    with pytest.raises(OSError, match=r"confusion\.csv"):
        write_result(result, summarise(result, "dawid-skene"), tmp_path, "csv")
    assert (tmp_path / "confusion.csv").read_text() == "mine"
