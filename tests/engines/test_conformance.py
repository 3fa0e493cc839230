"""Every engine under every check; a failure reads engine-check."""

from itertools import count

import numpy as np
import pytest

from crowdassay.checks.engines import CHECKS
from crowdassay.engines.files import FilesEngine
from crowdassay.engines.local import LocalEngine
from crowdassay.io.spool import spool_labels

LOCAL = {"local": {}, "one thread": {"threads": 1}, "stateless": {"few": False}}
FILES = {"files": {}, "files, one thread": {"threads": 1}}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", [*LOCAL, *FILES])
def test_engines(name, check, tmp_path):
    numbers = count()

    def make(labels):
        if name in LOCAL:
            return LocalEngine(labels, **LOCAL[name])
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        return FilesEngine(spool_labels(labels, folder, size=120), **FILES[name])

    check(make)


def test_a_wrong_engine_is_found_out():
    class Careless(LocalEngine):
        def count(self, log_p, log_prior, weights=0, posterior=None):
            return super().count(log_p, np.zeros_like(log_prior), weights, posterior)

    with pytest.raises(AssertionError, match="binary, FREE: the objective of a count"):
        CHECKS[1](Careless)
