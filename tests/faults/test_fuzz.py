"""What fuzzing found, played again, and a little fuzzing of its own."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faults import plays

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())
SEEDS = {}


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_cases_that_once_failed(path, tmp_path):
    assert plays.play(path.name.split("-")[0], path.read_bytes(), tmp_path) in {"read", "refused"}


def seeds(target, folder):
    if target not in SEEDS:
        (folder / "seeds").mkdir()
        SEEDS[target] = plays.seeds(target, folder / "seeds")
    return SEEDS[target]


@pytest.mark.slow
@pytest.mark.parametrize("target", plays.TARGETS)
def test_good_exports_are_read(target, tmp_path):
    told = [plays.play(target, case, tmp_path) for case in seeds(target, tmp_path)]
    assert told.count("read") >= len(told) // 3


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("target", ["export", "labels"])
def test_whatever_is_changed_is_read_or_refused(target, data, tmp_path):
    """Take a good case and overwrite, insert or cut some bytes."""
    case = bytearray(data.draw(st.sampled_from(seeds(target, tmp_path))))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(case)))
        end = data.draw(st.integers(start, min(start + 9, len(case))))
        case[start:end] = data.draw(st.binary(max_size=9))
    plays.play(target, bytes(case), tmp_path)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(min_size=6, max_size=120))
def test_any_table_is_read_or_refused(data, tmp_path):
    plays.play("table", data, tmp_path)


@pytest.mark.slow
def test_most_tables_made_of_bytes_are_read(tmp_path):
    """Else fuzzing would see little but refusals."""
    generator = random.Random(0)
    told = [plays.play("table", generator.randbytes(60), tmp_path) for _ in range(80)]
    assert told.count("read") >= 32


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(*[st.one_of(st.none(), st.text(max_size=3), st.sampled_from(["1", "1.0", "nan", " ", "\0"]))] * 3),
        max_size=12,
    ),
    policy=st.sampled_from(plays.REPEAT_POLICIES),
)
def test_any_three_columns_make_labels_or_a_sentence(rows, policy):
    from crowdassay.errors import CrowdassayError
    from crowdassay.labels.frames import as_labels

    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    try:
        labels = as_labels(tuple(columns), repeats=policy, allow_drops=True)
    except CrowdassayError:
        return
    plays.check(labels)
    kept = [row for row in rows if all(value is not None and value.strip() for value in row)]
    assert labels.report.rows_read == len(rows)
    assert labels.n_labels == len(kept) - labels.report.dropped.get("repeated judgement", 0)
