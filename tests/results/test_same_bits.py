"""One answer for one input, bit for bit: which way labels go is decided by the labels, not by what happens to be compiled."""

import os
import subprocess
import sys

import pytest

from crowdassay.engines.kernels.small import FEW_LABELS

# What is compiled beforehand, and with how many threads, is told by the arguments.
CODE = """
import hashlib, sys
import numpy as np
from crowdassay import Assay, DawidSkene, simulate
compiled, threads, many = (int(word) for word in sys.argv[1:])
def draw(size):
    return simulate(np.random.default_rng(0), n_items=size // 5, n_workers=30, n_classes=2, labels_per_item=5)[0]
if compiled:
    DawidSkene().fit(draw(many))
for method, size in ((Assay, 500), (DawidSkene, 500), (DawidSkene, many)):
    result = method(threads=threads).fit(draw(size)).result_
    tables = [result.posterior.tobytes(), result.confusion.tobytes(), result.accuracy.tobytes()]
    if size == 500:
        tables += [str(table().to_pydict()).encode() for table in (result.insight.workers_table, result.insight.items_table)]
    print(method.__name__, size, hashlib.sha256(b"".join(tables)).hexdigest())
"""


@pytest.mark.slow
def test_the_answer_does_not_depend_on_what_is_compiled_nor_on_threads(tmp_path):
    cache = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    found = [
        subprocess.run(
            [sys.executable, "-c", CODE, compiled, threads, str(FEW_LABELS + 5)],
            capture_output=True,
            text=True,
            check=True,
            env=cache,
        ).stdout
        for compiled, threads in (("0", "1"), ("1", "2"), ("0", "2"))  # nothing compiled yet; compiled and used; in the cache
    ]
    assert found[0].count("\n") == 3
    assert found[0] == found[1] == found[2]
    assert any(tmp_path.rglob("*.nbi"))  # so that there was a cache to find
