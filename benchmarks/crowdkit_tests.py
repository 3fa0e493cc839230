"""Run crowd-kit's own tests with this library's classes in place of its own.

python benchmarks/crowdkit_tests.py path/to/crowd-kit/tests [pytest's options]

Needs crowd-kit, for what is not offered here. Its tests of `BinaryRelevance` take crowd-kit's own classes only.
"""

from __future__ import annotations

import sys

import pytest
from crowdkit import aggregation
from crowdkit.aggregation import classification, pairwise

from crowdassay.compat import crowdkit


def put_in_place() -> None:
    """Let crowd-kit's packages hand out the classes of the drop-in."""
    for name in crowdkit.__all__:
        for package in (aggregation, classification, pairwise):
            if hasattr(package, name):
                setattr(package, name, getattr(crowdkit, name))


if __name__ == "__main__":
    put_in_place()
    sys.exit(pytest.main(["-c", "/dev/null", "-p", "no:cacheprovider", "-W", "ignore", *sys.argv[1:]]))
