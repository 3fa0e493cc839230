"""Rows into every tool's export and back: the same rows, whatever the ids look like."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdassay.labels.files import read_labels
from support import exports

ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5).map("q{}".format)
# Worth trying: what spreadsheets and careless readers change.
ID = st.one_of(ANY, st.sampled_from(["007", "1234567890123456789", "NA", "null", "1e5", "1.0", "TRUE", "model:x", "a#b", "{}"]))
NAME = st.text("abcXYZ019-_é ", max_size=5).map("n{}".format) | st.just("007")  # fit for a file or folder
NUMBER = st.integers(0, 6).map(str)


def rows(item, worker, labels):
    return st.dictionaries(st.tuples(item, worker), st.sampled_from(labels), min_size=1, max_size=12).map(
        lambda found: [(*pair, label) for pair, label in found.items()]
    )


WORDS, CODES = ["warm", "cold"], ["0", "1"]
SHAPES = {
    "label-studio": (exports.label_studio, ID, ID, WORDS),
    "label-studio min": (exports.label_studio_min, ID, ID, WORDS),
    "label-studio csv": (exports.label_studio_csv, ID, ID, WORDS),
    "prodigy": (exports.prodigy, ID, ID, WORDS),
    "doccano": (exports.doccano, ID, NAME, WORDS),
    "doccano csv": (exports.doccano_csv, ID, NAME, WORDS),
    "argilla": (exports.argilla, ID, ID, WORDS),
    "argilla flat": (exports.argilla_flat, ID, ID, WORDS),
    "mturk": (exports.mturk, ID, ID, WORDS),
    "sagemaker": (exports.sagemaker, NAME, ID, WORDS),
    "sagemaker manifest": (exports.sagemaker_manifest, ID, ID, WORDS),
    "toloka": (exports.toloka, ID, ID, WORDS),
    "appen": (exports.appen, ID, ID, WORDS),
    "labelbox": (exports.labelbox, ID, ID, WORDS),
    "wide": (exports.wide, ID, st.integers(0, 9).map("annotator {}".format), CODES),
    "snorkel": (exports.matrix, NUMBER, NUMBER, CODES),
    "nltk": (exports.triples, ID, ID, WORDS),
    "plain": (exports.crowd_kit, ID, ID, WORDS),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_rows_come_back(shape, tmp_path_factory):
    write, item, worker, labels = SHAPES[shape]
    name = shape.split()[0]

    @settings(max_examples=15, deadline=None)  # each example writes files
    @given(rows(item, worker, labels))
    def check(expected):
        path = write(expected, tmp_path_factory.mktemp("export"))
        # The question is named: data of one task alone cannot show which column varies. Only a person knows a bare matrix.
        known = {"question": "tone"} if shape in {"label-studio min", "label-studio csv"} else {}
        known |= {"format": name, "missing": "-1"} if name in {"snorkel", "wide"} else {}
        found = read_labels(path, classes=labels, **known)
        assert exports.rows_of(found) == sorted(expected)
        assert found.report.format == name
        assert found.report.rows_read == found.report.rows_kept == len(expected)

    check()
