"""Notice workers whose names look the same but for case or spaces: one person is often two in a spreadsheet."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.labels.values import counted, is_text, shown

LISTED = 3


def similar_workers(workers: pa.Array) -> list[str]:
    """Return a note where several workers (n_workers,) have the same name up to case and spaces, else nothing.

    >>> similar_workers(pa.array(["Bob ", "ann", "bob"]))[0][:81]
    "Workers whose names look the same but for case or spaces were kept apart: 'Bob ',"
    """
    if not is_text(workers.type):
        return []
    texts = workers.cast(pa.large_string())
    seen = pc.replace_substring_regex(pc.utf8_normalize(texts, "NFKC"), r"\p{Cf}+", "")  # marks that show nothing
    folded = pc.replace_substring_regex(pc.utf8_trim_whitespace(pc.utf8_lower(seen)), r"\s+", " ")
    coded = folded.dictionary_encode()
    sizes = np.bincount(coded.indices, minlength=len(coded.dictionary))
    shared = np.flatnonzero(sizes[np.asarray(coded.indices)] > 1)
    if not len(shared):
        return []
    groups: dict[int, list[str]] = defaultdict(list)
    for place in shared.tolist():
        groups[coded.indices[place].as_py()].append(workers[place].as_py())
    which = "; ".join(", ".join(map(shown, sorted(group))) for group in list(groups.values())[:LISTED])
    more = f" and {counted(len(groups) - LISTED, 'more group')}" if len(groups) > LISTED else ""
    return [
        f"Workers whose names look the same but for case or spaces were kept apart: {which}{more}; if they are one, correct "
        "the worker column."
    ]
